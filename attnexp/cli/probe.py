"""`attnexp probe`: replaces the attention weights of trained runs, and measures the effects."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attnexp.cli.arguments import (
    Arguments,
    add_judgement,
    add_output,
    add_trust,
    add_where,
    asked_output,
    run_path,
)
from attnexp.cli.candidates import runs_and_laws
from attnexp.cli.drawing import (
    add_look,
    asked_look,
    figures_folder,
    require_drawing,
)
from attnexp.cli.renaming import add_names, asked_names
from attnexp.config.groups import choices
from attnexp.core import console
from attnexp.core.errors import RequestError, choices_text, nearest_text, none_of, writable
from attnexp.runs.probed import ADVERSARIAL, LEARNED, SEEDS
from attnexp.tables.formats import emit

if TYPE_CHECKING:
    from attnexp.plots.look import Look
    from attnexp.runs.folder import Run
    from attnexp.select.configurations import Comparison

EPILOG = """examples:
  attnexp probe outputs/RUN                           uniform, gold, hard, shuffled, each head out
  attnexp probe outputs/RUN topk=1 without_topk=1     what the largest weight is enough for
  attnexp probe outputs/RUN zero=cross.1.2            head 2 of layer 1 gives nothing
  attnexp probe outputs/RUN interpolate=uniform:0..1  from the learned weights to uniform ones
  attnexp probe outputs --where data=reverse uniform  several runs, paired by seed
  attnexp results --metric probe.hard.exact_match     in the tables
`attnexp docs probe` has the law of each intervention.
"""


def main(argv: Sequence[str]) -> None:
    """Probe the runs that the arguments name, store what was measured, and print it.

    Raises RequestError for arguments that make no sense, and for a run that is not finished, cannot
    be built, or names code that is not trusted.
    """
    arguments = make_parser().parse_intermixed_args(argv)
    output = asked_output(arguments)
    require_drawing(arguments, output.on_screen, "none is drawn with --format or --output")
    with console.status("loading PyTorch"):
        from attnexp.config.laws import read_laws
        from attnexp.config.probing import probe_runs
        from attnexp.config.trust import read_trust
        from attnexp.probe.interventions import forms, is_intervention
    laws = read_laws(arguments.config_dir)
    words = [word for word in arguments.names if is_intervention(word, laws)]
    paths = [word for word in arguments.names if not is_intervention(word, laws)]
    folders = [Path(path) if nearest_text(path, forms(laws)) else run_path(path) for path in paths]
    for path, folder in zip(paths, folders, strict=True):
        if not os.path.exists(folder):
            choices = none_of(path, forms(laws))
            raise RequestError(f"{path} is neither a run nor an intervention: {choices}")
    from attnexp.runs.folder import load_run
    from attnexp.select.collect import OUTPUTS
    from attnexp.select.configurations import comparisons
    from attnexp.select.selection import selected
    from attnexp.tables.probe_report import interventions_report

    found = [run for run in selected(folders, arguments.where) if run.finished]
    if not found:
        raise RequestError("none of these runs has finished: there is nothing to probe")
    names = asked_names(arguments, found)
    look = asked_look(arguments, names)
    folder = figures_folder(found, folders or [Path(OUTPUTS)])
    trust = read_trust(arguments.trust, arguments.config_dir)
    compared = comparisons(found)
    several = [one.runs for each in compared for one in each.configurations]
    runs = [run for own in several for run in own]
    is_read = output.form != "table" and output.path is None
    with console.screen.aside(is_read):
        for own in several:
            probe_runs(own, words, laws, trust)
    compared = comparisons([load_run(run.path) for run in runs])
    report = interventions_report(
        compared, arguments.metric, arguments.equal_within, arguments.looks, names
    )
    emit(report, output)
    if output.on_screen:
        _draw(compared, runs, folder, look)


def _draw(
    compared: "Sequence[Comparison]", runs: "Sequence[Run]", folder: Path, look: "Look"
) -> None:
    """Draw the stored numbers, of several runs compared, and say where. Distances are not drawn."""
    from attnexp.plots.base import Options
    from attnexp.plots.catalogue import drawn
    from attnexp.runs.folder import load_run

    stored = {row.intervention for run in runs for row in load_run(run.path).interventions}
    if stored <= {LEARNED, ADVERSARIAL, SEEDS}:
        return
    subjects = [load_run(runs[0].path)] if len(runs) == 1 else compared
    with writable("figures", folder):
        for file in drawn(subjects, folder, Options(look=look), ["interventions"]):
            console.print_line(console.relative(file))


def make_parser() -> Arguments:
    """Return the parser of the arguments."""
    parser = Arguments(
        "probe", "Replace the attention weights of trained runs, and measure what changes.", EPILOG
    )
    laws = [choice.name for choice in choices("law")]
    parser.add_argument(
        "names",
        nargs="*",
        completes=runs_and_laws,
        metavar="RUN|INTERVENTION",
        help=f"runs, or folders of runs, and interventions: {choices_text(laws)}; one with "
        "=PART.LAYER.HEAD, such as zero=cross.1.2; topk=COUNT, without_topk=COUNT, unit_NAME, "
        "interpolate=NAME:0..1 and adversarial",
    )
    add_where(parser)
    parser.add_argument(
        "--metric", metavar="NAME", help="default: the one that runs are compared by"
    )
    add_judgement(parser)
    add_output(parser)
    add_look(parser)
    add_names(parser)
    add_trust(parser)
    return parser

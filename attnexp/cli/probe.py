"""`attnexp probe`: replaces the attention weights of trained runs, and measures the effects."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from attnexp.cli import arguments
from attnexp.cli.candidates import runs_and_laws
from attnexp.cli.drawing import StyleOptions, draw, figures_folder
from attnexp.cli.parser import Argument
from attnexp.cli.renaming import Labels, asked_names
from attnexp.config.groups import choices
from attnexp.core import console
from attnexp.core.errors import RequestError, choices_text, nearest_text, none_of, writable
from attnexp.runs.probed import ADVERSARIAL, LEARNED, SEEDS
from attnexp.tables.formats import emit

if TYPE_CHECKING:
    from attnexp.plots.picture_style import Style
    from attnexp.runs.folder import Run
    from attnexp.select.configurations import Comparison

EPILOG = """examples:
  attnexp probe outputs/RUN                      five interventions
  attnexp probe outputs/RUN topk=1 without_topk=1  the largest alone, or not
  attnexp probe outputs/RUN zero=cross.1.2       head 2 of layer 1 gives nothing
  attnexp probe outputs/RUN interpolate=uniform:0..1  in steps
  attnexp probe outputs --where data=reverse uniform  runs paired by seed
  attnexp results --metric probe.hard.exact_match  in the tables
`attnexp docs probe` has the law of each intervention.
"""


NAMES = (
    "runs, or folders of runs, and interventions: "
    f"{choices_text(choice.name for choice in choices('law'))}; one with =PART.LAYER.HEAD, such as "
    "zero=cross.1.2; topk=COUNT, without_topk=COUNT, unit_NAME, interpolate=NAME:0..1 and "
    "adversarial"
)


def main(
    names: Annotated[
        Sequence[str],
        Argument(NAMES, completes=runs_and_laws, metavar="RUN|INTERVENTION"),
    ] = (),
    *,
    where: arguments.Where = None,
    metric: str | None = None,
    equal_within: arguments.EqualWithin = None,
    tables: arguments.OutputOptions,
    pictures: StyleOptions,
    labels: Labels = (),
    trust: arguments.Trusted = (),
    config_dir: arguments.RunConfig = None,
) -> None:
    """Replace the attention weights of trained runs, and measure what changes.

    What is measured is stored in the runs. Raises RequestError for a run that is not finished,
    cannot be built, or names code that is not trusted.

    Args:
        metric: default: the one that runs are compared by
    """
    output = tables.asked()
    pictures.require_drawing(output.on_screen, "none is drawn with --format or --output")
    with console.status("loading PyTorch"):
        from attnexp.config.laws import read_laws
        from attnexp.config.probing import probe_runs
        from attnexp.config.trust import read_trust
        from attnexp.probe.interventions import forms, is_intervention
    laws = read_laws(config_dir)
    words = [name for name in names if is_intervention(name, laws)]
    folders = [_folder(name, forms(laws)) for name in names if name not in words]
    from attnexp.runs.folder import load_run
    from attnexp.select.collect import OUTPUTS
    from attnexp.select.configurations import comparisons
    from attnexp.select.selection import selected
    from attnexp.tables.probe_report import interventions_report

    if not (found := [run for run in selected(folders, where, verb="probe") if run.finished]):
        raise RequestError("none of these runs has finished: there is nothing to probe")
    style = pictures.asked(asked_names(labels, found))
    folder = figures_folder(found, folders or [Path(OUTPUTS)])
    trusted = read_trust(trust, config_dir)
    compared = comparisons(found)
    several = [one.runs for each in compared for one in each.configurations]
    runs = [run for own in several for run in own]
    with console.screen.aside(output.form != "table" and output.path is None):
        for own in several:
            probe_runs(own, words, laws, trusted)
    compared = comparisons([load_run(run.path) for run in runs])
    report = interventions_report(compared, metric, equal_within, style.names)
    emit(report, output)
    if output.on_screen:
        _draw(compared, runs, folder, style)


def _folder(name: str, interventions: Sequence[str]) -> Path:
    """Return the path of a run or of a folder of runs.

    Raises RequestError for a name that is neither a path nor an intervention.
    """
    near = nearest_text(name, interventions)
    folder = Path(name) if near else arguments.run_path(name)
    if not os.path.exists(folder):
        choices = none_of(name, interventions)
        raise RequestError(f"{name} is neither a run nor an intervention: {choices}")
    return folder


def _draw(
    compared: "Sequence[Comparison]", runs: "Sequence[Run]", folder: Path, style: "Style"
) -> None:
    """Draw the stored numbers of interventions, several runs compared, and print where.

    Nothing is drawn if there are only distances.
    """
    from attnexp.plots.base import Options
    from attnexp.runs.folder import load_run

    stored = {row.intervention for run in runs for row in load_run(run.path).interventions}
    if stored <= {LEARNED, ADVERSARIAL, SEEDS}:
        return
    subjects = [load_run(runs[0].path)] if len(runs) == 1 else compared
    with writable("figures", folder):
        draw(subjects, folder, Options(style=style), ["interventions"])

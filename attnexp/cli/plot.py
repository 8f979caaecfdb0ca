"""`attnexp plot`: reads the command line, and draws from the files of runs."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attnexp.cli.arguments import (
    Arguments,
    add_language,
    add_results_version,
    add_runs,
    add_view,
    add_where,
    check_all,
    listed,
    places,
)
from attnexp.cli.candidates import several
from attnexp.cli.drawing import (
    add_grid,
    add_look,
    asked_look,
    check_animated,
    check_metric,
    figures_folder,
)
from attnexp.cli.renaming import add_names, asked_names
from attnexp.core import console
from attnexp.core.errors import RequestError, choices_text, writable
from attnexp.core.language import speaking
from attnexp.plots.names import PictureName
from attnexp.runs import files

if TYPE_CHECKING:
    from attnexp.runs.folder import Run

FORMATS = [ending.removeprefix(".") for ending in (*files.PICTURES, files.ANIMATED)]

EPILOG = """examples:
  attnexp plot outputs/RUN                            the pictures of a run again
  attnexp plot outputs/RUN --format svg,pdf           fit for a paper
  attnexp plot outputs                                configurations compared, bands over seeds
  attnexp plot outputs --kind attention --example 2   one test example, one row per configuration
  attnexp plot outputs --venue icml2024 --format pdf  the width and the type of a venue
  attnexp plot outputs --name additive="Bahdanau"     a label in pictures
"""


def main(argv: Sequence[str]) -> None:
    """Draw the pictures that the arguments ask for, and say where they are.

    Raises RequestError for contradictory arguments, for missing runs, and for pictures that cannot
    be drawn of them, also if there is not one.
    """
    arguments = make_parser().parse_intermixed_args(argv)
    from attnexp.plots.base import Options
    from attnexp.plots.catalogue import drawn
    from attnexp.runs.attention import View
    from attnexp.select.collect import OUTPUTS
    from attnexp.select.configurations import comparisons

    view = View(arguments.attention, arguments.layer, arguments.head, arguments.example)
    paths = arguments.paths or [Path(OUTPUTS)]
    runs = chosen_runs(paths, arguments.where, arguments.results_version)
    kinds = check_all(arguments.kind, list(PictureName), "kind")
    formats = check_all(arguments.format, FORMATS, "format")
    check_animated(formats, kinds)
    look = asked_look(arguments, asked_names(arguments, runs))
    check_metric(runs, arguments.metric, kinds)
    folder = arguments.output or figures_folder(runs, paths)
    subjects = runs if len(runs) == 1 else comparisons(runs)
    with writable("--output", folder), speaking(arguments.lang):
        options = Options(view, arguments.metric, look, arguments.columns, arguments.most)
        made = []
        for file in drawn(subjects, folder, options, kinds, formats):
            console.print_line(console.relative(file))
            made.append(file)
    if not made:
        raise RequestError(nothing_to_draw(runs))


def nothing_to_draw(runs: "Sequence[Run]") -> str:
    """Return that there is nothing to draw of runs, and the files that none of them holds."""
    drawn_from = (files.ATTENTION, files.PREDICTIONS, files.METRICS)
    lacking = [
        name for name in drawn_from if not any(os.path.exists(run.folder / name) for run in runs)
    ]
    who = f"{runs[0].folder} holds" if len(runs) == 1 else f"the {len(runs)} runs hold"
    why = f": {who} no {choices_text(lacking)}" if lacking else f" of what {who}"
    return f"there is nothing to draw{why}"


def chosen_runs(paths: Sequence[Path], where: str | None, version: int) -> "list[Run]":
    """Return the run that is named, or else the finished runs of a results version below the paths.

    Raises RequestError if there is nothing to draw.
    """
    from attnexp.plots.lines import intact
    from attnexp.runs.folder import load_run
    from attnexp.select.selection import selected

    if len(paths) == 1 and os.path.lexists(paths[0] / files.SUMMARY):
        return [load_run(paths[0])]
    runs = selected(paths, where, version)
    finished = [run for run in runs if run.finished]
    if not finished:
        raise RequestError(f"none of the {len(runs)} runs has finished: name one to see its losses")
    left = len(runs) - len(finished)
    if left:
        console.warn(f"left out {console.count_text(left, 'run')} that did not finish")
    sound = finished if len(finished) == 1 else intact(finished)[0]
    if not sound:
        raise RequestError(f"none of the {len(finished)} finished runs has files that can be drawn")
    return sound


def make_parser() -> Arguments:
    """Return the parser of the arguments."""
    parser = Arguments("plot", "Draw pictures of runs from what they stored.", EPILOG)
    add_runs(parser)
    parser.add_argument(
        "--kind",
        type=listed,
        default=[],
        completes=several(lambda: PictureName),
        metavar="NAME,...",
        help=choices_text(list(PictureName)),
    )
    parser.add_argument(
        "--format",
        type=listed,
        default=["png"],
        completes=several(lambda: FORMATS),
        metavar="NAME,...",
        help="png, svg, pdf or gif",
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="default: the run's own figures/, or figures/ next to the runs",
    )
    add_where(parser)
    add_results_version(parser)
    parser.add_argument(
        "--metric",
        metavar="NAME",
        help="a column of metrics.csv, for the loss, or a number, such as test_mse, "
        "probe.hard.exact_match or exact_match_by_length@16, for the metric",
    )
    parser.add_argument(
        "--example", type=places, default=(), metavar="N,...", help="test examples, from 1"
    )
    add_view(parser, heads="each, or their mean")
    add_grid(parser)
    add_look(parser)
    add_language(parser)
    add_names(parser)
    return parser

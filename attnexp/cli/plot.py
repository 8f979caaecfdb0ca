"""`attnexp plot`: reads the command line, and draws from what runs stored."""

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from attnexp import console
from attnexp.cli.arguments import Arguments, listed, place, places
from attnexp.errors import RequestError, choices_text, nearest_text
from attnexp.runs import files
from attnexp.runs.attention_maps import View

if TYPE_CHECKING:
    from attnexp.plots.catalogue import Picture

MISSING: Mapping[str, str] = {
    "fit": "no curve was fitted: the data are sequences",
    "attention": "no attention was kept",
    "loss": "nothing was trained",
    "growth": "no attention was kept while training: run with train.attention_every=N rerun=true",
    "difference": "a difference takes two configurations on the same data",
}
"""The kinds of pictures, and why there may be none of a kind."""

FORMATS = ("png", "svg", "pdf")

EPILOG = """examples:
  attnexp plot outputs/RUN                            the pictures of a run again
  attnexp plot outputs/RUN --format svg,pdf           fit for a paper
  attnexp plot outputs                                configurations compared, bands over seeds
  attnexp plot outputs --kind attention --example 2   one test example, a row a configuration
  attnexp plot RUN_A RUN_B --kind difference          two attention maps and what sets them apart
"""


def main(argv: Sequence[str]) -> None:
    """Draw the pictures that the arguments ask for, and say where they are.

    Raises RequestError for arguments that make no sense, for runs that are not there, and for
    pictures that cannot be drawn of them.
    """
    arguments = parse(argv)
    view = View(arguments.attention, arguments.layer, arguments.head, arguments.example)
    paths = [Path(path) for path in arguments.paths or ["outputs"]]
    plan = plan_pictures(paths, view, arguments.metric, arguments.where)
    wanted = check_all(arguments.kind, MISSING, "kind")
    formats = check_all(arguments.format, FORMATS, "format")
    folder = arguments.output or plan.folder
    exact = bool(wanted) or view != View()
    files = []
    drawn = set()
    for picture in plan.pictures:
        if wanted and picture.kind not in wanted:
            continue
        drawn.add(picture.kind)
        try:
            files += write_pictures([picture], folder, formats)
        except RequestError as error:
            if exact:
                raise
            console.warn(f"no {picture.name}: {error}")
    for kind in wanted:
        if kind not in drawn:
            raise RequestError(f"there is no {kind} to draw: {MISSING[kind]}")
    for file in files:
        console.say(console.near(file))


@dataclass(frozen=True)
class Plan:
    """Pictures that can be drawn, and the folder they go to unless told otherwise."""

    pictures: Iterable["Picture"]
    folder: Path


def plan_pictures(paths: Sequence[Path], view: View, metric: str | None, where: str | None) -> Plan:
    """The pictures of one run, or of several runs compared.

    Raises RequestError where there is nothing to draw.
    """
    if len(paths) == 1 and (paths[0] / files.SUMMARY).is_file():
        return _plan_run(paths[0], view, metric)
    from attnexp.cli.selection import selected
    from attnexp.runs.configurations import comparisons

    runs = selected([str(path) for path in paths], where)
    finished = [run for run in runs if run.finished]
    if not finished:
        raise RequestError(f"none of the {len(runs)} runs has finished: name one to see its losses")
    left = len(runs) - len(finished)
    if left:
        console.warn(f"left out {left} run{'s' if left > 1 else ''} that did not finish")
    if len(finished) == 1:
        return _plan_run(Path(finished[0].folder), view, metric)
    compared = comparisons(finished)
    folder = paths[0] / files.FIGURES if len(paths) == 1 else Path(files.FIGURES)

    def pictures() -> Iterator["Picture"]:
        from attnexp.plots.catalogue import file_word
        from attnexp.plots.comparison import comparison_pictures

        for one in compared:
            for picture in comparison_pictures(one, view, metric):
                name = (
                    f"{picture.name}-{file_word(one.data)}" if len(compared) > 1 else picture.name
                )
                yield replace(picture, name=name)

    return Plan(pictures(), folder)


def write_pictures(
    pictures: Iterable["Picture"], folder: Path, formats: Sequence[str]
) -> list[Path]:
    """Draw pictures. Raises RequestError for a folder that cannot be written."""
    from attnexp.plots.catalogue import write

    try:
        return write(pictures, folder, formats)
    except OSError as error:
        raise RequestError(f"--output: {folder} cannot be written: {error.strerror}") from error


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments."""
    parser = Arguments("plot", "Draw pictures of runs from what they stored.", EPILOG)
    parser.add_argument("paths", nargs="*", metavar="PATH", help="runs, or folders of runs")
    parser.add_argument(
        "--kind", type=listed, default=[], metavar="NAME,...", help=f"{choices_text(MISSING)}"
    )
    parser.add_argument(
        "--format", type=listed, default=["png"], metavar="NAME,...", help="png, svg or pdf"
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="default: the run's own figures/, or figures/ beside the runs",
    )
    parser.add_argument("--where", metavar="TEST", help='only some runs: "model in [dot, cosine]"')
    parser.add_argument("--metric", metavar="NAME", help="a column of metrics.csv, for the loss")
    parser.add_argument(
        "--example", type=places, default=(), metavar="N,...", help="test examples, from 1"
    )
    parser.add_argument("--attention", metavar="NAME", help="cross, encoder, decoder, ...")
    parser.add_argument("--layer", type=place, metavar="N", help="default: the last")
    parser.add_argument("--head", type=place, metavar="N", help="default: each, or their mean")
    return parser.parse_intermixed_args(argv)


def check_all(names: Sequence[str], choices: Iterable[str], what: str) -> Sequence[str]:
    """The names. Raises RequestError for one that is no choice."""
    choices = list(choices)
    for name in names:
        if name not in choices:
            raise RequestError(
                f"--{what}: '{name}' is none of {choices_text(choices)}."
                f"{nearest_text(name, choices)}"
            )
    return names


def _plan_run(folder: Path, view: View, metric: str | None) -> Plan:
    from attnexp.plots.catalogue import run_pictures
    from attnexp.runs.run import load_run

    return Plan(run_pictures(load_run(folder), view, metric), folder / files.FIGURES)

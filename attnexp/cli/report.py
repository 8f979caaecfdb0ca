"""`attnexp report`: one page with tables, curves and attention, to send to somebody."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnexp.cli.arguments import Arguments, add_runs, add_trust, add_where
from attnexp.cli.drawing import add_names, asked_names
from attnexp.core import console
from attnexp.core.errors import RequestError
from attnexp.runs.files import write_output

if TYPE_CHECKING:
    from attnexp.report.content import Computed
    from attnexp.select.configurations import Comparison

MOST_COMPUTED = 8
"""The most configurations on the same data whose models are in the page."""

EPILOG = """examples:
  attnexp report                                   all runs below outputs/, into report.html
  attnexp report outputs --output dates.html --title "Dates, five seeds"
"""


def main(argv: Sequence[str]) -> None:
    """Write the page that the arguments ask for, and say where it is.

    Raises RequestError for arguments that make no sense, for places without finished runs, and for
    a file that cannot be written.
    """
    arguments = make_parser().parse_intermixed_args(argv)
    from attnexp.plots.lines import intact
    from attnexp.plots.look import Look
    from attnexp.select.selection import selected

    runs = selected(arguments.paths, arguments.where)
    if not any(run.finished for run in runs):
        raise RequestError(f"none of the {len(runs)} runs has finished: there is nothing to report")
    from attnexp.report.content import report_content
    from attnexp.report.render import page
    from attnexp.select.configurations import comparisons

    sound, left_out = intact(runs)
    look = Look(names=asked_names(arguments, runs))
    compared = [look.rename(one) for one in comparisons(sound)]
    programs = [] if arguments.static else [_programs(arguments)]
    content = report_content(arguments.title, runs, compared, left_out, *programs)
    write_output("--output", arguments.output, page(content).encode("utf-8", "replace"))
    console.say(f"{len(runs)} runs in {console.relative(arguments.output)}")


def _programs(arguments: argparse.Namespace) -> "Computed":
    """Return the function that makes a program for each configuration of a comparison."""
    with console.status("loading PyTorch"):
        from attnexp.config.restore import restore
        from attnexp.config.trust import read_trust
        from attnexp.tracing.computed import computed
    trust = read_trust(arguments.trust, arguments.config_dir)

    def programs(comparison: "Comparison") -> list[dict[str, Any]]:
        seeds, found = comparison.seeds, list[dict[str, Any]]()
        seed = comparison.typical_seed if seeds else None
        title = f"trace {comparison.data}: configuration"
        several = comparison.configurations[:MOST_COMPUTED]
        with console.progress(title, len(several)) as advance:
            for done, one in enumerate(several, 1):
                run = one.runs[0] if seed is None else one.with_seed(seed)
                name = {"label": one.label or run.title, "seed": run.seed}
                try:
                    found.append(name | computed(restore(run.summary, run.folder, trust)))
                except RequestError as error:
                    found.append(name | {"why": str(error)})
                advance(done, one.label)
        return found

    return programs


def make_parser() -> Arguments:
    """Return the parser of the arguments."""
    parser = Arguments("report", "Write one self-contained page about runs.", EPILOG)
    add_runs(parser)
    parser.add_argument(
        "--output", type=Path, default=Path("report.html"), metavar="FILE", help="report.html"
    )
    add_where(parser)
    add_names(parser)
    parser.add_argument(
        "--static", action="store_true", help="leave out the models with which the page computes"
    )
    add_trust(parser)
    parser.add_argument("--title", default="Attention, compared", help="what the page is called")
    return parser

"""`attnexp report`: one page with tables, curves and attention, to send to somebody."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from attnexp import record, screen
from attnexp.arguments import Arguments
from attnexp.errors import RequestError

EPILOG = """examples:
  attnexp report                                   all runs below outputs/, into report.html
  attnexp report outputs --output dates.html --title "Dates, five seeds"
"""


def main(argv: Sequence[str]) -> None:
    """Write the page that the arguments ask for, and say where it is.

    Raises RequestError for arguments that make no sense, for places without finished runs, and for
    a file that cannot be written.
    """
    arguments = parse(argv)
    from attnexp.results.collect import collect
    from attnexp.results.command import tell_skipped

    collected = collect(arguments.paths or ["outputs"])
    tell_skipped(collected.skipped)
    where = ", ".join(arguments.paths or ["outputs"])
    if not any(run.status == record.FINISHED for run in collected.runs):
        raise RequestError(f"there are no finished runs below {where}")
    from attnexp.pictures.configurations import comparisons
    from attnexp.pictures.content import report_content
    from attnexp.pictures.page import page
    from attnexp.results.frame import make_frame
    from attnexp.results.order import sort_runs
    from attnexp.results.runs import runs_report

    tables = runs_report(sort_runs(make_frame(collected.runs), None), [])
    content = report_content(arguments.title, tables, comparisons(collected.runs))
    try:
        record.write_bytes(arguments.output, page(content).encode("utf-8", "replace"))
    except OSError as error:
        raise RequestError(
            f"--output: {arguments.output} cannot be written: {error.strerror}"
        ) from error
    screen.say(f"{len(collected.runs)} runs in {screen.near(arguments.output)}")


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments."""
    parser = Arguments("report", "Write one self-contained page about runs.", EPILOG)
    parser.add_argument("paths", nargs="*", metavar="PATH", help="runs, or folders of runs")
    parser.add_argument(
        "--output", type=Path, default=Path("report.html"), metavar="FILE", help="report.html"
    )
    parser.add_argument("--title", default="Attention, compared", help="what the page is called")
    return parser.parse_intermixed_args(argv)

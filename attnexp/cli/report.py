"""`attnexp report`: one page with tables, curves and attention, to send to somebody."""

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attnexp.cli.arguments import (
    Arguments,
    add_language,
    add_results_version,
    add_runs,
    add_trust,
    add_where,
)
from attnexp.cli.renaming import add_names, asked_names
from attnexp.core import console
from attnexp.core.errors import RequestError
from attnexp.core.language import counted, joined, said
from attnexp.runs import files
from attnexp.runs.files import require_output, write_output

if TYPE_CHECKING:
    from attnexp.report.content import Models
    from attnexp.report.page import Model
    from attnexp.select.configurations import Comparison
    from attnexp.select.overview import Progress

MOST_COMPUTED = 8
"""The most configurations on the same data whose models are in the page."""

EVERY = 5.0
"""Seconds between two looks at the runs with --live."""

EPILOG = """examples:
  attnexp report                                   all runs below outputs/, into report.html
  attnexp report outputs --output dates.html --title "Dates, five seeds"
  attnexp report --live                            written again until all runs have ended
"""


def main(argv: Sequence[str]) -> None:
    """Write the page that the arguments ask for, and say where it is.

    Raises RequestError for arguments that make no sense, for places without finished runs, and for
    a file that cannot be written.
    """
    arguments = make_parser().parse_intermixed_args(argv)
    if arguments.live:
        keep_writing(arguments)
    else:
        write(arguments)


def keep_writing(arguments: argparse.Namespace) -> None:
    """Write the page whenever runs have changed, until none is running or planned.

    Ctrl-C ends it, too. The page that is written last does not load itself again.
    """
    from attnexp.select.collect import OUTPUTS
    from attnexp.select.overview import progress_of

    places = arguments.paths or [Path(OUTPUTS)]
    seen: dict[str, list[int]] = {}
    try:
        while True:
            progress = [progress_of(place) for place in places]
            if not any(each.running or each.to_do for each in progress):
                break
            found = _state(places)
            if found != seen:
                write(arguments, progress_text(progress))
            seen = found
            time.sleep(EVERY)
    except KeyboardInterrupt:
        console.print_line("the page no longer reloads")
    write(arguments)


def _state(places: Sequence[Path]) -> dict[str, list[int]]:
    """Return when each run below the places last wrote its summary and its metrics."""
    from attnexp.select.collect import collect

    state: dict[str, list[int]] = {}
    for run in collect(places).runs:
        paths = [os.path.join(run.path, name) for name in (files.SUMMARY, files.METRICS)]
        state[run.path] = [os.stat(path).st_mtime_ns for path in paths if os.path.exists(path)]
    return state


def progress_text(progress: "Sequence[Progress]") -> str:
    """Return how many runs are done, and about how long the others take: `3 of 12 runs, ...`."""
    from attnexp.runs.run_status import Status

    done = sum(each.counts.get(Status.FINISHED.word, 0) for each in progress)
    total = sum(sum(each.counts.values()) for each in progress)
    known = [each.seconds_left for each in progress if each.seconds_left is not None]
    parts = [said("{place} of {count}", place=done, count=counted("{count} run", total))]
    if known:
        parts.append(said("about {time} left", time=_clock(max(known))))
    return joined(said(", "), parts)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def write(arguments: argparse.Namespace, progress: str = "") -> None:
    """Write the page once. With `progress` it is live, and no run needs to have finished."""
    from attnexp.select.selection import selected

    runs = selected(arguments.paths, arguments.where, arguments.results_version)
    finished = any(run.finished for run in runs)
    if not finished and not progress:
        raise RequestError(f"none of the {len(runs)} runs has finished: there is nothing to report")
    require_output("--output", arguments.output)
    from attnexp.report.content import report_content
    from attnexp.report.render import page

    names = asked_names(arguments, runs)
    programs = None if arguments.static or progress else _programs(arguments)
    content = report_content(arguments.title, runs, names, programs, progress, arguments.lang)
    write_output("--output", arguments.output, page(content).encode("utf-8", "replace"))
    told = f"{console.count_text(len(runs), 'run')} in {console.relative(arguments.output)}"
    console.print_line(f"{progress}: {told}" if progress else told)


def _programs(arguments: argparse.Namespace) -> "Models":
    """Return the function that makes a program for each configuration of a comparison."""
    with console.status("loading PyTorch"):
        from attnexp.config.restore import restore
        from attnexp.config.trust import read_trust
        from attnexp.report.page import Model, Refused
        from attnexp.tracing.computed import computed
    trust = read_trust(arguments.trust, arguments.config_dir)

    def programs(comparison: "Comparison") -> "list[Model]":
        seeds, found = comparison.seeds, list[Model]()
        seed = comparison.typical_seed if seeds else None
        title = f"trace {comparison.data}: configuration"
        several = comparison.configurations[:MOST_COMPUTED]
        with console.progress(title, len(several)) as advance:
            for done, one in enumerate(several, 1):
                run = one.runs[0] if seed is None else one.with_seed(seed)
                label = one.label or run.title
                try:
                    found.append(computed(restore(run.summary, run.folder, trust), label, run.seed))
                except RequestError as error:
                    found.append(Refused(label, str(error)))
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
    add_results_version(parser)
    add_names(parser)
    parser.add_argument(
        "--static", action="store_true", help="leave out the models with which the page computes"
    )
    add_trust(parser)
    add_language(parser)
    parser.add_argument(
        "--title", default=said("Attention, compared"), help="what the page is called"
    )
    parser.add_argument(
        "--live",
        action="store_true",
        help="write again whenever runs have changed, until all have ended; the page reloads",
    )
    return parser

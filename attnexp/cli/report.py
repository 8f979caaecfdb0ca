"""`attnexp report`: one page with tables, curves and attention, to send to somebody."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from attnexp.cli import arguments
from attnexp.cli.renaming import Labels, asked_names
from attnexp.core import console
from attnexp.core.errors import RequestError
from attnexp.core.language import (
    Phrase,
    Text,
    counted,
    joined,
    said,
    speaking,
    translate,
    usual_language,
)
from attnexp.runs import files
from attnexp.runs.files import require_output, write_output
from attnexp.runs.key import RESULTS_VERSION

if TYPE_CHECKING:
    from attnexp.report.content import Models
    from attnexp.report.page import Model
    from attnexp.select.configurations import Comparison
    from attnexp.select.overview import Progress

MOST_COMPUTED = 8
"""The most configurations of a data set whose models a page computes."""

PAGE = arguments.written_as("the page is HTML, which a browser prints to PDF", ".html", ".htm")

EVERY = 5.0
"""With --live, seconds between two looks at the runs."""

EPILOG = """examples:
  attnexp report         all runs below outputs/, into report.html
  attnexp report outputs --output dates.html --title "Dates, five seeds"
  attnexp report --live  written again until all runs have ended
"""


@dataclass(frozen=True, kw_only=True)
class PageOptions:
    """The options of a page.

    Args:
        output: report.html
        static: leave out the models with which the page computes
        title (TITLE): what the page is called
    """

    output: Annotated[Path, PAGE] = Path("report.html")
    where: arguments.Where = None
    results_version: arguments.ResultsVersion = RESULTS_VERSION
    labels: Labels = ()
    static: bool = False
    trust: arguments.Trusted = ()
    config_dir: arguments.RunConfig = None
    lang: arguments.Language | None = None
    title: str | None = None


def main(
    paths: arguments.Paths = (),
    *,
    options: PageOptions,
    live: bool = False,
) -> None:
    """Write one self-contained page about runs.

    Raises RequestError for places without finished runs, and for a file that cannot be written.

    Args:
        live: write again whenever runs have changed, until all have ended; the page reloads
    """
    if live:
        keep_writing(paths, options)
    else:
        write(paths, options)


def keep_writing(paths: Sequence[Path], options: PageOptions) -> None:
    """Write the page whenever runs have changed, until none is running or to do.

    Ctrl-C ends this too. The last page that is written does not load itself again.
    """
    from attnexp.select.overview import progress_of

    seen: dict[str, list[int]] = {}
    try:
        while True:
            progress = [*map(progress_of, paths)] or [progress_of(None)]
            if not any(each.running or each.to_do for each in progress):
                break
            found = _state(paths)
            if found != seen:
                write(paths, options, progress_text(progress))
            seen = found
            time.sleep(EVERY)
    except KeyboardInterrupt:
        console.print_line("the page no longer reloads")
    write(paths, options)


def _state(paths: Sequence[Path]) -> dict[str, list[int]]:
    """Return when each run below the paths last wrote its summary and its metrics, by its path."""
    from attnexp.select.collect import collect_asked

    state: dict[str, list[int]] = {}
    for run in collect_asked(paths).runs:
        own = [os.path.join(run.path, name) for name in (files.SUMMARY, files.METRICS)]
        state[run.path] = [os.stat(path).st_mtime_ns for path in own if os.path.exists(path)]
    return state


def progress_text(progress: "Sequence[Progress]") -> Text:
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


def write(paths: Sequence[Path], options: PageOptions, progress: Phrase = "") -> None:
    """Write the page once. With `progress` it is live, and shows runs that have not finished too.

    Raises RequestError without `progress` if no run has finished, and if the file cannot be
    written.
    """
    from attnexp.select.selection import selected

    runs = selected(paths, options.where, options.results_version, "report")
    finished = any(run.finished for run in runs)
    if not finished and not progress:
        raise RequestError(f"none of the {len(runs)} runs has finished: there is nothing to report")
    require_output("--output", options.output)
    from attnexp.report.content import report_content
    from attnexp.report.render import page

    names = asked_names(options.labels, runs)
    title = said("Attention, compared") if options.title is None else options.title
    programs = None if options.static or progress else _programs(options)
    language = options.lang or usual_language(os.environ)
    content = report_content(title, runs, names, programs, progress, language)
    write_output("--output", options.output, page(content).encode("utf-8", "replace"))
    file = console.relative(options.output)
    told = said("{runs} in {file}", runs=counted("{count} run", len(runs)), file=file)
    if progress:
        told = said("{what}: {text}", what=progress, text=told)
    with speaking(language):
        console.print_line(translate(told))


def _programs(options: PageOptions) -> "Models":
    """Return a function that returns the model of each configuration of a comparison.

    The page computes with these models. A configuration whose model cannot be traced is Refused.
    """
    with console.status("loading PyTorch"):
        from attnexp.config.restore import restore
        from attnexp.config.trust import read_trust
        from attnexp.report.page import Model, Refused
        from attnexp.tracing.computed import computed
    trust = read_trust(options.trust, options.config_dir)

    def programs(comparison: "Comparison") -> "list[Model]":
        seeds, found = comparison.seeds, list[Model]()
        seed = comparison.typical_seed if seeds else None
        title = f"trace {comparison.data}: configuration"
        several = comparison.configurations[:MOST_COMPUTED]
        with console.progress(title, len(several)) as advance:
            for done, one in enumerate(several, 1):
                run = one.runs[0] if seed is None else one.with_seed(seed)
                label = one.label or run.heading
                try:
                    found.append(computed(restore(run.summary, run.folder, trust), label, run.seed))
                except RequestError as error:
                    found.append(Refused(label, str(error)))
                advance(done, one.label)
        return found

    return programs

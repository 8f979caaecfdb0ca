"""The output of a sweep before it runs and after it has ended: its plan, outcomes and results."""

import logging
import os
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from operator import attrgetter
from pathlib import Path

from rich.markup import escape

from attnexp.core import console
from attnexp.core.errors import first_line
from attnexp.core.language import said, say, speaking, translate
from attnexp.runs.files import FIGURES, UnreadableRunError, file_word
from attnexp.runs.folder import Run
from attnexp.runs.key import NEUTRAL, RESULTS_VERSION
from attnexp.runs.run_status import Status
from attnexp.runs.summary import error_text, read_summary
from attnexp.runs.user_code import warn_of_reads
from attnexp.select.collect import OUTPUTS, Collected
from attnexp.sweeps.job_outcome import JobOutcome
from attnexp.sweeps.plan import Composer, Plan, PlannedJob

log = logging.getLogger(__name__)

ROWS = 20
"""The largest number of jobs in a table."""

MOST_COMPARED = 32
"""The largest number of configurations that a sweep draws in one picture."""

LONGEST_NAME = 40
"""The most characters in the name of a folder of pictures."""

LOST = re.compile(r"[^\w=., ()-]|=\.")
"""Characters that a file name loses, so that other words could have the same name."""


def show_plan(plan: Plan) -> None:
    """Show the number of jobs in each state, and the jobs that would be run."""
    _show_counts((job.found.status for job in plan.jobs), attrgetter("in_plan"))
    rows = [
        (job.label, job.found.status.in_plan, console.relative(job.folder)) for job in plan.to_do
    ]
    _show_rows(["to do", "state", "folder"], rows, "job")


def show_notes(plan: Plan) -> None:
    """Warn of summaries that cannot be read, and of runs of other results versions."""
    for job in plan.jobs:
        if job.found.status is Status.UNREADABLE:
            console.warn(f"{job.found.error}: the job runs again")
    for sentence in Collected(others=[*_of_other_versions(plan)]).of_other_versions:
        console.warn(sentence)


def _of_other_versions(plan: Plan) -> Iterator[Run]:
    """Yield runs that differ from runs of the plan in key and results version alone."""
    folders = {job.folder for job in plan.jobs}
    begun = {(folder.parent, _without_key(folder.name)) for folder in folders}
    for parent in sorted({folder.parent for folder in folders}):
        for name in sorted(os.listdir(parent)) if os.path.isdir(parent) else ():
            if (parent, _without_key(name)) in begun and parent / name not in folders:
                with suppress(UnreadableRunError):
                    summary = read_summary(parent / name)
                    if not summary.is_of(RESULTS_VERSION):
                        yield Run(str(parent / name), summary)


def _without_key(name: str) -> str:
    return name.rpartition("-")[0]


def warn_of_code(plan: Plan) -> None:
    """Warn of user code that reads something that the keys of the jobs do not cover."""
    warn_of_reads(sorted({module for job in plan.jobs for module in job.place.code}))


def show_outcomes(jobs: Iterable[PlannedJob], outcomes: Mapping[Path, JobOutcome]) -> None:
    """Show the number of jobs with each outcome, and the errors of the jobs that failed."""
    ends = [(job, outcomes.get(job.folder, JobOutcome(Status.NEW))) for job in jobs]
    _show_counts((outcome.status for _, outcome in ends), attrgetter("word"))
    by_error: dict[str, list[PlannedJob]] = {}
    for job, outcome in ends:
        if outcome.status is Status.FAILED:
            by_error.setdefault(first_line(outcome.error), []).append(job)
    failed = [
        (
            console.with_more(jobs[0].label, len(jobs) - 1),
            error,
            console.relative(jobs[0].folder / "attnexp.log"),
        )
        for error, jobs in by_error.items()
    ]
    _show_rows(["failed", "error", "log"], failed, "error")


def show_results(composer: Composer, plan: Plan) -> None:
    """Show a table of all jobs, pictures of finished jobs, and commands to type next.

    The table is that of `attnexp results` for the jobs' folders: a job that diverged has the worst
    value, and a job that failed otherwise has none. The pictures compare configurations;
    figures=false leaves them out. Nothing is shown if every job failed otherwise.
    """
    jobs = [job.refreshed() for job in plan.jobs]
    if not any(job.found.has_ended for job in jobs):
        return
    from attnexp.tables.reports import show_configurations

    show_configurations([str(job.folder) for job in jobs if os.path.isdir(job.folder)])
    ended = [job for job in jobs if job.found.status is Status.FINISHED]
    root = Path(composer.config.hydra.sweep.dir).absolute()
    if ended and composer.config.figures is not False:
        experiment = composer.config.hydra.runtime.choices.get("experiment")
        name = experiment or pictures_name(composer.config.hydra.overrides.task)
        _show_pictures(ended, root / FIGURES / name, anew=bool(plan.to_do))
    folder = console.relative(root)
    where = "" if folder == OUTPUTS else f" {shlex.quote(folder)}"
    console.print_line("next:")
    commands = {f"attnexp results{where}": said("the table of all runs")}
    if ended:
        run = shlex.quote(console.relative(ended[0].folder))
        commands[f"attnexp plot {run}"] = said("the pictures of one run")
        commands[f"attnexp report{where}"] = said("one page with tables, curves and attention")
    with speaking():
        for command, what in commands.items():
            console.print_line(f"  {command}  # {translate(what)}")


def _show_pictures(ended: Sequence[PlannedJob], into: Path, anew: bool) -> None:
    """Draw a comparison of configurations into a folder, and print the paths of the files."""
    number = len({configuration_of(job) for job in ended})
    if number > MOST_COMPARED:
        console.print_line(
            f"{number} configurations are too many for one picture: "
            "attnexp plot --where draws some of them"
        )
        return
    if anew or not list(into.glob("*.png")):
        draw_pictures([job.folder for job in ended], into)
    for file in sorted(into.glob("*.png")):
        console.print_line(console.relative(file))


def pictures_name(overrides: Sequence[str]) -> str:
    """Return the name of the folder of a sweep's pictures: the arguments, as a file name.

    Arguments that change no number are left out. A name that would be too long or ambiguous ends in
    a digest.
    """
    words = [
        word
        for word in overrides
        if word.partition("=")[0].lstrip("+~").partition("/")[0] not in NEUTRAL | {"hydra"}
    ]
    text = " ".join(words)
    name = file_word(text.replace(",", "-"))
    if len(name) > LONGEST_NAME or LOST.search(text):
        return f"{name[: LONGEST_NAME - 9]}-{sha256(text.encode()).hexdigest()[:8]}"
    return name or "sweep"


def configuration_of(job: PlannedJob) -> str:
    """Return a job's label without the seed."""
    return " ".join(word for word in job.label.split(" ") if not word.startswith("seed="))


def draw_pictures(folders: Sequence[Path], into: Path) -> None:
    """Draw a comparison of the runs in the folders. A failure is a warning."""
    try:
        with console.status("drawing"):
            from attnexp.plots.catalogue import draw_comparisons

            draw_comparisons(folders, into)
    except Exception as error:  # the runs have finished, whether they can be drawn or not
        log.info("the comparison could not be drawn", exc_info=error)
        console.warn(
            f"the comparison could not be drawn ({error_text(error)}); attnexp plot draws it again"
        )


def _show_counts(statuses: Iterable[Status], word: Callable[[Status], str]) -> None:
    counts = Counter(statuses)
    with speaking():
        table = console.plain_table([say("status"), say("jobs")], right=[say("jobs")])
    for status in Status:
        if counts[status]:
            table.add_row(word(status), str(counts[status]))
    console.screen.out.print(table)


def _show_rows(titles: Sequence[str], rows: Sequence[Sequence[str]], what: str) -> None:
    if rows:
        table = console.plain_table(titles)
        for row in rows[:ROWS]:
            table.add_row(*map(escape, row))
        console.screen.out.print(table)
    if len(rows) > ROWS:
        console.print_line(f"and {console.count_text(len(rows) - ROWS, f'more {what}')}")

"""`attnexp` without a verb: a run, a sweep, or one of Hydra's own questions."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from attnexp.config.compose import CommandLine
from attnexp.config.job import Job, finished_before, run_in_context
from attnexp.config.messages import ComposeErrors
from attnexp.config.unknown import UnknownSettingError
from attnexp.config.words import check_unused, print_unused_alone
from attnexp.core import console
from attnexp.core.errors import FULL, LONGEST, RequestError, RunFailedError, shortened, writable
from attnexp.core.language import say, speaking, stored, translate
from attnexp.runs.files import FIGURES, SUMMARY
from attnexp.runs.lock import TakenOverError, hold
from attnexp.runs.run_status import Status
from attnexp.runs.summary import Summary, error_text
from attnexp.runs.user_code import warn_of_reads

if TYPE_CHECKING:
    from attnexp.training.prepared_run import PreparedRun


def main(argv: Sequence[str]) -> None:
    """Carry out a command line without a verb: a run, a sweep, or a question to Hydra.

    Raises RequestError for a wrong request, and RunFailedError for a run that failed.
    """
    line = CommandLine.read(argv)
    try:
        if line.answer_question():
            return
        job = None if line.arguments.multirun else line.compose()
        if job is None:
            line.sweep()
        else:
            run_once(line, job)
    except (UnknownSettingError, *ComposeErrors) as error:
        raise line.request_error(error) from error


def run_once(line: CommandLine, job: Job) -> None:
    """Run one job, unless it has finished before. Then show it.

    Everything is built before anything is written.
    """
    config = job.config
    warn_of_reads(job.place.code)
    if line.arguments.dry_run:
        status = Status.NEW if config.rerun else job.place.found.status
        if status.counts_in_means:
            check_unused(job)
        else:
            _prepared(job)
        console.print_line(f"{status.in_plan}: {console.relative(job.folder)}")
        return
    if config.hydra.sweeper.get("params"):
        axes = ", ".join(config.hydra.sweeper.params)
        console.print_line(
            f"This is one run of an experiment; -m runs it for all values of {axes}."
        )
    print_unused_alone(job)
    if summary := finished_before(job):
        check_unused(job)
        _show_again(job, summary)
        return

    prepared = _prepared(job)
    with (
        writable("output_dir", job.folder),
        hold(job.folder, on_busy=_waiting),
    ):
        if summary := finished_before(job.refreshed()):
            _show_again(job, summary)
            return
        summary = run_in_context(job, lambda: _executed(prepared, job.folder))
    show_run(job.folder, summary)


def _prepared(job: Job) -> "PreparedRun":
    """Return the run of a job, built and ready to train.

    Raises RequestError for a job that cannot run.
    """
    with console.status("loading PyTorch"):
        from attnexp.config import build

    try:
        return build.prepare(job)
    except ValueError as error:
        raise RequestError(str(error)) from error


def _executed(prepared: "PreparedRun", folder: Path) -> "Summary":
    from attnexp.training.execute import execute

    try:
        return execute(prepared, folder, draws=prepared.config["figures"] is not False)
    except TakenOverError:
        raise
    except (Exception, SystemExit) as error:
        raise RunFailedError(_failure(folder, error)) from error


def _show_again(job: Job, summary: Summary) -> None:
    """Show a run that has finished before."""
    with speaking():
        console.print_line(
            say(
                "This run has finished before on {device}; {setting} runs it again.",
                device=summary.device,
                setting="rerun=true",
            )
        )
    if job.config.figures is not False:
        from attnexp.training.record.pictures import draw_missing

        summary = draw_missing(summary, job.folder)
    show_run(job.folder, summary)


def _waiting(holder: str) -> None:
    console.print_line(f"{holder} is at work on this run; waiting for it")


def _failure(folder: Path, error: BaseException) -> str:
    if isinstance(error, OSError) and error.errno in FULL:
        return f"the run failed: {error_text(error)}"
    place = f"The traceback is in {folder / 'attnexp.log'}"
    first = error_text(error).partition("\n")[0]
    why = shortened(first, max(60, LONGEST - len(place) - len("the run failed: . ")))
    return f"the run failed: {why}. {place}"


def show_run(folder: Path, summary: Summary) -> None:
    """Print the headline metrics of a run, its notes, folder and pictures, and the next command.

    All metrics are in the folder.
    """
    from attnexp.runs.folder import Run  # it needs NumPy, and what is planned does not

    run = Run(str(folder), summary)
    shown = {name: value for name, value in run.metrics.items() if run.is_headline(name)}
    with speaking():
        table = console.plain_table([say("metric"), say("value")], right=[say("value")])
        for name, value in shown.items():
            table.add_row(name, console.number_text(value))
        console.screen.out.print(table)
        if more := len(run.metrics) - len(shown):
            console.print_line(say("{count} more metrics are in {file}", count=more, file=SUMMARY))
        for note in run.summary.notes:
            console.warn(translate(stored(note)))
    console.screen.out.print(f"[bold]{escape(console.relative(run.folder))}[/]", soft_wrap=True)
    pictures = sorted((folder / FIGURES).glob("*.png"))
    for picture in pictures:
        console.print_line(console.relative(picture))
    where = shlex.quote(console.relative(folder if not pictures else folder.parent))
    console.print_line(f"next: attnexp {'results' if pictures else 'plot'} {where}")

"""`attnexp` without a verb: a run, a sweep, or one of Hydra's own questions."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnexp import console
from attnexp.config.compose import CommandLine
from attnexp.config.job import Job, at_work, finished_before, run_callbacks
from attnexp.config.messages import ComposeErrors
from attnexp.errors import RequestError, RunFailedError
from attnexp.runs import files
from attnexp.runs.key import run_key
from attnexp.runs.lock import hold
from attnexp.sweeps.outcome import look, old_folders
from attnexp.sweeps.summary import STATES, warn_of_old

if TYPE_CHECKING:
    from attnexp.training.run import PreparedRun


def main(argv: Sequence[str]) -> None:
    """Carry out what the arguments ask for.

    Raises RequestError for a wrong request and RunFailedError for a run that failed.
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
    except ComposeErrors as error:
        raise line.request_error(error) from error


def run_once(line: CommandLine, job: Job) -> None:
    """Run one job, unless the same job has finished before.

    Nothing is written before everything is built.
    """
    config = job.config
    if not config.rerun:
        found = look(job.folder, run_key(job.settings), job.settings)
        warn_of_old(old_folders(job.folder, job.settings))
    if line.arguments.dry_run:
        state = "new" if config.rerun else found.state
        console.say(f"{STATES[state]}: {console.near(job.folder)}")
        return
    if config.hydra.sweeper.get("params"):
        axes = ", ".join(config.hydra.sweeper.params)
        console.say(f"This is one run of an experiment; -m runs it for all values of {axes}.")
    if _shown_before(job):
        return

    with console.status("loading PyTorch"):
        from attnexp.config import build

    try:
        prepared = build.prepare(config, job.chosen)
    except ValueError as error:
        raise RequestError(str(error)) from error
    with run_callbacks(job, line.config_name) as returned:
        try:
            with hold(job.folder, tell=_waiting):
                if _shown_before(job):
                    return
                summary = at_work(job, lambda: _executed(prepared, job.folder))
                returned(summary)
        except OSError as error:
            raise RequestError(
                f"output_dir: {job.folder} cannot be written: {error.strerror}"
            ) from error
    console.show_run(summary, job.folder)


def _executed(prepared: "PreparedRun", folder: Path) -> dict[str, Any]:
    from attnexp.training import run

    try:
        return run.execute(prepared, folder)
    except (Exception, SystemExit) as error:
        raise RunFailedError(_failure(folder)) from error


def _shown_before(job: Job) -> bool:
    """Show the run of a job where it has finished before, and return whether it has."""
    summary = finished_before(job)
    if summary is not None:
        console.say("This run has finished before; rerun=true runs it again.")
        console.show_run(summary, job.folder)
    return summary is not None


def _waiting(holder: str) -> None:
    console.say(f"{holder} is at work on this run; waiting for it")


def _failure(folder: Path) -> str:
    try:
        error = files.read_summary(folder).get("error")
    except files.UnreadableRunError as unreadable:
        error = unreadable
    return f"the run failed: {error}. The traceback is in {folder / 'attnexp.log'}"

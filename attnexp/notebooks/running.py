"""Runs and sweeps that Python starts, by the words of the command line."""

from collections.abc import Sequence
from pathlib import Path

from attnexp.core import console
from attnexp.core.errors import RequestError
from attnexp.notebooks.notebook_run import NotebookRun, load_run
from attnexp.notebooks.runs import NotebookRuns
from attnexp.runs.origin.command_line import own_words
from attnexp.runs.run_status import Status

QUESTIONS = {
    *("-h", "--help", "--hydra-help", "--version", "-c", "--cfg", "-i", "--info"),
    *("-sc", "--shell-completion"),
}
"""The flags with which a command line prints something and runs nothing."""


def run(*words: str, config_dir: str | Path | None = None) -> NotebookRun:
    """Run `attnexp WORDS` unless it has finished before, and return the run.

    Nothing is printed, and no picture is drawn; `plot` of the run draws it. The run is the same as
    that of the command line, in the same folder.

    Raises RequestError for words that make no run or several, and that are not text or ask a
    question, and RunFailedError if it failed.
    """
    found = sweep(*words, config_dir=config_dir)
    if len(found) != 1:
        raise RequestError(f"these words make {len(found)} runs: attnexp.sweep returns them all")
    return found[0]


def sweep(*words: str, config_dir: str | Path | None = None) -> NotebookRuns:
    """Run the jobs of `attnexp -m WORDS` that have not finished, and return all its runs.

    Of a sweep that tunes these are the runs that it compares. Nothing is printed.

    Raises RequestError for words that make no sweep, and that are not text or ask a question, and
    RunFailedError if a job failed; the same call goes on with the rest.
    """
    _require_settings(words)
    from attnexp.sweeps.line import compared_jobs, run_sweep

    line = [*own_words(config_dir), *words, "figures=false"]
    with console.screen.silent():
        run_sweep(line)
        jobs = compared_jobs(line)
    return NotebookRuns(load_run(job.folder) for job in jobs if job.found.status is Status.FINISHED)


def _require_settings(words: Sequence[object]) -> None:
    """Raise RequestError for a word that is not text, and for a flag that asks a question."""
    for word in words:
        if not isinstance(word, str):
            raise RequestError(f"a word is text, such as 'model=dot', got {word!r:.60}")
        if word.partition("=")[0] in QUESTIONS:
            raise RequestError(f"{word} asks a question, which `attnexp {word}` answers in a shell")

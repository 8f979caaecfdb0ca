"""The command line of a row in a trial, and its jobs."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from attnexp.cards.rows import CardRow
from attnexp.cards.trial import LevelName, SizedTrial
from attnexp.config.compose import CommandLine
from attnexp.config.job import Job
from attnexp.config.messages import ComposeErrors
from attnexp.core.errors import RunFailedError
from attnexp.runs.origin.command_line import own_words
from attnexp.select.collect import CARDS
from attnexp.sweeps.line import compared_jobs
from attnexp.sweeps.plan import PlannedJob
from attnexp.sweeps.tuned.words import tuning_words

FOLDER = Path(CARDS)
"""The folder of the runs of all cards."""


LATE = "stopped"
"""The beginning of `Effort.late`."""


@dataclass(frozen=True)
class Effort:
    """How a card is made.

    `minutes` is the time limit of a row in a trial, `config_dir` the folder of the user's code and
    configuration, `folder` that of the runs.
    """

    level: LevelName
    seeds: int
    minutes: float
    device: str
    config_dir: Path | None
    folder: Path = FOLDER

    @property
    def late(self) -> str:
        """Why a row that took too long has no result."""
        return f"{LATE} after {self.minutes:g} minutes"

    def line(self, words: Sequence[str]) -> list[str]:
        """Return a command line of these words and those that all trials share."""
        own = own_words(self.config_dir)
        return [*own, *words, f"device={self.device}", "figures=false", f"output_dir={self.folder}"]

    def sweep(self, task: SizedTrial, row: CardRow) -> list[str]:
        """Return the arguments of `attnexp -m` for a row in a trial, at all seeds."""
        products = task.trial.of_products if row.of_products else []
        words = [*task.words, *products, *row.words, f"seed=range(1,{self.seeds + 1})"]
        tuned = tuning_words(task.trial.tune, task.trial.tune_by)
        return [*self.line(words), f"hydra/launcher={task.trial.launcher}", *tuned]


def job_of(words: Sequence[str]) -> Job:
    """Return the job of a command line. Raises RequestError if it cannot be composed."""
    line = CommandLine.read(words)
    try:
        job = line.compose()
    except ComposeErrors as error:
        raise line.request_error(error) from error
    assert job is not None
    return job


def compared(line: Sequence[str]) -> list[PlannedJob]:
    """Return the compared jobs of a sweep; empty while tuning has chosen no values."""
    with suppress(RunFailedError):
        return compared_jobs(line)
    return []


def are_done(jobs: Sequence[PlannedJob], tune: Sequence[str]) -> bool:
    """Return whether there are jobs, all have ended, and each has a record of its tuning."""
    return bool(jobs) and all(_is_done(job, tune) for job in jobs)


def _is_done(job: PlannedJob, tune: Sequence[str]) -> bool:
    found = job.found
    recorded = not tune or (found.summary is not None and found.summary.tuning is not None)
    return found.has_ended and recorded

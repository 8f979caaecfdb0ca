"""The command line of a row in a trial, and the jobs that it names."""

import json
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
from attnexp.sweeps.line import compared_jobs
from attnexp.sweeps.plan import PlannedJob
from attnexp.sweeps.search import numbers_beyond

FOLDER = Path("outputs") / "cards"
"""The folder of the runs, which all cards share."""

TUNED_AT = 1000
"""The seed at which settings are tuned. It is not compared."""

FINALS = (1001, 1002)
"""The seeds at which the two best settings are tried too."""

BEYOND = 2
"""The further values that are tried on each side while the best one is at an end."""


@dataclass(frozen=True)
class Effort:
    """How a card is made: its level, seeds, device, the most `minutes` of a row, and own code.

    The runs are in `folder`.
    """

    level: LevelName
    seeds: int
    minutes: float
    device: str
    config_dir: Path | None
    folder: Path = FOLDER

    def line(self, words: Sequence[str]) -> list[str]:
        """Return words with those that are the same in every trial."""
        own = own_words(self.config_dir)
        return [*own, *words, f"device={self.device}", "figures=false", f"output_dir={self.folder}"]

    def sweep(self, task: SizedTrial, row: CardRow) -> list[str]:
        """Return the words of `attnexp -m` for a row in a trial, at all seeds."""
        products = task.trial.of_products if row.of_products else []
        words = [*task.words, *products, *row.words, f"seed=range(1,{self.seeds + 1})"]
        line = self.line(words)
        line.append(f"hydra/launcher={task.trial.launcher}")
        if task.trial.tune:
            tuned = f"hydra.sweeper.tune={json.dumps(task.trial.tune)}"
            finals = ",".join(map(str, FINALS))
            line += ["hydra/sweeper=tuned", tuned, f"hydra.sweeper.seeds=[{TUNED_AT}]"]
            line.append(f"hydra.sweeper.finals=[{finals}]")
            if any(numbers_beyond(tuned_numbers(each), BEYOND) for each in task.trial.tune):
                line.append(f"hydra.sweeper.beyond={BEYOND}")
            if task.trial.tune_by is not None:
                line.append(f"hydra.sweeper.metric={task.trial.tune_by}")
        return line


def tuned_numbers(tuned: str) -> list[float]:
    """Return the values of `NAME=VALUE,...`, none unless all of them are numbers."""
    values = tuned.partition("=")[2].split(",")
    with suppress(ValueError):
        return [int(value) if value.isdecimal() else float(value) for value in values]
    return []


def job_of(words: Sequence[str]) -> Job:
    """Return the one job of settings. Raises RequestError for words that make none."""
    line = CommandLine.read(words)
    try:
        job = line.compose()
    except ComposeErrors as error:
        raise line.request_error(error) from error
    assert job is not None
    return job


def compared(line: Sequence[str]) -> list[PlannedJob]:
    """Return the compared jobs of a sweep, none as long as no values could be chosen."""
    with suppress(RunFailedError):
        return compared_jobs(line)
    return []


def are_done(jobs: Sequence[PlannedJob], tune: Sequence[str]) -> bool:
    """Return whether there are jobs, all have ended, and how each was tuned is recorded."""
    return bool(jobs) and all(_is_done(job, tune) for job in jobs)


def _is_done(job: PlannedJob, tune: Sequence[str]) -> bool:
    found = job.found
    recorded = not tune or (found.summary is not None and found.summary.tuning is not None)
    return found.status.counts_in_means and recorded

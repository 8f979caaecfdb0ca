"""Settings of a command line that have no effect: they are checked and named, not ignored."""

from collections.abc import Collection

from omegaconf import DictConfig

from attnexp.config.job import Job
from attnexp.core import console
from attnexp.core.errors import RequestError
from attnexp.runs.key import NEUTRAL
from attnexp.runs.redaction import masked

OF_SWEEPS = (
    "hydra/launcher",
    "hydra.launcher",
    "hydra/sweeper",
    "hydra.sweeper",
    "hydra.sweep",
    "fail_fast",
)
"""Settings that have no effect on a single run."""

OF_TRAINING = NEUTRAL - {"figures", "output_dir", "rerun", "fail_fast"}
"""Settings that have no effect on a run that has finished."""


def say_unused_alone(config: DictConfig) -> None:
    """Name the settings that have an effect only with -m."""
    if words := _typed(config, OF_SWEEPS):
        console.say(f"no effect without -m: {', '.join(words)}")


def check_unused(job: Job) -> None:
    """Check and name the settings that a run which has finished does not use.

    Raises RequestError if it would be refused if it ran again.
    """
    words = _typed(job.config, OF_TRAINING)
    if not words:
        return
    if any(word not in ("device=cpu", "device=auto") for word in words):
        with console.status("loading PyTorch"):
            from attnexp.config import build
        try:
            build.check_neutral(job)
        except ValueError as error:
            raise RequestError(str(error)) from error
    console.say(f"no effect on finished runs: {', '.join(words)}")


def _typed(config: DictConfig, names: Collection[str]) -> list[str]:
    """Return the words of the command line that set one of these, or a setting inside of one."""
    words = masked([*config.hydra.overrides.hydra, *config.hydra.overrides.task])
    by_word = {word: word.partition("=")[0].lstrip("+~") for word in words}
    return [
        word
        for word, name in by_word.items()
        if any(name == each or name.startswith(f"{each}.") for each in names)
    ]

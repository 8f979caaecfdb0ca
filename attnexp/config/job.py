"""A job: the configuration of one run, its place, and its surroundings from Hydra."""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import env_override
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from attnexp.config.hydra_internals import configure_logging
from attnexp.config.resolved import chosen_of, recorded, resolved
from attnexp.config.unknown import override_name
from attnexp.core.errors import RequestError
from attnexp.runs.files import CHECKPOINT
from attnexp.runs.key import run_key
from attnexp.runs.place import Place
from attnexp.runs.summary import Summary, first_summary
from attnexp.runs.user_code import user_code

Result = TypeVar("Result")


@dataclass(frozen=True)
class Job:
    """A composed configuration, Hydra's node included, and the place of the run.

    `settings` is the configuration of the run as plain values, `command` the command line as it was
    typed. Both, and the key and the code of the place, are made once, when the job is composed.
    """

    config: DictConfig
    settings: Mapping[str, Any]
    place: Place
    command: str | None = None

    @property
    def folder(self) -> Path:
        """The folder of the run."""
        return self.place.folder

    def first_summary(self) -> Summary:
        """Return the summary of the run before anything of it is built."""
        hydra = self.config.hydra
        folders = (s.path for s in hydra.runtime.config_sources if s.provider == "command-line")
        return first_summary(
            self.place.key,
            recorded(self.config, self.settings),
            self.chosen,
            code=dict(self.place.code),
            command=self.command,
            overrides=cast(list[str], OmegaConf.to_container(hydra.overrides.task, resolve=False)),
            config_dir=next(folders, None),
        )

    def refreshed(self) -> "Job":
        """Return the job with the present state of its folder. Raises as `Place.refreshed`."""
        return replace(self, place=self.place.refreshed(self.settings))

    @property
    def log(self) -> Path:
        """The file that Hydra logs the job to."""
        return self.folder / f"{self.config.hydra.job.name}.log"

    @property
    def chosen(self) -> dict[str, str]:
        """The name chosen in each of attnexp's groups."""
        return chosen_of(self.config.hydra.runtime.choices)

    def choice_of(self, group: str) -> str:
        """Return the word that chooses in a group, such as `data=nile`."""
        return f"{group}={self.config.hydra.runtime.choices.get(group)}"


def finished_before(job: Job) -> Summary | None:
    """Return the summary of the same run, if it had finished and `rerun` is not set."""
    found = job.place.found
    if not found.status.counts_in_means or job.config.rerun:
        return None
    with suppress(OSError):  # its process may have died just after it had finished
        (job.folder / CHECKPOINT).unlink()
    return found.summary


def run_in_context(job: Job, work: Callable[[], Result]) -> Result:
    """Do the work of a job in the surroundings that Hydra gives to a job.

    The caller holds the folder's lock.
    """
    set_folder(job)
    with JobContext(job).entered():
        return work()


def set_folder(job: Job) -> None:
    """Set `${hydra:runtime.output_dir}` to the folder of a job, and fix Hydra's settings."""
    hydra = job.config.hydra
    with read_write(hydra.runtime), open_dict(hydra.runtime):
        hydra.runtime.output_dir = str(job.folder)
    OmegaConf.set_readonly(hydra, True)


class JobContext:
    """The surroundings of a job in Hydra, after `set_folder`. A job may enter them several times.

    Messages go to the log in the folder, `${hydra:...}` can be resolved, and `hydra.job.env_set`
    sets environment variables.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._handlers: list[logging.Handler] = []

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Run a block in the surroundings."""
        hydra = self._job.config.hydra
        before = HydraConfig.instance().cfg
        HydraConfig.instance().cfg = self._job.config  # type: ignore[assignment]
        try:
            self._direct_messages()
            with env_override(hydra.job.env_set):
                yield
        finally:
            HydraConfig.instance().cfg = before

    def close(self) -> None:
        """Close the log."""
        for handler in self._handlers:
            logging.root.removeHandler(handler)
            handler.close()

    def _direct_messages(self) -> None:
        """Configure the log. Later entries set the root's handlers only, if that is enough."""
        hydra = self._job.config.hydra
        if self._handlers and "loggers" not in hydra.job_logging:
            logging.root.handlers[:] = self._handlers
            return
        _configure_log(hydra)
        self._handlers = logging.root.handlers[:]


def _configure_log(hydra: DictConfig) -> None:
    """Configure the log, which opens its file.

    Raises RequestError for settings that cannot be used, and OSError for a file that cannot.
    """
    try:
        configure_logging(hydra.job_logging, hydra.verbose)
    except (ValueError, TypeError, AttributeError, LookupError, ImportError) as error:
        why = error.__cause__ or error
        if isinstance(why, OSError):
            raise OSError(why.errno, why.strerror, why.filename) from error
        raise RequestError(f"hydra.job_logging cannot be used: {why}") from error


def identified(config: DictConfig) -> tuple[dict[str, Any], str, dict[str, str]]:
    """Return the resolved settings of a configuration, its key, and the user's code.

    Sets the key for `${run_name:}`. Raises as `resolved`.
    """
    settings = resolved(config)
    code = user_code(settings)
    key = run_key(settings, code)
    set_key(config, key)
    return settings, key, code


def set_key(config: DictConfig, key: str) -> None:
    """Set the key of a run, for `${run_name:}`."""
    runtime = config.hydra.runtime
    with read_write(runtime), open_dict(runtime):
        runtime.run_key = key


def override_dirname(hydra: DictConfig) -> str:
    """Return the overrides of a job joined as by Hydra, without resolving interpolations."""
    return _dirname(hydra, hydra.job.config.override_dirname)


def dirname_as(form: Mapping[str, Any] | None = None, *, _root_: DictConfig) -> str:
    """Return `override_dirname` for Hydra 1.4's resolver `${hydra_override_dirname:}`."""
    hydra = _root_.hydra
    return _dirname(hydra, OmegaConf.merge(hydra.job.config.override_dirname, form or {}))


def _dirname(hydra: DictConfig, form: Any) -> str:
    typed: Any = OmegaConf.to_container(hydra.overrides.task, resolve=False)
    words = [word for word in typed if override_name(word) not in form.exclude_keys]
    dirname: str = form.item_sep.join(sorted(words)).replace("=", form.kv_sep)
    return dirname.replace("${", "{")

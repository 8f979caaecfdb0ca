"""A job: the configuration of one run and its folder, as a process receives them."""

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import yaml
from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import JobReturn, JobStatus, env_override
from omegaconf import DictConfig, OmegaConf, open_dict, read_write
from omegaconf.resolvers import oc

from attnexp.config import job_log
from attnexp.config.hydra_internals import Callbacks, OmegaConfDumper
from attnexp.config.schema import check_settings
from attnexp.errors import RequestError, RunFailedError
from attnexp.redaction import (
    MASK,
    from_environment,
    is_masked,
    knows_variables,
    recorded,
    remember_secrets,
    remember_variable,
)
from attnexp.runs.files import writing
from attnexp.runs.key import NEUTRAL, run_name
from attnexp.runs.settings import leaves
from attnexp.runs.sources import digest
from attnexp.runs.state import look
from attnexp.runs.summary import Summary


@dataclass(frozen=True)
class Settings:
    """The settings at the top level of a run. Groups are checked against what they name."""

    model: dict[str, Any]
    normalizer: dict[str, Any]
    arch: dict[str, Any]
    data: dict[str, Any]
    task: dict[str, Any]
    optim: dict[str, Any]
    schedule: dict[str, Any]
    train: dict[str, Any]
    tracker: dict[str, Any]
    device: str
    precision: Literal["fp32", "fp64", "bf16"]
    threads: int
    batched: bool
    seed: int
    figures: bool
    rerun: bool
    checkpoint_every: float | None
    fail_fast: bool
    output_dir: str


HYDRA = "hydra"
"""The name of Hydra's own node in a composed configuration. All other nodes are attnexp's."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class Job:
    """A composed configuration, Hydra's node included, and the folder of the run.

    `command` is what was typed for it.
    """

    config: DictConfig
    folder: Path
    command: str | None = None

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The configuration of the run as plain values."""
        return resolved(self.config)

    @property
    def log(self) -> Path:
        """The file that Hydra logs the job to."""
        return self.folder / f"{self.config.hydra.job.name}.log"

    @property
    def chosen(self) -> dict[str, str]:
        """The name chosen in each of attnexp's groups."""
        return chosen_of(self.config.hydra.runtime.choices)


def register_resolvers() -> None:
    """Register `${run_name:}`, `${sha256:PATH}`, and `${oc.env:NAME}` that is remembered."""
    OmegaConf.register_new_resolver("run_name", _run_name, replace=True)
    OmegaConf.register_new_resolver("sha256", digest, replace=True)
    OmegaConf.register_new_resolver("oc.env", _environment, replace=True)


def resolved(config: DictConfig) -> dict[str, Any]:
    """Return attnexp's part of a configuration as plain values, interpolations resolved.

    Raises RequestError for a setting at the top level that is unknown or of another type, for
    values that refer to each other without an end, names that are not text, and for the mask of a
    secret.
    """
    try:
        plain = _plain(config)
    except RecursionError as error:
        raise RequestError("the settings are nested too deeply, or refer to each other") from error
    _require_text_as_names(plain)
    remember_secrets(plain)
    _require_no_mask(plain)
    check_settings(plain, Settings, "")
    return plain


def _require_text_as_names(settings: Mapping[Any, Any], path: str = "") -> None:
    """Raise RequestError for a name that is a number or alike: JSON would make it text."""
    for name, value in settings.items():
        if not isinstance(name, str):
            place = path or "the top level"
            raise RequestError(f"the names of settings must be text, got {name!r:.60} in {place}")
        if isinstance(value, Mapping):
            _require_text_as_names(value, f"{path}.{name}" if path else name)


def _require_no_mask(settings: Mapping[str, Any]) -> None:
    """Raise RequestError for what a record of settings holds in place of a secret."""
    for name, value in leaves(settings):
        if is_masked(value):
            raise RequestError(
                f"{name} is {value!r:.60}, and {MASK} is only written in place of a secret: give "
                f"the secret as {name}='${{oc.env:NAME}}', and NAME in the environment"
            )


def chosen_of(choices: Mapping[str, Any]) -> dict[str, str]:
    """Return the name chosen in each group that decides numbers, without Hydra's groups."""
    return {
        str(group): str(name)
        for group, name in choices.items()
        if name is not None and not str(group).startswith("hydra/") and group not in NEUTRAL
    }


def finished_before(job: Job) -> Summary | None:
    """Return the summary of the same run, where it has finished and is not asked for again.

    Raises OtherRunError where the folder holds the run of another configuration.
    """
    if job.config.rerun:
        return None
    found = look(job.folder, job.settings)
    return found.summary if found.state == "finished" else None


def at_work(job: Job, work: Callable[[], Result]) -> Result:
    """Do the work of a job in the surroundings that Hydra gives to a job, with its callbacks.

    The caller holds the folder's lock.
    """
    record_composition(job)
    with Surroundings(job).entered():
        return _with_callbacks(job, work)


def record_composition(job: Job) -> None:
    """Write Hydra's record of the configuration into the folder of a job."""
    hydra = job.config.hydra
    _set_folder(job)
    OmegaConf.set_readonly(hydra, True)
    if hydra.output_subdir is not None:
        write_composition(job, job.folder / hydra.output_subdir)


def check_log(job: Job) -> None:
    """Raise RequestError where the log of a job cannot be configured. No file is opened."""
    _set_folder(job)
    job_log.check(job.config.hydra)


def _set_folder(job: Job) -> None:
    """Set the folder of a job where Hydra has it, for `${hydra:runtime.output_dir}`."""
    runtime = job.config.hydra.runtime
    with read_write(runtime), open_dict(runtime):
        runtime.output_dir = str(job.folder)


class Surroundings:
    """What Hydra gives to a job, after `record_composition`. A job may enter it several times.

    Messages go to the log in the folder; `${hydra:...}` can be resolved; environment variables and
    the working directory are as asked.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._handlers: list[logging.Handler] = []

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Give a block the surroundings."""
        hydra = self._job.config.hydra
        before = HydraConfig.instance().cfg
        HydraConfig.instance().cfg = self._job.config  # type: ignore[assignment]
        try:
            self._direct_messages()
            with env_override(hydra.job.env_set), _in_directory(self._job):
                yield
        finally:
            HydraConfig.instance().cfg = before

    def _direct_messages(self) -> None:
        """Configure the log; later, where only the root has handlers, set them, which is quick."""
        hydra = self._job.config.hydra
        logging.setLogRecordFactory(job_log.RedactedRecord)
        if self._handlers and "loggers" not in hydra.job_logging:
            logging.root.handlers[:] = self._handlers
            return
        job_log.configure(hydra)
        self._handlers = logging.root.handlers[:]


def write_composition(job: Job, folder: Path) -> None:
    """Write the three files in which Hydra records how a configuration came about."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = OmegaConf.to_container(job.config, resolve=False, enum_to_str=True)
    assert isinstance(whole, dict)
    remember_secrets(whole)
    whole = recorded(whole)
    files = {
        "config.yaml": {name: node for name, node in whole.items() if name != HYDRA},
        "hydra.yaml": {HYDRA: whole[HYDRA]},
        "overrides.yaml": whole[HYDRA]["overrides"]["task"],
    }
    for name, content in files.items():
        path = folder / name
        path.unlink(missing_ok=True)
        with writing(path):
            try:
                path.write_text(yaml_text(content), encoding="utf-8")
            except OSError:
                path.unlink(missing_ok=True)
                raise


def yaml_text(content: Any) -> str:
    """Return what `OmegaConf.to_yaml` writes, by libyaml where it is there: six times as fast."""
    return yaml.dump(
        content, Dumper=_Dumper, default_flow_style=False, allow_unicode=True, sort_keys=False
    )


class _Dumper(getattr(yaml, "CDumper", yaml.Dumper)):  # type: ignore[misc]
    """Quotes text that OmegaConf would read as something else."""


def _represent(dumper: Any, text: str) -> yaml.ScalarNode:
    """Represent text as OmegaConf does; a path that the locale cannot decode is taken for UTF-8."""
    readable = text.encode(errors="surrogateescape").decode(errors="replace")
    node: yaml.ScalarNode = OmegaConfDumper.str_representer(dumper, readable)
    return node


_Dumper.add_representer(str, _represent)


def _with_callbacks(job: Job, work: Callable[[], Result]) -> Result:
    if not job.config.hydra.callbacks:
        return work()
    callbacks = Callbacks(job.config)
    words = OmegaConf.to_container(job.config.hydra.overrides.task, resolve=False)
    returned = JobReturn(
        overrides=cast(list[str], words),
        cfg=job.config,
        working_dir=os.getcwd(),
        task_name=job.config.hydra.job.name,
    )
    callbacks.on_job_start(config=job.config, task_function=lambda _: work())
    try:
        result = work()
        returned.status, returned.return_value = JobStatus.COMPLETED, result
        return result
    except Exception as error:
        returned.status, returned.return_value = JobStatus.FAILED, error
        raise
    finally:
        callbacks.on_job_end(config=job.config, job_return=returned)


@contextmanager
def run_callbacks(job: Job, config_name: str) -> Iterator[Callable[[Any], None]]:
    """Call Hydra's callbacks around a run. The block calls what it is given with the result."""
    callbacks = Callbacks(job.config)
    callbacks.on_run_start(config=job.config, config_name=config_name)
    end = JobReturn()

    def returned(value: Any) -> None:
        end.return_value, end.status = value, JobStatus.COMPLETED

    try:
        yield returned
    except RunFailedError as error:
        end.return_value, end.status = error, JobStatus.FAILED
        raise
    finally:
        callbacks.on_run_end(config=job.config, config_name=config_name, job_return=end)


@contextmanager
def _in_directory(job: Job) -> Iterator[None]:
    before = os.getcwd()
    if job.config.hydra.job.chdir:
        os.chdir(job.folder)
    try:
        yield
    finally:
        os.chdir(before)


def _run_name(*, _root_: DictConfig) -> str:
    return run_name(_plain(_root_), chosen_of(_root_.hydra.runtime.choices))


def _environment(name: str, *default: Any) -> str | None:
    value: str | None = oc.env(name, *default)
    if name in os.environ:
        remember_variable(name, os.environ[name])
    return value


def _plain(config: DictConfig) -> dict[str, Any]:
    plain = {str(name): _resolved(config[name]) for name in config if name != HYDRA}
    if not knows_variables():
        return plain
    typed = {str(name): config._get_node(name) for name in plain}
    return {name: _of_environment(value, _typed(typed[name])) for name, value in plain.items()}


def _resolved(value: Any) -> Any:
    if OmegaConf.is_config(value):
        return OmegaConf.to_container(value, resolve=True, throw_on_missing=True)
    return value


def _typed(node: Any) -> Any:
    """Return a node as it was typed, with its interpolations."""
    if OmegaConf.is_config(node) and not node._is_interpolation():
        return OmegaConf.to_container(node, resolve=False)
    return node._value()


def _of_environment(value: Any, typed: Any) -> Any:
    """Return a setting whose texts know which of them come from the environment."""
    if isinstance(value, Mapping):
        inside = typed if isinstance(typed, Mapping) else dict.fromkeys(value, typed)
        return {name: _of_environment(own, inside.get(name)) for name, own in value.items()}
    if isinstance(value, list):
        within = typed if isinstance(typed, list) else [typed] * len(value)
        return [_of_environment(own, raw) for own, raw in zip(value, within, strict=True)]
    if isinstance(value, str) and isinstance(typed, str) and "${" in typed:
        # a digest is of a file's content: that it holds the letters of a variable means nothing
        return value if typed.startswith("${sha256:") else from_environment(value)
    return value

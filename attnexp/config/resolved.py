"""The settings of a run from a composed configuration, as values and as recorded."""

import os
import re
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal

from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from omegaconf.resolvers import oc

from attnexp.config.hydra_internals import register_resolver
from attnexp.config.schema import check_settings
from attnexp.core.errors import RequestError, suggestion
from attnexp.runs.key import NEUTRAL, run_key, run_name
from attnexp.runs.secret import holds_mask, require_no_secret
from attnexp.runs.settings import DEVICES, leaves
from attnexp.runs.sources import digest
from attnexp.runs.user_code import user_code

HYDRA = "hydra"
"""The name of Hydra's own node in a composed configuration. All other nodes are attnexp's."""


@dataclass(frozen=True)
class Settings:
    """The settings at the top level of a run. Groups are checked against their targets."""

    model: dict[str, Any]
    normalizer: dict[str, Any]
    estimator: dict[str, Any]
    attention: dict[str, Any]
    positions: dict[str, Any]
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
    graphs: bool
    batched: bool
    seed: int
    figures: bool | Literal["auto"]
    rerun: bool
    checkpoint_every: float | None
    fail_fast: bool
    output_dir: str
    data_seed: int | None = None  # runs of earlier versions have none
    native: bool | Literal["auto"] = False  # nor this


def register_resolvers() -> None:
    """Register `${run_name:}`, `${sha256:PATH}`, and the `oc` resolvers for `recorded`."""
    register_resolver("run_name", _run_name)
    register_resolver("sha256", _digest)
    register_resolver("oc.env", _environment)
    register_resolver("oc.decode", _decode)


def resolved(config: DictConfig) -> dict[str, Any]:
    """Return attnexp's part of a configuration as plain values, interpolations resolved.

    Raises RequestError for a setting at the top level that is unknown or of another type, for an
    empty output_dir, values that refer to each other without an end, names that are not text, and
    for a secret or the mask of one.
    """
    try:
        plain = _plain(config)
    except RecursionError as error:
        raise RequestError("the settings are nested too deeply, or refer to each other") from error
    _require_text_as_names(plain)
    _require_no_mask(plain)
    _require_no_secret(config, plain)
    _require_device(plain.get("device", ""))
    check_settings(plain, Settings, "")
    if not plain["output_dir"].strip():
        raise RequestError("output_dir is empty: give the folder for runs, as output_dir=outputs")
    return plain


def _require_device(device: object) -> None:
    """Raise RequestError for a device that is not text: a number names that GPU elsewhere."""
    if not isinstance(device, str):
        number = re.fullmatch(r"\[?(\d+)\]?", str(device))
        near = suggestion([f"device=cuda:{number[1]}"] if number else [])
        problem = f"device must be {DEVICES}, got {device!s:.60}"
        raise RequestError(f"{problem}.{near}" if near else problem)


def _require_text_as_names(settings: Mapping[Any, Any], path: str = "") -> None:
    """Raise RequestError for a name that is not text: JSON would convert it to text."""
    for name, value in settings.items():
        if not isinstance(name, str):
            place = path or "the top level"
            raise RequestError(f"the names of settings must be text, got {name!r:.60} in {place}")
        if isinstance(value, Mapping):
            _require_text_as_names(value, f"{path}.{name}" if path else name)


def _require_no_mask(settings: Mapping[str, Any]) -> None:
    """Raise RequestError for the mask that a record holds in place of a secret."""
    for name, value in leaves(settings):
        if holds_mask(value):
            raise RequestError(
                f"{name} is {str(value)!r:.60}, which is recorded in place of a secret: give the "
                f"secret as {name}='${{oc.env:NAME}}', and set NAME in the environment"
            )


def _require_no_secret(config: DictConfig, plain: Mapping[str, Any]) -> None:
    """Raise RequestError for a secret that is typed, and does not come from the environment."""
    if environment := OmegaConf.select(config, "hydra.job.env_set"):
        typed: Any = OmegaConf.to_container(environment, resolve=False)
        require_no_secret({"hydra.job.env_set": typed})
    try:
        require_no_secret(plain)
    except RequestError:
        typed = OmegaConf.to_container(config, resolve=False)
        require_no_secret({name: own for name, own in typed.items() if name != HYDRA})


def recorded(config: DictConfig, plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return attnexp's part of a configuration, resolved as `plain`, as a run folder records it.

    Text that depends on the environment has `${oc.env:NAME}` in place of the variable's value.
    Raises RequestError if a variable decides which setting
    another one refers to.
    """
    names = _variables_by_name.set(True)
    try:
        by_name = _plain(config)
    except OmegaConfBaseException as error:
        raise RequestError(
            "an environment variable can be the value of a setting or a part of it, and "
            "cannot name another setting"
        ) from error
    finally:
        _variables_by_name.reset(names)
    settings: dict[str, Any] = _by_name(plain, by_name)
    return settings


def chosen_of(choices: Mapping[str, Any]) -> dict[str, str]:
    """Return the name chosen in each group that decides numbers, without Hydra's groups."""
    return {
        str(group): str(name)
        for group, name in choices.items()
        if name is not None and not str(group).startswith("hydra/") and group not in NEUTRAL
    }


def _run_name(*, _root_: DictConfig) -> str:
    runtime = _root_.hydra.runtime
    key = runtime.get("run_key")
    if key is None:
        settings = _plain(_root_)
        key = run_key(settings, user_code(settings))
    return run_name(_root_, chosen_of(runtime.choices), key)


_variables_by_name = ContextVar("_variables_by_name", default=False)
"""Whether `${oc.env:NAME}` gives a mark for the variable in place of its value."""

_MARK = re.compile("\0([^\0]+)\0")
"""Marks an environment variable; has a NUL, which no variable can have."""


def _environment(name: str, *default: Any) -> str | None:
    value: str | None = oc.env(name, *default)
    return f"\0{name}\0" if _variables_by_name.get() and name in os.environ else value


def _decode(text: str | None, *, _parent_: Any, _node_: Any) -> Any:
    return text if _marked(text) else oc.decode(text, _parent_, _node_)


def _digest(path: Any) -> Any:
    """Return the digest of a file, or of each file in a list. Other values are returned unchanged.

    None for a path with a mark in place of an environment variable.
    """
    if isinstance(path, ListConfig):
        return [_digest(each) for each in path]
    if isinstance(path, str):
        return None if _marked(path) else digest(path)
    return path


def _marked(text: str | None) -> bool:
    return text is not None and _MARK.search(text) is not None


def _plain(config: DictConfig) -> dict[str, Any]:
    return {str(name): _resolved(config[name]) for name in config if name != HYDRA}


def _resolved(value: Any) -> Any:
    if OmegaConf.is_config(value):
        return OmegaConf.to_container(value, resolve=True, throw_on_missing=True)
    return value


def _by_name(value: Any, marked: Any) -> Any:
    """Return a setting, with marks in its text replaced by the names of variables."""
    if isinstance(value, Mapping) and isinstance(marked, Mapping):
        return {name: _by_name(each, marked.get(name)) for name, each in value.items()}
    if isinstance(value, list) and isinstance(marked, list) and len(value) == len(marked):
        return [_by_name(*pair) for pair in zip(value, marked, strict=True)]
    if isinstance(value, int | float | None) or not isinstance(marked, str):
        return value
    return _MARK.sub(r"${oc.env:\1}", marked) if _marked(marked) else value

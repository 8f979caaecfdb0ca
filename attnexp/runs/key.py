"""The key of a run: a hash of the settings, and of the user's code, that decide its numbers."""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from attnexp.runs.settings import without

RESULTS_VERSION = 2
"""Version of the code as far as it decides a run's numbers. Raise it when the numbers change."""

NEUTRAL = frozenset(
    {
        "device",
        "graphs",
        "native",
        "figures",
        "rerun",
        "checkpoint_every",
        "fail_fast",
        "output_dir",
        "train.attention_every",
        "tracker",
    }
)
"""Settings, by dotted path, that do not change the numbers of a run."""


ABSENT = object()
"""Stands in place of the value of a setting that is not there."""


class Added(NamedTuple):
    """A setting or group that was added after its results version began.

    `neutral` returns the value that means "as before" from the other settings of a run, or ABSENT
    if it has no such setting. `choice` is the choice of a group that has this value.
    """

    neutral: Callable[[Mapping[str, Any]], Any]
    choice: str | None = None


def _of_rotary(value: float) -> Callable[[Mapping[str, Any]], Any]:
    """Return the function that gives rotary positions a value, and others none."""
    target = "attnexp.architectures.positions.rotary.Rotary"
    return lambda settings: value if _at(settings, "positions._target_") == target else ABSENT


ADDED: dict[str, Added] = {
    "positions.base": Added(_of_rotary(10_000.0)),
    "positions.scale": Added(_of_rotary(1.0)),
}
"""Settings and groups, by dotted path, that were added since the current results version began.

A neutral value is not part of the key, and a stored run without the setting is read with it.
"""

MOVED: dict[str, str] = {}
"""New dotted paths of settings that moved within the current results version, by the old paths."""


def identity(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a resolved configuration that decides the numbers.

    Settings that were `ADDED` are left out at their neutral values, and those that were `MOVED` are
    at their old paths, so that a run keeps its key.
    """
    neutral = {
        path
        for path, added in ADDED.items()
        if _canonical(_at(config, path)) == _canonical(added.neutral(config))
    }
    before = without(config, NEUTRAL | neutral)
    for old, new in MOVED.items():
        before = _moved(before, new, old)
    whole: dict[str, Any] = _canonical(before)
    return whole


def as_now(
    config: Mapping[str, Any], choices: Mapping[str, str | None]
) -> tuple[dict[str, Any], dict[str, str | None]]:
    """Return stored settings and choices of the current results version with today's names.

    Settings that were `MOVED` have their new paths, and those that were `ADDED` neutral values.
    """
    settings, named = dict(config), dict(choices)
    for old, new in MOVED.items():
        settings = _moved(settings, old, new)
    for path, added in ADDED.items():
        value = added.neutral(settings)
        if _at(settings, path) is ABSENT and value is not ABSENT:
            settings = _with(settings, path, value)
            if added.choice is not None:
                named.setdefault(path, added.choice)
    return settings, named


def run_key(config: Mapping[str, Any], code: Mapping[str, str]) -> str:
    """Return ten hexadecimal digits of the SHA-256 of all that decides the numbers of a run.

    Hashed are the `identity` of the configuration, the results version, and the user's code as
    `user_code` returns it.
    """
    whole = {"results": RESULTS_VERSION, **identity(config)}
    if code:
        whole["code"] = dict(code)
    text = json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def run_name(config: Mapping[Any, Any], choices: Mapping[str, str | None], key: str) -> str:
    """Return the name of the run folder: model, data, architecture, seed, key."""
    words = [str(choices.get(group)).replace("/", "_") for group in ("model", "data", "arch")]
    return "-".join([*words, f"seed{config['seed']}", key])


def _at(config: Mapping[str, Any], path: str) -> Any:
    value: Any = config
    for name in path.split("."):
        value = value.get(name, ABSENT) if isinstance(value, Mapping) else ABSENT
    return value


def _moved(config: Mapping[str, Any], path: str, to: str) -> dict[str, Any]:
    """Return settings with the value at `path` moved to the path `to`.

    A top group that held nothing else is removed.
    """
    value, group = _at(config, path), path.partition(".")[0]
    if value is ABSENT:
        return dict(config)
    left = without(config, {path})
    return _with({name: own for name, own in left.items() if own or name != group}, to, value)


def _with(config: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return settings with a value at a dotted path. Missing groups are made."""
    name, _, rest = path.partition(".")
    inside = _with(config.get(name) or {}, rest, value) if rest else value
    return {**config, name: inside}


def _canonical(value: Any) -> Any:
    """Return a value as it is hashed: 1.0 and 1 are one number."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {str(name): _canonical(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(entry) for entry in value]
    return value

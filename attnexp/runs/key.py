"""The identity of a run: what its resolved configuration says."""

import hashlib
import json
from collections.abc import Mapping, Set
from typing import Any

RESULTS_VERSION = 2
"""Version of the code as far as it decides a run's numbers. Raise it when the numbers change."""

NEUTRAL = frozenset(
    {
        "device",
        "threads",
        "figures",
        "rerun",
        "fail_fast",
        "output_dir",
        "train.attention_every",
        "tracker",
    }
)
"""Settings, by dotted path, that do not change the numbers of a run, and so not what it is."""

BROUGHT_BY = {"train.tolerance": 2}
"""Settings that a results version brought: the keys of those before are without them."""


FORMER_TARGETS = {
    "attnexp.training.optimizers.Rprop": "attnexp.optimizers.rprop",
    "attnexp.training.schedules.Constant": "attnexp.schedules.Constant",
    "attnexp.training.schedules.Cosine": "attnexp.schedules.Cosine",
    "attnexp.training.loop.TrainSettings": "attnexp.train.TrainSettings",
}
"""Targets that have moved, and what they are called in keys.

A name that has gone into keys stays there: moving code changes no number.
"""


def identity(config: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a resolved configuration that decides the numbers."""
    whole: dict[str, Any] = _plain(config, "", NEUTRAL)
    return whole


def run_key(config: Mapping[str, Any], results_version: int | None = None) -> str:
    """Ten hexadecimal digits of the SHA-256 of the identity and of the results version.

    That is this version's, unless another is given.
    """
    version = results_version or RESULTS_VERSION
    later = {path for path, first in BROUGHT_BY.items() if first > version}
    whole = {"results": version, **_plain(config, "", NEUTRAL | later)}
    text = json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def run_name(config: Mapping[str, Any], choices: Mapping[str, str | None]) -> str:
    """A folder name to read: model, data, architecture, seed, key."""
    words = [str(choices.get(group)).replace("/", "_") for group in ("model", "data", "arch")]
    return "-".join([*words, f"seed{config['seed']}", run_key(config)])


def _plain(value: Any, path: str, without: Set[str]) -> Any:
    """A value without some settings; 1.0 and 1 are one number, whichever way it was written."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        return FORMER_TARGETS.get(value, value)
    if isinstance(value, Mapping):
        inside = {f"{path}.{key}" if path else str(key): (str(key), value[key]) for key in value}
        return {
            key: _plain(entry, where, without)
            for where, (key, entry) in inside.items()
            if where not in without
        }
    if isinstance(value, list | tuple):
        return [_plain(entry, path, without) for entry in value]
    return value

"""The key of a run: a hash of the settings, and of the user's code, that decide its numbers."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from attnexp.runs.settings import without

RESULTS_VERSION = 1
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


ADDED = {
    "data_seed": None,
    "data.test_lengths": None,
    "data.separator": None,
    "arch.kv_heads": None,
    "arch.window": None,
    "arch.norm": True,
}
"""Settings, by dotted path, that came later, and the value that changes as little as null does."""


def identity(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a resolved configuration that decides the numbers.

    Settings that were `ADDED` and change nothing are left out, so that a run has the key that it
    had before they were.
    """
    unset = {path for path, same in ADDED.items() if _at(config, path) in (None, same)}
    whole: dict[str, Any] = _canonical(without(config, NEUTRAL | unset))
    return whole


def run_key(config: Mapping[str, Any], code: Mapping[str, str]) -> str:
    """Return ten hexadecimal digits of the SHA-256 of all that decides the numbers.

    That is the identity, the results version and the user's code, as `user_code` returns it.
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
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _canonical(value: Any) -> Any:
    """Return a value as it is hashed: 1.0 and 1 are one number."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {str(name): _canonical(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(entry) for entry in value]
    return value

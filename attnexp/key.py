"""The identity of a run: what its resolved configuration says."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

RESULTS_VERSION = 1
"""Version of the code as far as it decides a run's numbers. Raise it when the numbers change."""

NEUTRAL = frozenset({"device", "figures", "rerun", "fail_fast", "output_dir"})
"""Settings that do not change the numbers of a run, and so are not part of what it is."""


def identity(config: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a resolved configuration that decides the numbers."""
    return {name: _plain(value) for name, value in config.items() if name not in NEUTRAL}


def run_key(config: Mapping[str, Any], results_version: int = RESULTS_VERSION) -> str:
    """Ten hexadecimal digits of the SHA-256 of the identity and of the results version."""
    whole = {"results": results_version, **identity(config)}
    text = json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def run_name(config: Mapping[str, Any], choices: Mapping[str, str | None]) -> str:
    """A folder name to read: model, data, architecture, seed, key."""
    words = [str(choices.get(group)).replace("/", "_") for group in ("model", "data", "arch")]
    return "-".join([*words, f"seed{config['seed']}", run_key(config)])


def _plain(value: Any) -> Any:
    """1.0 and 1 are one number, whichever way it was written."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value

"""The key of a run: a hash of the settings that decide its numbers."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from copy import copy
from typing import Any

from attnexp.runs.settings import without

RESULTS_VERSION = 5
"""Version of the code as far as it decides a run's numbers. Raise it when the numbers change."""

NEUTRAL = frozenset(
    {
        "device",
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

BROUGHT_BY = {"train.tolerance": 2, "threads": 3, "arch.empty": 3}
"""Settings, and the results version that introduced each: earlier keys are without them."""

ADDED: Mapping[str, Any] = {
    "batched": False,
    "normalizer": {"_target_": "attnexp.normalizers.softmax.Softmax"},
    "arch.attention_dropout": 0.0,
    "train.stop_epochs": 1,
    "data.test_min_length": None,
    "data.test_max_length": None,
    "data.test_min_pairs": None,
    "data.test_max_pairs": None,
    "precision": "fp32",
    "data.num_test": None,
    "checkpoint_every": 30,
    "model.per_dimension": False,
}
"""Settings that came later, by dotted path, and the value at which a run is what it was before.

Keys are without a setting that has this value, so that runs of before keep theirs.
"""

ADDED_CHOICES = {"normalizer": "softmax"}
"""The name of the choice that has the value of before, for each group among `ADDED`."""

REARRANGEMENTS = (
    "attnexp.data.copy.Copy",
    "attnexp.data.reverse.Reverse",
    "attnexp.data.sort.Sort",
)

LEARNED_WIDTHS = (
    "attnexp.scores.gaussian_learned.GaussianLearned",
    "attnexp.scores.epanechnikov_learned.EpanechnikovLearned",
    "attnexp.scores.parabola_learned.ParabolaLearned",
    "attnexp.scores.biweight_learned.BiweightLearned",
    "attnexp.scores.triweight_learned.TriweightLearned",
)

ADDED_TO = {
    "arch.attention_dropout": (
        "attnexp.architectures.rnn.Rnn",
        "attnexp.architectures.transformer.Transformer",
    ),
    "train.stop_epochs": ("attnexp.training.base.TrainSettings", "attnexp.train.TrainSettings"),
    "data.test_min_length": REARRANGEMENTS,
    "data.test_max_length": REARRANGEMENTS,
    "data.test_min_pairs": ("attnexp.data.recall.Recall",),
    "data.test_max_pairs": ("attnexp.data.recall.Recall",),
    "data.num_test": ("attnexp.data.sine.Sine", "attnexp.data.sine_v1.SineV1"),
    "model.per_dimension": LEARNED_WIDTHS,
}
"""The targets that existed before a setting inside a group was added to them."""

_ADDED_ABOVE = {path: before for path, before in ADDED.items() if "." not in path}
"""The settings that were added at the top level, with their values of before."""

_ADDED_INSIDE: dict[str, dict[str, dict[str, Any]]] = {}
"""The settings that were added inside a group, with their values of before, by group and target."""
for _path, _targets in ADDED_TO.items():
    _group, _, _name = _path.partition(".")
    for _target in _targets:
        _ADDED_INSIDE.setdefault(_group, {}).setdefault(_target, {})[_name] = ADDED[_path]

FORMER_TARGETS = {
    "attnexp.training.optimizers.Rprop": "attnexp.optimizers.rprop",
    "attnexp.training.schedules.Constant": "attnexp.schedules.Constant",
    "attnexp.training.schedules.Cosine": "attnexp.schedules.Cosine",
    "attnexp.training.base.TrainSettings": "attnexp.train.TrainSettings",
}
"""Targets that have moved, and the former names, which keys keep: no number has changed."""


def identity(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a resolved configuration that decides the numbers."""
    whole: dict[str, Any] = _canonical(without(config, NEUTRAL | _as_before(config)))
    return whole


def run_key(config: Mapping[str, Any], results_version: int | None = None) -> str:
    """Return ten hexadecimal digits of the SHA-256 of the identity and a results version.

    The version is this code's unless another is given.
    """
    (key,) = run_keys(config, [results_version or RESULTS_VERSION])
    return key


def run_keys(config: Mapping[str, Any], versions: Iterable[int]) -> list[str]:
    """Return the key in each of several results versions, most of which have the same settings."""
    absent = NEUTRAL | _as_before(config)
    settings: dict[frozenset[str], dict[str, Any]] = {}
    keys = []
    for version in versions:
        later = frozenset(path for path, first in BROUGHT_BY.items() if first > version)
        if later not in settings:
            settings[later] = _canonical(without(config, absent | later))
        whole = {"results": version, **settings[later]}
        text = json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        keys.append(hashlib.sha256(text.encode()).hexdigest()[:10])
    return keys


def run_name(config: Mapping[str, Any], choices: Mapping[str, str | None]) -> str:
    """Return the name of the run folder: model, data, architecture, seed, key."""
    words = [str(choices.get(group)).replace("/", "_") for group in ("model", "data", "arch")]
    return "-".join([*words, f"seed{config['seed']}", run_key(config)])


def complete(config: dict[str, Any], choices: dict[str, str]) -> None:
    """Add to the configuration and choices of a stored run what came later, at its former value.

    So a run of before and a run of today stand beside each other under the same settings.
    """
    for path, before in _ADDED_ABOVE.items():
        config.setdefault(path, copy(before))
    for group, choice in ADDED_CHOICES.items():
        choices.setdefault(group, choice)
    for group, added in _ADDED_INSIDE.items():
        own = config.get(group)
        if isinstance(own, dict) and isinstance(target := own.get("_target_"), str):
            for name, before in added.get(target, {}).items():
                own.setdefault(name, before)


def _as_before(config: Mapping[str, Any]) -> set[str]:
    """Return the added settings that have the value at which a run is what it was before."""
    return {path for path, before in ADDED.items() if _at(config, path) == before}


def _at(config: Mapping[str, Any], path: str) -> Any:
    """Return the setting at a dotted path, or Ellipsis where there is none."""
    value: Any = config
    for name in path.split("."):
        if not isinstance(value, Mapping) or name not in value:
            return ...
        value = value[name]
    return value


def _canonical(value: Any) -> Any:
    """Return a value as it stands in a key, in which 1.0 and 1 are one number."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        return FORMER_TARGETS.get(value, value)
    if isinstance(value, Mapping):
        return {str(name): _canonical(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(entry) for entry in value]
    return value

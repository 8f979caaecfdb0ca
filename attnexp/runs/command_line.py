"""The command line that repeats runs at other seeds."""

import itertools
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

OVERRIDES = Path(".hydra", "overrides.yaml")
"""Where Hydra has kept what was typed for a run."""

HYDRA = Path(".hydra", "hydra.yaml")
"""Where it has kept from which folders the configuration came."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

NOT_REPEATED = ("seed", "rerun")

FEW = 2
"""Configurations that get a command each where one sweep cannot say them."""

Overrides = dict[str, str]
"""What was typed: by `name=`, the value."""


def command(folders: Iterable[str], seeds: Sequence[int]) -> str | None:
    """What runs all of the folders' configurations, and nothing else, at the seeds.

    One sweep where one can say it, else one for each of a few configurations. None where what was
    typed for a run is not there to read, and where they are many that no sweep can say.
    """
    typed: list[tuple[str | None, Overrides]] = []
    for folder in folders:
        overrides = _typed(Path(folder))
        if overrides is None:
            return None
        known = (_config_dir(Path(folder)), overrides)
        if known not in typed:
            typed.append(known)
    together = _one_sweep(typed, seeds)
    if together is not None or len(typed) > FEW:
        return together
    return " && ".join(filter(None, (_one_sweep([each], seeds) for each in typed))) or None


def _one_sweep(typed: Sequence[tuple[str | None, Overrides]], seeds: Sequence[int]) -> str | None:
    config_dirs = {config_dir for config_dir, _ in typed}
    several = [overrides for _, overrides in typed]
    if len(config_dirs) != 1 or any(o.keys() != several[0].keys() for o in several):
        return None
    values = {name: list(dict.fromkeys(o[name] for o in several)) for name in several[0]}
    possible = itertools.product(*values.values())
    if sorted(possible) != sorted(tuple(overrides.values()) for overrides in several):
        return None
    words = [name + ",".join(texts) for name, texts in values.items()]
    config_dir = config_dirs.pop()
    own = ["--config-dir", config_dir] if config_dir else []
    return shlex.join(["attnexp", "-m", *own, *words, f"seed={seed_list(seeds)}"])


def seed_list(seeds: Sequence[int]) -> str:
    """Seeds as Hydra takes them: a list, or a range where they are many in a row."""
    first, last = min(seeds), max(seeds)
    if len(seeds) > 5 and last - first == len(seeds) - 1:
        return f"range({first},{last + 1})"
    return ",".join(str(seed) for seed in sorted(seeds))


def next_seeds(one: Iterable[int], other: Iterable[int], more: int) -> list[int]:
    """`more` seeds that would be new to both together: those that one side lacks come first."""
    one, other = set(one), set(other)
    lacking = sorted(one ^ other)
    top = max(one | other, default=-1) + 1
    return [*lacking, *range(top, top + more)][:more]


def _typed(folder: Path) -> Overrides | None:
    words = _read(folder / OVERRIDES)
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return None
    parts = (word.partition("=") for word in words)
    return {name + sign: value for name, sign, value in parts if name not in NOT_REPEATED}


def _config_dir(folder: Path) -> str | None:
    """The --config-dir of a run, where it had one."""
    content = _read(folder / HYDRA)
    try:
        sources = content["hydra"]["runtime"]["config_sources"]
        given = [source["path"] for source in sources if source["provider"] == "command-line"]
    except (KeyError, TypeError):
        return None
    return str(given[0]) if given else None


def _read(path: Path) -> Any:
    """The content of a YAML file, or None where it cannot be read."""
    try:
        return yaml.load(path.read_bytes(), Loader=_LOADER)
    except (OSError, yaml.YAMLError, UnicodeError, RecursionError):
        return None

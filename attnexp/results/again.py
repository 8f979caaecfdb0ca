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


def command(folders: Iterable[str], seeds: Sequence[int]) -> str | None:
    """One sweep that runs all of the folders' configurations, and nothing else, at the seeds.

    None where what was typed for a run is not there to read, or one sweep cannot say it.
    """
    typed, config_dirs = [], set()
    for folder in folders:
        overrides = _typed(Path(folder))
        if overrides is None:
            return None
        if overrides not in typed:
            typed.append(overrides)
            config_dirs.add(_config_dir(Path(folder)))
    if len(config_dirs) != 1 or any(overrides.keys() != typed[0].keys() for overrides in typed):
        return None
    values = {
        name: list(dict.fromkeys(overrides[name] for overrides in typed)) for name in typed[0]
    }
    possible = itertools.product(*values.values())
    if sorted(possible) != sorted(tuple(overrides.values()) for overrides in typed):
        return None
    words = [f"{name}={','.join(several)}" for name, several in values.items()]
    own = ["--config-dir", path] if (path := config_dirs.pop()) else []
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


def _typed(folder: Path) -> dict[str, str] | None:
    overrides = _read(folder / OVERRIDES)
    if not isinstance(overrides, list) or not all(isinstance(text, str) for text in overrides):
        return None
    pairs = (text.partition("=") for text in overrides)
    return {name: value for name, _, value in pairs if name not in NOT_REPEATED}


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

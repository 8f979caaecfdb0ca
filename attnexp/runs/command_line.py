"""The command lines that repeat runs, from what Hydra recorded in their folders."""

import itertools
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnexp.runs.documents import MOST_BYTES, parse_yaml
from attnexp.runs.files import UnreadableRunError, read_bytes

OVERRIDES = Path(".hydra", "overrides.yaml")
"""The file in which Hydra records what was typed for a run."""

HYDRA = Path(".hydra", "hydra.yaml")
"""The file in which it records from which folders the configuration came."""

NOT_REPEATED = ("seed", "rerun", "figures", "fail_fast")
"""Overrides that do not say what is run. `output_dir` does: new runs belong beside the old ones."""

MOST_LINES = 2
"""Configurations that get a command each where one sweep cannot say them."""


@dataclass(frozen=True)
class Typed:
    """What was typed for a run: its --config-dir, and the value of each override by `name=`."""

    config_dir: str | None
    overrides: tuple[tuple[str, str], ...]

    @classmethod
    def read(cls, folder: Path) -> "Typed | None":
        """Return what was typed for the run in a folder, or None where the folder does not say."""
        words = _read(folder / OVERRIDES)
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            return None
        parts = (word.partition("=") for word in words)
        kept = {name + sign: value for name, sign, value in parts if name not in NOT_REPEATED}
        return cls(_config_dir(folder), tuple(kept.items()))


def command(folders: Iterable[str | Path], seeds: Sequence[int]) -> str | None:
    """Return what runs all of the folders' configurations, and no others, at the seeds.

    That is one sweep where one can say it, else one for each of a few configurations. None where a
    folder does not hold what was typed, and where no sweep can say many configurations.
    """
    typed: list[Typed] = []
    for folder in folders:
        own = Typed.read(Path(folder))
        if own is None:
            return None
        if own not in typed:
            typed.append(own)
    together = _one_line(typed, seeds)
    if together is not None or len(typed) > MOST_LINES:
        return together
    return " && ".join(filter(None, (_one_line([each], seeds) for each in typed))) or None


def commands(folders: Iterable[tuple[Path, int]]) -> list[str]:
    """Return as few commands as repeat the runs in the folders, each given with its seed.

    A run whose folder does not hold what was typed for it has none.
    """
    seeds: dict[Typed, list[int]] = {}
    for folder, seed in folders:
        own = Typed.read(folder)
        if own is not None:
            seeds.setdefault(own, []).append(seed)
    return [line for typed, own in seeds.items() if (line := _one_line([typed], own)) is not None]


def seed_list(seeds: Sequence[int]) -> str:
    """Return seeds as Hydra takes them: a list, or a range where they are many in a row."""
    first, last = min(seeds), max(seeds)
    if len(seeds) > 5 and last - first == len(seeds) - 1:
        return f"range({first},{last + 1})"
    return ",".join(str(seed) for seed in sorted(seeds))


def next_seeds(one: Iterable[int], other: Iterable[int], more: int) -> list[int]:
    """Return `more` seeds that would be new to both together: those that one side lacks first."""
    one, other = set(one), set(other)
    lacking = sorted(one ^ other)
    top = max(one | other, default=-1) + 1
    return [*lacking, *range(top, top + more)][:more]


def _one_line(typed: Sequence[Typed], seeds: Sequence[int]) -> str | None:
    """Return one command for the product of what was typed, or None where it is not a product."""
    several = [dict(own.overrides) for own in typed]
    if len({own.config_dir for own in typed}) != 1 or any(
        own.keys() != several[0].keys() for own in several
    ):
        return None
    values = {name: list(dict.fromkeys(own[name] for own in several)) for name in several[0]}
    possible = itertools.product(*values.values())
    if sorted(possible) != sorted(tuple(own.values()) for own in several):
        return None
    words = [name + ",".join(texts) for name, texts in values.items()]
    many = len(seeds) > 1 or len(typed) > 1
    config_dir = typed[0].config_dir
    own_dir = ["--config-dir", config_dir] if config_dir else []
    sweep = ["-m"] if many else []
    return shlex.join(["attnexp", *sweep, *own_dir, *words, f"seed={seed_list(seeds)}"])


def _config_dir(folder: Path) -> str | None:
    """Return the --config-dir of a run, where it had one."""
    content = _read(folder / HYDRA, needed=b"command-line")
    try:
        sources = content["hydra"]["runtime"]["config_sources"]
        given = [source["path"] for source in sources if source["provider"] == "command-line"]
    except (KeyError, TypeError):
        return None
    return str(given[0]) if given else None


def _read(path: Path, needed: bytes = b"") -> Any:
    """Return the content of a YAML file, or None where it cannot be read or lacks a needed word.

    Parsing takes a hundred times as long as looking for a word.
    """
    try:
        content = read_bytes(path, MOST_BYTES)
        return parse_yaml(path, content) if needed in content else None
    except (OSError, UnreadableRunError):
        return None

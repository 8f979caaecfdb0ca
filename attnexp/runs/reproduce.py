"""The command lines that run configurations again."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from attnexp.runs.configurations import Configuration
from attnexp.runs.run import StoredRun

NOT_REPEATED = ("seed", "rerun", "output_dir", "figures", "fail_fast")
"""What was typed and does not say what is run."""


def commands(one: Configuration) -> list[str]:
    """As few commands as say what was typed for the runs of a configuration, seeds together.

    A run whose folder does not hold what was typed for it, in Hydra's own record, has none.
    """
    seeds: dict[tuple[str, ...], list[int]] = {}
    for run in one.runs:
        words = _typed(run)
        if words is not None:
            seeds.setdefault(tuple(words), []).append(run.seed)
    return [_command(words, found) for words, found in seeds.items()]


def _command(words: Sequence[str], seeds: Sequence[int]) -> str:
    sweep = ["-m"] if len(seeds) > 1 else []
    return shlex.join(["attnexp", *sweep, *words, f"seed={','.join(map(str, seeds))}"])


def _typed(run: StoredRun) -> list[str] | None:
    overrides = _read(run.folder / ".hydra" / "overrides.yaml")
    if not isinstance(overrides, list) or not all(isinstance(word, str) for word in overrides):
        return None
    kept = [word for word in overrides if word.partition("=")[0] not in NOT_REPEATED]
    return [*_config_dir(run), *kept]


def _config_dir(run: StoredRun) -> list[str]:
    """The user's own folder of configuration, where there was one."""
    content = _read(run.folder / ".hydra" / "hydra.yaml")
    try:
        sources = content["hydra"]["runtime"]["config_sources"]
        paths = [str(one["path"]) for one in sources if one["provider"] == "command-line"]
    except (KeyError, TypeError):
        return []
    return [word for path in paths for word in ("--config-dir", path)]


def _read(path: Path) -> Any:
    try:
        return yaml.safe_load(path.read_bytes())
    except (OSError, UnicodeError, yaml.YAMLError):
        return None

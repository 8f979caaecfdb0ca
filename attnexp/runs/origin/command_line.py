"""The command lines that repeat runs, from those that were typed for them."""

import math
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from attnexp.runs.summary import Summary

NOT_REPEATED = ("seed", "rerun", "figures", "fail_fast")
"""Overrides that the command for a repetition leaves out. `output_dir` stays in it."""

MOST_LINES = 2
"""The most configurations that get a command each, if one sweep cannot express them."""

MOST_IN_A_ROW = 5
"""The most consecutive seeds that are listed one by one. More are written as a range."""

MOST_LISTED = 10
"""The most seeds that are listed one by one if they are not one range."""


def own_words(config_dir: Path | str | None) -> list[str]:
    """Return the words `--config-dir DIR` for a folder of the user's, none without a folder."""
    return [] if config_dir is None else ["--config-dir", str(config_dir)]


@dataclass(frozen=True)
class RunLine:
    """What repeats a run: its --config-dir, and the value of each override by `name=`."""

    config_dir: str | None
    overrides: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, run: Summary) -> "RunLine | None":
        """Return the command line of a run, or None if its summary does not hold its overrides."""
        if run.overrides is None:
            return None
        parts = (word.partition("=") for word in run.overrides)
        repeated = {name + sign: value for name, sign, value in parts if name not in NOT_REPEATED}
        return cls(run.config_dir, tuple(repeated.items()))


def command(runs: Iterable[Summary], seeds: Sequence[int]) -> str | None:
    """Return the command that runs all configurations of these runs at the seeds.

    That is one sweep if one can express all configurations, else one command for each of a few
    configurations. Many seeds are split into parts with a command each.

    None if a summary does not hold its overrides, and if no sweep can express many configurations.
    """
    requests = list(dict.fromkeys(map(RunLine.of, runs)))
    known = [request for request in requests if request is not None]
    if len(known) < len(requests):
        return None
    groups = [known]
    if _one_line(known, seeds) is None:
        if len(known) > MOST_LINES:
            return None
        groups = [[each] for each in known]
    lines = (_one_line(group, part) for group in groups for part in seed_parts(seeds))
    return " && ".join(filter(None, lines)) or None


def seed_list(seeds: Sequence[int]) -> str:
    """Return seeds as Hydra takes them: a list, or a range if they are many in a row."""
    first, last = min(seeds), max(seeds)
    if len(seeds) > MOST_IN_A_ROW and last - first == len(seeds) - 1:
        return f"range({first},{last + 1})"
    return ",".join(str(seed) for seed in sorted(seeds))


def seed_parts(seeds: Sequence[int]) -> list[list[int]]:
    """Return seeds in parts, of which `seed_list` writes each briefly.

    More than MOST_IN_A_ROW consecutive seeds are a part of their own: Hydra takes one range or a
    list, and no list with ranges in it.
    """
    in_order = sorted(seeds)
    if len(in_order) <= MOST_LISTED:
        return [in_order]
    by_step = groupby(enumerate(in_order), lambda place: place[1] - place[0])
    rows = [[seed for _, seed in row] for _, row in by_step]
    single = [seed for row in rows if len(row) <= MOST_IN_A_ROW for seed in row]
    return [*([single] if single else []), *(row for row in rows if len(row) > MOST_IN_A_ROW)]


def next_seeds(several: Sequence[set[int]], more: int) -> list[int]:
    """Return `more` further seeds: those that only some rows have, then seeds new to all rows."""
    every: set[int] = set().union(*several)
    lacking = sorted(seed for seed in every if not all(seed in row for row in several))
    top = max(every) + 1
    return [*lacking, *range(top, top + more)][:more]


def _one_line(requests: Sequence[RunLine], seeds: Sequence[int]) -> str | None:
    """Return one command for these requests at the seeds, None if a sweep cannot express them.

    A sweep runs the product of the values of its overrides, so the requests must be one.
    """
    several = [dict(each.overrides) for each in requests]
    if len({each.config_dir for each in requests}) != 1 or any(
        each.keys() != several[0].keys() for each in several
    ):
        return None
    values = {name: list(dict.fromkeys(each[name] for each in several)) for name in several[0]}
    combinations = {tuple(each[name] for name in values) for each in several}
    if len(combinations) < math.prod(map(len, values.values())):
        return None
    words = [name + ",".join(texts) for name, texts in values.items()]
    many = len(seeds) > 1 or len(requests) > 1
    given = own_words(requests[0].config_dir)
    sweep = ["-m"] if many else []
    return shlex.join(["attnexp", *sweep, *given, *words, f"seed={seed_list(seeds)}"])

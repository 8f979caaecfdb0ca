"""Rows whose seeds fall into those that learned and those that did not, which are two results."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from attnexp.console import number_text
from attnexp.tables.entries import Entry, ResultsTable
from attnexp.tables.significance import LEVEL, seed_means
from attnexp.tables.statistics import RANGES, SHARE

SOLVED = 1.0
"""The share of right answers of a task that is solved."""

NEAR = 1 / 3
"""The part of the way from chance to solved that still counts as one of them."""


@dataclass(frozen=True)
class Modes:
    """The values of the seeds that learned, and of those that did not."""

    learned: Sequence[float]
    failed: Sequence[float]

    @property
    def n(self) -> int:
        """The number of seeds."""
        return len(self.learned) + len(self.failed)

    @property
    def are_two(self) -> bool:
        """Whether there are seeds of both kinds."""
        return bool(self.learned and self.failed)

    def __str__(self) -> str:
        return f"{len(self.learned)} of {self.n}"


def modes_of(entry: Entry) -> Modes | None:
    """Return the seeds of a row that learned, and those that did not.

    A seed has learned if its share is nearer to 1 than to chance. None where that means nothing:
    for another unit than a share, where less is better, and where a seed is in the middle
    third between chance and 1, so that there are no two modes.
    """
    unit = entry.row.runs.units.get(entry.metric or "", "")
    if RANGES.get(unit) != SHARE or entry.better != "higher" or not entry.values:
        return None
    chance = min(entry.companions.get("chance", 0.0), SOLVED)
    margin = NEAR * (SOLVED - chance)
    values = sorted(seed_means(entry.values))
    learned = [value for value in values if value >= SOLVED - margin]
    failed = [value for value in values if value <= chance + margin]
    return Modes(learned, failed) if len(learned) + len(failed) == len(values) else None


def fisher_p(learned: int, n: int, other_learned: int, other_n: int) -> float:
    """Return the two-sided p-value of Fisher's exact test that two shares of seeds are the same."""
    total = learned + other_learned
    ways = [
        math.comb(n, k) * math.comb(other_n, total - k)
        for k in range(max(0, total - other_n), min(n, total) + 1)
    ]
    seen = ways[learned - max(0, total - other_n)]
    return sum(way for way in ways if way <= seen) / sum(ways)


def most_failing(n: int) -> float:
    """Return the largest share of failing seeds that n seeds without a failure leave possible."""
    return 1 - LEVEL ** (1 / n)


def mode_notes(table: ResultsTable, name: dict[int, str]) -> Iterator[str]:
    """Yield a sentence for each panel in which seeds of a row failed to learn."""
    for panel in table.panels:
        found = [(entry, modes) for entry in panel if (modes := modes_of(entry)) is not None]
        if not any(modes.are_two for _, modes in found):
            continue
        _, best = max(found, key=lambda one: (len(one[1].learned) / one[1].n, one[1].n))
        parts = []
        for entry, modes in found:
            part = f"{name[id(entry)]} {modes}"
            if modes.are_two:
                part += f" ({number_text(fmean(modes.learned))} where it did)"
            if modes is not best:
                p = fisher_p(len(modes.learned), modes.n, len(best.learned), best.n)
                part += f", p = {number_text(p)}"
            elif not modes.failed:
                part += f" (up to {most_failing(modes.n):.0%} may fail)"
            parts.append(part)
        yield (
            f"seeds that learned, by {panel[0].metric}: {'; '.join(parts)}. p is of Fisher's exact "
            "test against the first share; a mean over both kinds describes no run"
        )

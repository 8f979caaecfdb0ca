"""Seeds that learned and seeds that did not, counted apart."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from attnexp.core.console import number_text
from attnexp.select.sample import Sample
from attnexp.stats.exact import fisher, most_failing
from attnexp.stats.scaled import mean
from attnexp.tables.entries import ResultsTable, TableEntry

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

    def p_against(self, other: "Modes") -> float:
        """Return p of Fisher's exact test that seeds of both learn equally often."""
        return fisher(len(self.learned), self.n, len(other.learned), other.n)


def modes_of(sample: Sample | None) -> Modes | None:
    """Return the seeds of a row that learned, and those that did not.

    A seed has learned if it is in the last third of the way from chance to solved, and has not if
    it is in the first. Solved is the better end of the range of the metric's unit: 1 for shares, 0
    for errors. Chance is what the metric declares: guessed answers, or the mean of the targets.
    None if a seed is in between, so that there are no two modes, and for a metric without
    either.
    """
    if sample is None or sample.better is None:
        return None
    solved = sample.best
    chance = sample.companions.get("chance", 0.0 if sample.better == "higher" else None)
    if chance is None or chance == solved or not math.isfinite(solved):
        return None
    values = sorted(sample.means)
    way = {value: (value - chance) / (solved - chance) for value in values}
    learned = [value for value in values if way[value] >= 1 - NEAR]
    failed = [value for value in values if way[value] <= NEAR]
    return Modes(learned, failed) if len(learned) + len(failed) == len(values) > 0 else None


def mode_notes(table: ResultsTable, name: Mapping[int, str]) -> Iterator[str]:
    """Yield how many seeds learned, for each panel in which some did and some did not.

    `name` has the name of each entry by its id.
    """
    for panel, found in _learned(table):
        if not any(modes.are_two for _, modes in found):
            continue
        _, best = max(found, key=lambda one: (len(one[1].learned) / one[1].n, one[1].n))
        parts = []
        for entry, modes in found:
            part = f"{name[id(entry)]} {modes}"
            if modes.are_two:
                part += f" ({number_text(mean(modes.learned))} where it did)"
            if modes is not best:
                part += f", p = {number_text(modes.p_against(best))}"
            elif not modes.failed:
                part = f"{name[id(entry)]} {_possible(modes)}"
            parts.append(part)
        yield (
            f"seeds that learned, by {panel[0].metric}: {'; '.join(parts)}. p is of Fisher's exact "
            "test against the first share; a mean over both kinds describes no run"
        )


def unfailed_notes(table: ResultsTable, name: Mapping[int, str]) -> Iterator[str]:
    """Yield how many seeds learned in the other panels in which some did, in one line."""
    others = [
        f"{name[id(entry)]} {_possible(modes)}"
        for _, found in _learned(table)
        if not any(modes.are_two for _, modes in found)
        for entry, modes in found
    ]
    if others:
        yield (
            f"seeds that learned, by {table.metrics[0]}: {'; '.join(others)}. Intervals and "
            "verdicts hold if no seed fails"
        )


def _learned(
    table: ResultsTable,
) -> Iterator[tuple[Sequence[TableEntry], Sequence[tuple[TableEntry, Modes]]]]:
    """Yield each panel in which some seed learned, with the modes of its rows that have them."""
    for panel in table.panels:
        found = [(entry, modes) for entry in panel if (modes := modes_of(entry.sample)) is not None]
        if any(modes.learned for _, modes in found):
            yield panel, found


def _possible(modes: Modes) -> str:
    """Return how many seeds learned, with the upper bound of the failure rate."""
    if modes.failed:
        return str(modes)
    return f"{modes} (up to {most_failing(modes.n):.0%} may fail)"

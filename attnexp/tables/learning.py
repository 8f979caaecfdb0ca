"""Notes on the numbers of seeds that learned and that failed."""

from collections.abc import Iterator, Mapping, Sequence

from attnexp.core.console import number_text
from attnexp.select.judge import Modes, modes_of
from attnexp.stats.exact import most_failing
from attnexp.stats.scaled import mean
from attnexp.tables.entries import ResultsTable, TableEntry


def mode_notes(table: ResultsTable, name: Mapping[int, str]) -> Iterator[str]:
    """Yield how many seeds learned, for each panel in which some learned and some failed.

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
            f"seeds that learned, by {panel[0].title}: {'; '.join(parts)}. p is of Fisher's exact "
            "test against the first share; a mean over both kinds describes no run"
        )


def unfailed_notes(table: ResultsTable, name: Mapping[int, str]) -> Iterator[str]:
    """Yield one line on how many seeds learned in the panels without failed seeds."""
    others = [
        f"{name[id(entry)]} {_possible(modes)}"
        for _, found in _learned(table)
        if not any(modes.are_two for _, modes in found)
        for entry, modes in found
    ]
    if others:
        yield (
            f"seeds that learned, by {table.firsts[0].title}: {'; '.join(others)}. Intervals and "
            "verdicts hold if no seed fails"
        )


def _learned(
    table: ResultsTable,
) -> Iterator[tuple[Sequence[TableEntry], Sequence[tuple[TableEntry, Modes]]]]:
    """Yield each panel in which some seed learned, with its rows that have modes."""
    for panel in table.panels:
        found = [(entry, modes) for entry in panel if (modes := modes_of(entry.sample)) is not None]
        if any(modes.learned for _, modes in found):
            yield panel, found


def _possible(modes: Modes) -> str:
    """Return how many seeds learned, with the upper bound of the failure rate if none failed."""
    if modes.failed:
        return str(modes)
    return f"{modes} (up to {most_failing(modes.n):.0%} may fail)"

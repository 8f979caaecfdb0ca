"""Notes on the numbers of seeds that learned and that failed."""

from collections.abc import Iterator, Mapping, Sequence

from attnexp.core.console import number_text
from attnexp.core.language import Phrase, Text, joined, said
from attnexp.select.judge import Modes, modes_of
from attnexp.stats.exact import most_failing
from attnexp.stats.scaled import mean
from attnexp.tables.entries import ResultsTable, TableEntry


def mode_notes(table: ResultsTable, name: Mapping[int, Phrase]) -> Iterator[Text]:
    """Yield how many seeds learned, for each panel in which some learned and some failed.

    `name` has the name of each entry by its id.
    """
    for panel, found in _learned(table):
        if not any(modes.are_two for _, modes in found):
            continue
        _, best = max(found, key=lambda one: (len(one[1].learned) / one[1].n, one[1].n))
        parts = []
        for entry, modes in found:
            learned = _possible(modes) if modes is best else _share(modes)
            if modes.are_two:
                value = number_text(mean(modes.learned))
                learned = said("{learned} ({value} where it did)", learned=learned, value=value)
            own = joined(" ", [name[id(entry)], learned])
            p = [] if modes is best else [f"p = {number_text(modes.p_against(best))}"]
            parts.append(joined(said(", "), [own, *p]))
        yield said(
            "seeds that learned, by {metric}: {rows}. p is of Fisher's exact "
            "test against the first share; a mean over both kinds describes no run",
            metric=panel[0].title,
            rows=joined(said("; "), parts),
        )


def unfailed_notes(table: ResultsTable, name: Mapping[int, Phrase]) -> Iterator[Text]:
    """Yield one line on how many seeds learned in the panels without failed seeds."""
    others = [
        joined(" ", [name[id(entry)], _possible(modes)])
        for _, found in _learned(table)
        if not any(modes.are_two for _, modes in found)
        for entry, modes in found
    ]
    if others:
        yield said(
            "seeds that learned, by {metric}: {rows}. Intervals and verdicts hold if no seed fails",
            metric=table.firsts[0].title,
            rows=joined(said("; "), others),
        )


def _learned(
    table: ResultsTable,
) -> Iterator[tuple[Sequence[TableEntry], Sequence[tuple[TableEntry, Modes]]]]:
    """Yield each panel in which some seed learned, with its rows that have modes."""
    for panel in table.panels:
        found = [(entry, modes) for entry in panel if (modes := modes_of(entry.sample)) is not None]
        if any(modes.learned for _, modes in found):
            yield panel, found


def _share(modes: Modes) -> Text:
    """Return how many seeds learned, as in `5 of 6`."""
    return said("{place} of {count}", place=len(modes.learned), count=modes.n)


def _possible(modes: Modes) -> Text:
    """Return how many seeds learned, with the upper bound of the failure rate if none failed."""
    if modes.failed:
        return _share(modes)
    most = f"{most_failing(modes.n):.0%}"
    return said("{learned} (up to {share} may fail)", learned=_share(modes), share=most)

"""Advice next to a table: seeds that failed to learn, and what to run next to tell rows apart."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from attnexp.console import number_text, setting_text
from attnexp.runs.origin import command_line
from attnexp.select.names import short_names
from attnexp.tables.entries import Entry, ResultsTable, is_share, paired_test
from attnexp.tables.significance import least_seeds, seed_means
from attnexp.tables.statistics import two_groups

SHOWN = 3
"""The number of ties that get a command."""

MANY = 100
"""The most configurations of one command."""

LISTED = 4
"""The most values that are listed; of more, the smallest and the largest are given."""

Standings = dict[str | None, list[Entry]]
"""The rows by their standing."""


def split_rows(table: ResultsTable) -> Iterator[str]:
    """Yield a sentence per row and share whose seeds fall into two groups.

    A mean does not show that some seeds learn and others do not.
    """
    for entry in (entry for entries in table.entries for entry in entries):
        if entry.metric and entry.better and is_share(table.frame, entry.metric):
            groups = two_groups(seed_means(entry.values))
            if groups:
                behind, ahead = groups if entry.better == "higher" else groups[::-1]
                yield (
                    f"{len(behind)} of {entry.spread.n} seeds of {name(table, entry)} stayed "
                    f"behind in {entry.metric}: {_listed(behind)} against {_listed(ahead)}. How "
                    "many seeds learn says more than the mean"
                )


def advice(table: ResultsTable) -> Iterator[str]:
    """Yield sentences about rows that a table cannot tell apart."""
    standings: Standings = {}
    for entry in table.firsts:
        standings.setdefault(entry.verdict.standing, []).append(entry)
    alone = standings.get("one seed", [])
    if alone and not table.seeded:
        seeds = sorted({seed for entry in alone for seed in entry.values})
        most = max(Counter(entry.row.panel for entry in alone).values())
        least = least_seeds(max(2, most), paired_test(table.frame, table.metrics[0]))
        wanted = command_line.next_seeds(seeds, seeds, least - 1)
        yield (
            "one seed per row: there is no interval, and nothing can be tested; a comparison takes "
            f"at least {least}" + _command(table, alone, wanted)
        )
        return
    if alone:
        yield (
            f"{len(alone)} of {len(table.entries)} rows have one seed: they have no interval and "
            f"are not compared, {name(table, alone[0])} for one"
        )
    yield from _too_few(table, standings)
    yield from _ties(table, standings)


def name(table: ResultsTable, entry: Entry) -> str:
    """Return the name of a row in a sentence: the labels in which rows differ."""
    short = short_names(table.by)
    labels = entry.row.labels
    telling = [
        label
        for label in table.by
        if labels[label] is not None
        and len({str(other.row.labels[label]) for other in table.firsts}) > 1
    ]
    return " ".join(
        str(labels[label])
        if label in table.frame.choices
        else f"{short[label]}={setting_text(labels[label])}"
        for label in telling or table.by[:1]
    )


def _too_few(table: ResultsTable, standings: Standings) -> Iterator[str]:
    """Yield how many seeds are missing where no result could have told the rows apart."""
    lacking: dict[tuple[Any, ...], list[Entry]] = {}
    for entry in standings.get("too few seeds", []):
        if entry.verdict.test and entry.verdict.more:
            pairs, least = len(entry.verdict.test.differences), entry.verdict.more[0]
            lacking.setdefault((entry.row.panel, pairs, least), []).append(entry)
    for (_, pairs, least), entries in lacking.items():
        together = [_best(standings, entries[0]), *entries]
        taken = [set(entry.values) for entry in together]
        seeds = command_line.next_seeds(set().union(*taken), set.intersection(*taken), least)
        yield (
            f"{pairs} seeds cannot tell {len(together)} rows apart, whatever they measure: it "
            f"takes at least {pairs + least}" + _command(table, together, seeds)
        )


def _ties(table: ResultsTable, standings: Standings) -> Iterator[str]:
    """Yield how many seeds may decide the closest ties, and the number of the other ties."""
    tied = standings.get("tied", [])
    wanting = [(entry.verdict.more, entry) for entry in tied]
    close = sorted(((more, entry) for more, entry in wanting if more), key=lambda one: one[0])
    for (fewest, most), entry in close[:SHOWN]:
        best = _best(standings, entry)
        seeds = command_line.next_seeds(entry.values, best.values, fewest)
        number = fewest if fewest == most else f"{fewest} to {most}"
        pairs = entry.verdict.pairs
        common = f"{pairs} common seeds" if pairs else "seeds that they do not share"
        yield (
            f"{name(table, best)} and {name(table, entry)} cannot be told apart by {common}. "
            f"{number} more may tell, an order of magnitude from the interval of the difference"
            + _command(table, [best, entry], seeds)
        )
    if len(close) > SHOWN:
        rest = len(close) - SHOWN
        yield f"{rest} more {'row is' if rest == 1 else 'rows are'} tied with the best"
    if others := len(tied) - len(close):
        yield (
            f"{others} tied {'row is' if others == 1 else 'rows are'} so close to the best that no "
            "number of seeds can be named"
        )


def _best(standings: Standings, entry: Entry) -> Entry:
    """Return the best row of those that an entry is compared with."""
    return next(best for best in standings["best"] if best.row.panel == entry.row.panel)


def _command(table: ResultsTable, entries: Sequence[Entry], seeds: list[int]) -> str:
    """Return the command that runs the rows at the seeds, after a colon, if there is one."""
    one_each = {
        (n, settings): run.path
        for n, frame in enumerate(entry.row.runs for entry in entries)
        for settings, run in zip(frame.codes(table.within).tolist(), frame.runs, strict=True)
    }
    line = command_line.command(one_each.values(), seeds) if len(one_each) <= MANY else None
    return f": {line}" if line else ""


def _listed(values: Sequence[float]) -> str:
    if len(values) > LISTED:
        return f"{number_text(values[0])} to {number_text(values[-1])}"
    return ", ".join(map(number_text, values))

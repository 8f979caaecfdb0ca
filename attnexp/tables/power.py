"""Advice on what to run next: how many more seeds would tell rows apart, and the command."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from attnexp.console import setting_text
from attnexp.runs import command_line
from attnexp.runs.names import short_names
from attnexp.tables.comparison import Entry, Part, paired_test
from attnexp.tables.significance import least_seeds

SHOWN = 3
"""The number of comparisons that get a command."""

MANY = 100
"""The most configurations of one command."""

Standings = dict[str | None, list[Entry]]
"""The rows by their standing."""


def advice(part: Part) -> Iterator[str]:
    """Return sentences about rows that one table cannot tell apart."""
    standing: Standings = {}
    for entry in part.firsts:
        standing.setdefault(entry.standing, []).append(entry)
    alone = standing.get("one seed", [])
    if alone and not part.seeded:
        seeds = sorted({seed for entry in alone for seed in entry.values})
        most = max(Counter(entry.row.panel for entry in alone).values())
        least = least_seeds(max(2, most), paired_test(part.frame, part.metrics[0]))
        wanted = command_line.next_seeds(seeds, seeds, least - 1)
        yield (
            "one seed a row: there is no interval, and nothing can be tested; a comparison takes "
            f"at least {least}" + _how(part, alone, wanted)
        )
        return
    if alone:
        yield (
            f"{len(alone)} of {len(part.entries)} rows have one seed: they have no interval and "
            f"are not compared, {name(part, alone[0])} for one"
        )
    yield from _too_few(part, standing)
    yield from _ties(part, standing)


def name(part: Part, entry: Entry) -> str:
    """Return what a row is called in a sentence: the labels in which rows differ."""
    short = short_names(part.by)
    telling = [
        label
        for label in part.by
        if len({str(other.row.labels[label]) for other in part.firsts}) > 1
        and entry.row.labels[label] is not None
    ]
    words = [
        str(entry.row.labels[label])
        if label in part.frame.choices
        else f"{short[label]}={setting_text(entry.row.labels[label])}"
        for label in telling or part.by[:1]
    ]
    return " ".join(words)


def _too_few(part: Part, standing: Standings) -> Iterator[str]:
    """Return what no result at so few seeds could have shown, by what the rows lack."""
    lacking: dict[tuple[Any, ...], list[Entry]] = {}
    for entry in standing.get("too few seeds", []):
        if entry.verdict and entry.verdict.test and entry.verdict.more:
            pairs, least = len(entry.verdict.test.differences), entry.verdict.more[0]
            lacking.setdefault((entry.row.panel, pairs, least), []).append(entry)
    for (_, pairs, least), entries in lacking.items():
        together = [_best(standing, entries[0]), *entries]
        seeds = command_line.next_seeds(
            {seed for entry in together for seed in entry.values},
            set.intersection(*(set(entry.values) for entry in together)),
            least,
        )
        yield (
            f"{pairs} seeds cannot tell {len(together)} rows apart, whatever they measure: it "
            f"takes at least {pairs + least}" + _how(part, together, seeds)
        )


def _ties(part: Part, standing: Standings) -> Iterator[str]:
    """Return what would decide the nearest ties, and how many there are besides."""
    tied = standing.get("tied", [])
    wanting = [(verdict.more, entry) for entry in tied if (verdict := entry.verdict)]
    near = sorted(((more, entry) for more, entry in wanting if more), key=lambda one: one[0])
    for (fewest, most), entry in near[:SHOWN]:
        best = _best(standing, entry)
        seeds = command_line.next_seeds(entry.values, best.values, fewest)
        number = fewest if fewest == most else f"{fewest} to {most}"
        yield (
            f"{name(part, best)} and {name(part, entry)} cannot be told apart by {_seeds(entry)}. "
            f"{number} more may tell, an order of magnitude from the interval of the difference"
            + _how(part, [best, entry], seeds)
        )
    if len(near) > SHOWN:
        rest = len(near) - SHOWN
        yield f"{rest} more {'row is' if rest == 1 else 'rows are'} tied with the best"
    far = len(tied) - len(near)
    if far:
        yield (
            f"{far} tied {'row is' if far == 1 else 'rows are'} so close to the best that no "
            "number of seeds can be named"
        )


def _seeds(entry: Entry) -> str:
    pairs = entry.verdict.test.pairs if entry.verdict and entry.verdict.test else 0
    return f"{pairs} common seeds" if pairs else "seeds that they do not share"


def _best(standing: Standings, entry: Entry) -> Entry:
    """Return the best row of those that an entry is compared with."""
    return next(best for best in standing["best"] if best.row.panel == entry.row.panel)


def _how(part: Part, entries: list[Entry], seeds: list[int]) -> str:
    """Return the command that runs the rows at the seeds, after a colon, where there is one."""
    folders = [part.frame.paths[row] for row in part.frame.rows]
    one_each = {
        (n, int(part.gathered.settings[i])): folders[i]
        for n, entry in enumerate(entries)
        for i in entry.row.index
    }
    line = command_line.command(one_each.values(), seeds) if len(one_each) <= MANY else None
    return f": {line}" if line else ""

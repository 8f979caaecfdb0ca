"""Advice on what to run next: how many more seeds would tell rows apart, and the command."""

from collections.abc import Iterator

from attnexp.console import setting_text
from attnexp.runs import command_line
from attnexp.runs.names import short_names
from attnexp.tables.groups import Entry, Part
from attnexp.tables.statistics import MOST_SEEDS, POWER

SHOWN = 3
"""The number of comparisons that get a command."""

MANY = 100
"""The most configurations of one command."""

START = 5
"""The number of seeds that is recommended where there is one."""


def advice(part: Part) -> Iterator[str]:
    """Return sentences about rows that one table cannot tell apart."""
    standing: dict[str | None, list[Entry]] = {}
    for entry in part.firsts:
        standing.setdefault(entry.standing, []).append(entry)
    alone, tied = standing.get("one seed", []), standing.get("tied", [])
    if alone and not part.seeded:
        seeds = sorted({seed for entry in alone for seed in entry.values})
        wanted = command_line.next_seeds(seeds, seeds, START - 1)
        yield (
            "one seed a row: there is no interval, and nothing can be tested"
            + _how(part, alone, wanted)
        )
        return
    if alone:
        yield (
            f"{len(alone)} of {len(part.entries)} rows have one seed: they have no interval and "
            f"are not compared, {name(part, alone[0])} for one"
        )
    wanting = [(verdict.more, entry) for entry in tied if (verdict := entry.verdict)]
    near = sorted(((more, entry) for more, entry in wanting if more), key=lambda one: one[0])
    for more, entry in near[:SHOWN]:
        best = next(b for b in standing["best"] if b.row.panel == entry.row.panel)
        seeds = command_line.next_seeds(entry.values, best.values, more)
        yield (
            f"{name(part, best)} and {name(part, entry)} cannot be told apart by "
            f"{_seeds(entry)}. If they differ as much as it looks, about {more} more would "
            f"tell, with a chance of {100 * POWER:.0f}%" + _how(part, [best, entry], seeds)
        )
    if len(near) > SHOWN:
        rest = len(near) - SHOWN
        yield f"{rest} more {'row is' if rest == 1 else 'rows are'} tied with the best"
    far = len(tied) - len(near)
    if far:
        yield (
            f"{far} tied {'row is' if far == 1 else 'rows are'} so close to the best that "
            f"{MOST_SEEDS} seeds would not tell"
        )


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


def _seeds(entry: Entry) -> str:
    pairs = entry.verdict.test.pairs if entry.verdict and entry.verdict.test else 0
    return f"{pairs} common seeds" if pairs else "seeds that they do not share"


def _how(part: Part, entries: list[Entry], seeds: list[int]) -> str:
    """Return the command that runs the rows at the seeds, after a colon, where there is one."""
    folders = part.frame.column("folder")
    one_each = {
        (n, int(part.gathered.settings[i])): folders[i]
        for n, entry in enumerate(entries)
        for i in entry.row.index
    }
    line = command_line.command(one_each.values(), seeds) if len(one_each) <= MANY else None
    return f": {line}" if line else ""

"""What to run next: how many more seeds would tell two rows apart, and the command."""

from collections.abc import Iterator

from attnexp.console import setting_text
from attnexp.runs import command_line
from attnexp.runs.names import short_names
from attnexp.tables.groups import Entry, Part
from attnexp.tables.statistics import MOST_SEEDS, POWER

SHOWN = 3
"""How many comparisons get a command."""

MANY = 100
"""More configurations than this do not go into one command."""

START = 5
"""Seeds that are worth starting with where there is one."""


def advice(part: Part) -> Iterator[str]:
    """Sentences about rows that one table cannot tell apart."""
    if not part.metrics:
        return
    metric = part.metrics[0]
    standing = {
        name: [
            e for e in part.entries if metric in e.verdicts and e.verdicts[metric].standing == name
        ]
        for name in ("best", "tied", "one seed")
    }
    if not part.seeded and standing["one seed"]:
        alone = standing["one seed"]
        seeds = sorted({seed for entry in alone for seed in entry.values[metric]})
        wanted = command_line.next_seeds(seeds, seeds, START - 1)
        yield (
            "one seed a row: there is no interval, and nothing can be tested"
            + _how(part, alone, wanted)
        )
        return
    for entry in standing["one seed"][:1]:
        yield (
            f"{len(standing['one seed'])} of {len(part.entries)} rows have one seed: they have no "
            f"interval and are not compared, {name(part, entry)} for one"
        )
    near = sorted(
        (entry for entry in standing["tied"] if entry.verdicts[metric].more is not None),
        key=lambda entry: entry.verdicts[metric].more or 0,
    )
    for entry in near[:SHOWN]:
        best = next(b for b in standing["best"] if b.row.panel == entry.row.panel)
        more = entry.verdicts[metric].more or 0
        seeds = command_line.next_seeds(entry.values[metric], best.values[metric], more)
        yield (
            f"{name(part, best)} and {name(part, entry)} cannot be told apart by "
            f"{_seeds(part, entry)}. If they differ as much as it looks, about {more} more would "
            f"tell, with a chance of {100 * POWER:.0f}%" + _how(part, [best, entry], seeds)
        )
    if len(near) > SHOWN:
        rest = len(near) - SHOWN
        yield f"{rest} more {'row is' if rest == 1 else 'rows are'} tied with the best"
    far = len(standing["tied"]) - len(near)
    if far:
        yield (
            f"{far} tied {'row is' if far == 1 else 'rows are'} so close to the best that "
            f"{MOST_SEEDS} seeds would not tell"
        )


def name(part: Part, entry: Entry) -> str:
    """What a row is called in a sentence: the labels in which rows differ."""
    short = short_names(part.by)
    telling = [
        label
        for label in part.by
        if len({str(other.row.labels[label]) for other in part.entries}) > 1
        and entry.row.labels[label] is not None
    ]
    words = [
        str(entry.row.labels[label])
        if label in part.frame.choices
        else f"{short[label]}={setting_text(entry.row.labels[label])}"
        for label in telling or part.by[:1]
    ]
    return " ".join(words)


def _seeds(part: Part, entry: Entry) -> str:
    test = entry.verdicts[part.metrics[0]].test
    pairs = test.pairs if test else 0
    return f"{pairs} common seeds" if pairs else "seeds that they do not share"


def _how(part: Part, entries: list[Entry], seeds: list[int]) -> str:
    """The command that runs the rows at the seeds, after a colon; nothing where there is none."""
    folders = part.frame.column("folder")
    one_each = {
        (n, int(part.gathered.settings[i])): folders[i]
        for n, entry in enumerate(entries)
        for i in entry.row.index
    }
    line = command_line.command(one_each.values(), seeds) if len(one_each) <= MANY else None
    return f": {line}" if line else ""

"""Advice next to tables: the seeds that verdicts lack, and the limits of more seeds."""

from collections.abc import Iterator, Sequence

from attnexp.core.console import number_text
from attnexp.runs.origin.command_line import command, next_seeds
from attnexp.select.sample import SEEDS
from attnexp.stats.compare import Rule
from attnexp.stats.power import seeds_needed
from attnexp.tables.entries import Entry, Request, ResultsTable
from attnexp.tables.grid import count_text, listed
from attnexp.tables.sentences import row_name

NEGLIGIBLE = 0.001
"""The part of a row's standard deviation below which a difference is worth no more seeds."""

LEADING = ("best", "alone")
"""The words of a row that others are compared with, or would be if they had the seeds."""

Panel = tuple[ResultsTable, Sequence[Entry]]
"""A table and rows of it that are compared with each other."""


def advice(tables: Sequence[ResultsTable], request: Request) -> Iterator[str]:
    """Yield sentences about splits and about rows without a verdict, each for all tables."""
    panels = [(table, rows) for table in tables for panel in table.panels if (rows := _able(panel))]
    fixed = [table for table, rows in panels if table.only_data and len(rows) > 1]
    for only in dict.fromkeys(table.only_data for table in fixed):
        yield (
            f"{_of([table for table in fixed if table.only_data == only], tables)}more seeds say "
            f"nothing about other data: {only} is one data set, and several values of data_seed, "
            "or none, draw others"
        )
    drawn = [(table, rows) for table, rows in panels if not table.only_data]
    split = [table for table, rows in drawn if _overlap(rows)]
    if split:
        yield (
            f"{_of(split, tables)}intervals and verdicts are over splits of this file: more splits "
            "make them narrower only down to a floor that n_test / n_train sets (Nadeau and Bengio "
            "2003)"
        )
    compared = [(table, rows) for table, rows in drawn if len(rows) > 1 and not _overlap(rows)]
    rule = Rule("lower", request.equal_within, request.looks)
    yield from _few_seeds(compared, rule)
    yield from _closest_tie(compared, rule, several=len(tables) > 1)


def _able(panel: Sequence[Entry]) -> list[Entry]:
    """Return the rows that have a value of a metric that ranks."""
    return [entry for entry in panel if entry.seeds and entry.better]


def _overlap(rows: Sequence[Entry]) -> bool:
    return any(entry.overlap for entry in rows)


def _of(chosen: Sequence[ResultsTable], tables: Sequence[ResultsTable]) -> str:
    """Return the data of the chosen tables, and a colon, if there are other tables."""
    names = dict.fromkeys(table.data_name for table in chosen if table.data)
    others = any(table.data_name not in names for table in tables)
    return f"{listed(names)}: " if names and others else ""


def _few_seeds(compared: Sequence[Panel], rule: Rule) -> Iterator[str]:
    """Yield how many rows have too few seeds for a verdict, and the command that adds them."""
    for unit in dict.fromkeys(table.unit for table, _ in compared):
        number, rows = 0, list[Entry]()
        for panel in (panel for table, panel in compared if table.unit == unit):
            few = sum(_lacks_seeds(entry, rule) for entry in panel)
            number += few
            rows += [
                entry
                for entry in panel
                if few and (entry.standing.word in LEADING or _lacks_seeds(entry, rule))
            ]
        if number:
            how = _to_share(rows, rule.least) if unit is SEEDS else ": add values of data_seed"
            yield (
                f"{count_text(number, 'row')} {'lacks' if number == 1 else 'lack'} a verdict, "
                f"which takes at least {rule.least} {unit.many} that a row shares with the best "
                f"one{how}"
            )


def _lacks_seeds(entry: Entry, rule: Rule) -> bool:
    """Return whether a row of a comparison has no verdict for lack of seeds."""
    found = entry.standing.difference
    return entry.standing.word not in LEADING if found is None else found.pairs < rule.least


def _closest_tie(compared: Sequence[Panel], rule: Rule, several: bool) -> Iterator[str]:
    """Yield how many seeds the tie takes that takes the fewest, with its data if others exist."""
    tied = [
        (needed, table, next(row for row in rows if row.standing.word == "best"), entry)
        for table, rows in compared
        for entry in rows
        if entry.standing.word == "tied"
        and entry.standing.difference
        and abs(entry.standing.difference.mean) > NEGLIGIBLE * (entry.spread.sd or 0.0)
        and (needed := seeds_needed(entry.standing.difference, rule)) is not None
    ]
    if not tied:
        return
    needed, table, best, entry = min(tied, key=lambda one: one[0])
    assert entry.standing.difference is not None
    size = number_text(abs(entry.standing.difference.mean))
    of = f"{table.data_name}: " if several and table.data else ""
    yield (
        f"{of}{row_name(table, best)} and {row_name(table, entry)} are not told apart; about "
        f"{needed} {table.unit.many} would detect a difference of this size ({size}) with 80% "
        f"power{_to_share([best, entry], needed) if table.unit is SEEDS else ''}"
    )


def _to_share(rows: Sequence[Entry], number: int) -> str:
    """Return the command after which the rows share that many seeds, after a colon.

    It leaves out the rows that have all seeds of the command.
    """
    own = [entry.seeds for entry in rows]
    seeds = next_seeds(own, number - len(set.intersection(*own)))
    runs = [run for entry in rows if set(seeds) - entry.seeds for run in entry.row.runs.runs]
    # of runs with the same settings, which may have been typed in several ways, one is enough
    alike = {str(sorted(run.settings.items())): run.summary for run in runs}
    line = command(alike.values(), seeds) if alike else None
    return f": {line}" if line else ""

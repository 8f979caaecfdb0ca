"""Advice next to a table: the seeds that a verdict lacks."""

from collections.abc import Iterator, Sequence

from attnexp.core.console import number_text
from attnexp.runs.origin.command_line import command, next_seeds
from attnexp.select.sample import SEEDS
from attnexp.stats.compare import Rule
from attnexp.stats.power import seeds_needed
from attnexp.tables.entries import Entry, Request, ResultsTable
from attnexp.tables.sentences import row_name

NEGLIGIBLE = 0.001
"""The part of a row's standard deviation below which a difference is worth no more seeds."""


def advice(table: ResultsTable, request: Request) -> Iterator[str]:
    """Yield sentences about splits and about rows without a verdict."""
    for panel in table.panels:
        rows = [entry for entry in panel if entry.seeds and entry.better]
        if table.only_data:
            if len(rows) > 1:
                yield (
                    f"more seeds say nothing about other data: {table.only_data} is one data set, "
                    "and several values of data_seed, or none, draw others"
                )
            continue
        if any(entry.overlap for entry in rows):
            yield (
                "intervals and verdicts are over splits of this file: more splits make them "
                "narrower only down to a floor that n_test / n_train sets (Nadeau and Bengio 2003)"
            )
        elif len(rows) > 1 or (rows and rows[0].spread.n == 1):
            rule = Rule("lower", request.equal_within, request.looks)
            yield from _more_seeds(table, rows, rule)


def _more_seeds(table: ResultsTable, rows: Sequence[Entry], rule: Rule) -> Iterator[str]:
    """Yield how many seeds a verdict takes at least, or the closest tie takes, with a command."""
    common = len(set.intersection(*(entry.seeds for entry in rows)))
    if common < rule.least and table.unit is not SEEDS:
        yield (
            f"a verdict takes at least {rule.least} {table.unit.many} that every row has, and "
            f"there {'is' if common == 1 else 'are'} {common}: add values of data_seed"
        )
        return
    if common < rule.least:
        yield (
            f"a verdict takes at least {rule.least} seeds that every row has, and there "
            f"{'is' if common == 1 else 'are'} {common}{_command(rows, rule.least - common)}"
        )
        return
    best = next(entry for entry in rows if entry.standing.word == "best")
    tied = [
        (needed, entry)
        for entry in rows
        if entry.standing.word == "tied"
        and entry.standing.difference
        and abs(entry.standing.difference.mean) > NEGLIGIBLE * (entry.spread.sd or 0.0)
        and (needed := seeds_needed(entry.standing.difference, rule)) is not None
    ]
    if tied:
        needed, entry = min(tied, key=lambda one: one[0])
        assert entry.standing.difference is not None
        size = number_text(abs(entry.standing.difference.mean))
        line = _command([best, entry], needed - common) if table.unit is SEEDS else ""
        names = f"{row_name(table, best)} and {row_name(table, entry)}"
        yield (
            f"{names} are not told apart; about {needed} {table.unit.many} would detect a "
            f"difference of this size ({size}) with 80% power{line}"
        )


def _command(rows: Sequence[Entry], more: int) -> str:
    """Return the command that runs the rows at `more` seeds more, after a colon."""
    runs = [run for entry in rows for run in entry.row.runs.runs]
    # of runs with the same settings, which may have been typed in several ways, one is enough
    alike = {str(sorted(run.settings.items())): run.summary for run in runs}
    line = command(alike.values(), next_seeds([entry.seeds for entry in rows], more))
    return f": {line}" if line else ""

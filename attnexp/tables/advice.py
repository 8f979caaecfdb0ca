"""Advice next to a table: seeds that failed to learn, and the seeds that a verdict lacks."""

from collections.abc import Iterator

from attnexp.console import number_text
from attnexp.runs.origin.command_line import command, next_seeds
from attnexp.select.groups import label
from attnexp.tables.entries import Entry, ResultsTable, is_share, paired_test
from attnexp.tables.significance import least_seeds, seed_means
from attnexp.tables.statistics import two_groups
from attnexp.tables.text import listed


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
                    f"{len(behind)} of {entry.spread.n} seeds of {row_name(table, entry)} stayed "
                    f"behind in {entry.metric}: {listed(map(number_text, behind))} against "
                    f"{listed(map(number_text, ahead))}. How many seeds learn says more than the "
                    "mean"
                )


def advice(table: ResultsTable) -> Iterator[str]:
    """Yield a sentence and a command where rows have too few seeds for any verdict."""
    for panel in table.panels:
        rows = [entry for entry in panel if entry.values]
        if {"one seed", "too few seeds"}.isdisjoint(entry.verdict.standing for entry in rows):
            continue
        seeds = [set(entry.values) for entry in rows]
        common = len(set.intersection(*seeds))
        least = least_seeds(max(2, len(rows)), paired_test(table.frame, table.metrics[0]))
        if common < least:
            summaries = (run.summary for entry in rows for run in entry.row.runs.runs)
            line = command(summaries, next_seeds(seeds, least - common))
            yield (
                f"a verdict takes at least {least} seeds that every row has, and there "
                f"{'is' if common == 1 else 'are'} {common}" + (f": {line}" if line else "")
            )


def row_name(table: ResultsTable, entry: Entry) -> str:
    """Return the name of a row in a sentence: the labels in which rows differ."""
    rows = [other.row.labels for other in table.firsts]
    telling = [name for name in table.by if len({str(labels[name]) for labels in rows}) > 1]
    return label(table.frame, {name: entry.row.labels[name] for name in telling or table.by[:1]})

"""Settings that change no number of the rows that differ in them."""

from collections.abc import Iterable, Iterator, Sequence

from attnexp.core.console import setting_text
from attnexp.select.frame import OF_TRAINING
from attnexp.tables.entries import ResultsTable, TableEntry
from attnexp.tables.grid import listed
from attnexp.tables.sentences import row_in_list

RATE, SCALAR_RATE = "optim.lr", "optim.scalar_lr"
"""The learning rate, and that of parameters that are one number."""


def without_effect(table: ResultsTable) -> Iterator[str]:
    """Yield a sentence per label of which several values gave the same numbers at every seed.

    It says why if the settings of the runs tell.
    """
    for name in table.by:
        others = [each for each in table.telling if each != name]
        groups = [
            group
            for panel in table.panels
            for group in _grouped(
                (str([entry.row.labels[each] for each in others]), entry) for entry in panel
            )
        ]
        for group in groups:
            for same in _alike(group):
                values = listed(setting_text(entry.row.labels[name]) for entry in same)
                given = name if len(same) == len(group) else f"{name}={values}"
                rows = row_in_list(table, same[0], others) if len(groups) > 1 else ""
                of = f" of {rows}" if rows else ""
                yield f"{given} changed no number{of}{_reason(name, same)}"


def unlike_best(panel: Sequence[TableEntry]) -> list[TableEntry]:
    """Return the rows of a panel but those with the numbers of the best row at every seed.

    The best row stays, or the one that others are compared with in its place.
    """
    left_out = set[int]()
    for same in _alike(panel):
        if any(entry.standing.difference is None for entry in same):
            left_out |= {id(entry) for entry in same if entry.standing.difference is not None}
    return [entry for entry in panel if id(entry) not in left_out]


def _alike(panel: Iterable[TableEntry]) -> list[list[TableEntry]]:
    """Return the groups of rows whose runs have the same numbers at every seed."""
    found = ((_numbers(entry), entry) for entry in panel if entry.seeds)
    return _grouped((numbers, entry) for numbers, entry in found if numbers is not None)


def _grouped(rows: Iterable[tuple[object, TableEntry]]) -> list[list[TableEntry]]:
    """Return the groups of two rows or more that have the same key."""
    groups: dict[object, list[TableEntry]] = {}
    for key, entry in rows:
        groups.setdefault(key, []).append(entry)
    return [group for group in groups.values() if len(group) > 1]


def _numbers(entry: TableEntry) -> object:
    """Return all numbers of the runs of a row, by seed and block.

    None for runs of other tools, which need not have recorded what a setting changes.
    """
    runs, blocks = entry.row.runs, entry.row.blocks.tolist()
    units = runs.column(entry.row.unit.column).tolist()
    if any(run.summary.imported for run in runs.runs):
        return None
    return frozenset(
        (unit, block, str(run.status), frozenset(run.summary.metrics.items()))
        for unit, block, run in zip(units, blocks, runs.runs, strict=True)
    )


def _reason(name: str, rows: Sequence[TableEntry]) -> str:
    """Return why a setting changed no number, after a colon, if the settings of the runs tell."""
    runs = [run for entry in rows for run in entry.row.runs.runs]
    if name.startswith(OF_TRAINING) and all(run.summary.parameters == 0 for run in runs):
        return ": without parameters nothing is trained"
    if name == RATE and all(SCALAR_RATE in run.settings for run in runs):
        return f": {SCALAR_RATE} sets the step of a width"
    return ""

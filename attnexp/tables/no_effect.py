"""Settings without effect: rows that differ in them have the same numbers."""

from collections.abc import Iterable, Iterator, Sequence

from attnexp.core.console import setting_text
from attnexp.core.language import Phrase, Text, joined, said
from attnexp.select.frame import OF_TRAINING
from attnexp.tables.entries import Numbers, ResultsTable, TableEntry
from attnexp.tables.grid import listed
from attnexp.tables.sentences import row_in_list

RATE, SCALAR_RATE = "optim.lr", "optim.scalar_lr"
"""The learning rate, and the learning rate of scalar parameters."""


def without_effect(table: ResultsTable) -> Iterator[Text]:
    """Yield sentences on labels with several values that gave the same numbers at every seed.

    A sentence names all labels for which it holds, and the reason if the settings show it.
    """
    found: dict[tuple[Text | None, Text | None], list[Phrase]] = {}
    for name in table.by:
        others = [each for each in table.telling if each != name]
        groups = [
            group
            for panel in table.panels
            for group in _grouped(
                (str([entry.row.labels[each] for each in others]), entry) for entry in panel
            )
        ]
        alike = [(group, same) for group in groups for same in _alike(group)]
        if not alike:
            continue
        rows = [row_in_list(table, same[0], others) for _, same in alike]
        some = len(alike) < len(groups)
        given: Phrase = name
        if any(len(same) < len(group) for group, same in alike):
            values = listed(setting_text(entry.row.labels[name]) for entry in alike[0][1])
            given = (
                joined("=", [name, values])
                if len(alike) == 1
                else said("several values of {name}", name=name)
            )
            some = len(groups) > 1
        reasons = {_reason(name, same) for _, same in alike}
        why = reasons.pop() if len(reasons) == 1 else None
        of = listed(rows) if some else None
        found.setdefault((of, why), []).append(given)
    for (of, why), names in found.items():
        note = (
            said("{names} changed no number of {rows}", names=listed(names), rows=of)
            if of
            else said("{names} changed no number", names=listed(names))
        )
        yield said("{what}: {text}", what=note, text=why) if why else note


def unlike_best(panel: Sequence[TableEntry]) -> list[TableEntry]:
    """Return the rows of a panel, without rows that have the numbers of the best row at every seed.

    If rows are compared with a reference, it takes the place of the best row. It stays itself.
    """
    left_out = set[int]()
    for same in _alike(panel):
        best = next((entry for entry in same if entry.standing.difference is None), None)
        left_out |= {id(entry) for entry in same if entry is not best and best is not None}
    return [entry for entry in panel if id(entry) not in left_out]


def _alike(rows: Iterable[TableEntry]) -> list[list[TableEntry]]:
    """Return groups of two rows or more with the same numbers at the seeds shared with the first.

    Each row shares a seed with the first row of its group.
    """
    groups: list[tuple[Numbers, list[TableEntry]]] = []
    having: dict[object, list[int]] = {}  # the groups whose first has these numbers at this seed
    for entry in rows:
        own = entry.row.numbers
        for place in sorted({place for item in own.items() for place in having.get(item, ())}):
            first, group = groups[place]
            if all(own[each] == first[each] for each in own.keys() & first.keys()):
                group.append(entry)
                break
        else:
            for item in own.items():
                having.setdefault(item, []).append(len(groups))
            groups.append((own, [entry]))
    return [group for _, group in groups if len(group) > 1]


def _grouped(rows: Iterable[tuple[object, TableEntry]]) -> list[list[TableEntry]]:
    """Return the groups of two rows or more that have the same key."""
    groups: dict[object, list[TableEntry]] = {}
    for key, entry in rows:
        groups.setdefault(key, []).append(entry)
    return [group for group in groups.values() if len(group) > 1]


def _reason(name: str, rows: Sequence[TableEntry]) -> Text | None:
    """Return why a setting changed no number, None if the settings do not show it."""
    runs = [run for entry in rows for run in entry.row.runs.runs]
    if name.startswith(OF_TRAINING) and all(run.summary.parameters == 0 for run in runs):
        return said("without parameters nothing is trained")
    if name == RATE and all(SCALAR_RATE in run.settings for run in runs):
        return said("{name} sets the step of a width", name=SCALAR_RATE)
    return None

"""Is the comparison fair? What the rows cost, and what differs that should not."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnexp.runs.frame import codes
from attnexp.runs.gather import Gathered, is_data, panels

CODE = {
    "results_version": "version of the results",
    "attnexp": "version of attnexp",
    "torch": "version of torch",
    "commit": "git commit",
}
"""The columns that say which code computed a run."""

FEW = 4
"""How many values a warning lists before it only counts them."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What the finished runs of a row took: smallest and largest, or the mean for seconds."""

    parameters: tuple[int, int] | None
    steps: tuple[int, int] | None
    seconds: float | None
    peak_memory_mb: float | None


def costs(gathered: Gathered) -> list[Cost]:
    """Parameters, training steps, mean seconds, and the most memory that a run took, row by row."""
    finished = gathered.frame.column("status") == "finished"
    columns = {
        name: gathered.frame.table[name].to_numpy(dtype=float, na_value=np.nan)
        for name in ("parameters", "steps", "seconds", "peak_memory_mb")
        if name in gathered.frame.table
    }
    found = []
    for row in gathered.rows:
        index = row.index[finished[row.index]]
        own = {name: column[index] for name, column in columns.items()}
        there = {name: values[~np.isnan(values)] for name, values in own.items()}
        found.append(
            Cost(
                parameters=_ends(there["parameters"]),
                steps=_ends(there["steps"]) if "steps" in there else None,
                seconds=float(there["seconds"].mean()) if there["seconds"].size else None,
                peak_memory_mb=float(there["peak_memory_mb"].max(initial=0)) or None,
            )
        )
    return found


def _ends(values: NDArray[np.float64]) -> tuple[int, int] | None:
    return (int(values.min()), int(values.max())) if values.size else None


def warnings(gathered: Gathered, costs: Sequence[Cost], metrics: Sequence[str]) -> list[str]:
    """Everything in which the compared runs differ beyond what is compared, a sentence each.

    `costs` are those of the rows, in their order.
    """
    return [
        *_crossed(gathered),
        *_mixed(gathered),
        *_data(gathered),
        *_code(gathered),
        *_devices(gathered),
        *_steps(gathered, costs),
        *_left_out(gathered, metrics),
    ]


def _crossed(gathered: Gathered) -> Iterable[str]:
    """Rows that differ in several things at once, where not every combination was run."""
    for rows in panels(gathered.rows):
        levels: dict[str, set[Any]] = {}
        for row in rows:
            parts: dict[str, list[Any]] = {}
            for name, value in row.labels.items():
                if not is_data(name):
                    parts.setdefault(name.partition(".")[0], []).append(value)
            for group, values in parts.items():
                levels.setdefault(group, set()).add(tuple(values))
        several = {group: len(values) for group, values in levels.items() if len(values) > 1}
        possible = int(np.prod(list(several.values()))) if several else 0
        if len(several) > 1 and len(rows) < possible:
            yield (
                f"the compared rows differ in {_listed(several)} at once, and only {len(rows)} of "
                f"{possible} combinations were run: a difference may be due to any of these"
            )
            return


def _mixed(gathered: Gathered) -> Iterable[str]:
    """Rows that gather more than seeds."""
    if not gathered.within:
        return
    data = [name for name in gathered.within if is_data(name)]
    also = ", data included: a mean over several data sets says little" if data else ""
    yield f"rows gather runs that differ in {_listed(gathered.within)}{also}"
    for rows in panels(gathered.rows):
        kinds = {frozenset(gathered.blocks[row.index].tolist()) for row in rows}
        if len(kinds) > 1:
            yield (
                "not every row gathers the same settings: means are of different things, and tests "
                "use only the settings that both rows have"
            )
            return


def _data(gathered: Gathered) -> Iterable[str]:
    """Rows on different data, which are not tested against each other."""
    names = [name for name in gathered.rows[0].labels if is_data(name)]
    if len({tuple(row.labels[name] for name in names) for row in gathered.rows}) > 1:
        yield f"rows that differ in {_listed(names)} saw different data and are not compared"


def _code(gathered: Gathered) -> Iterable[str]:
    table = gathered.frame.table
    for name, words in CODE.items():
        found = [str(value)[:10] for value in table[name].dropna().unique()]
        if len(found) > 1:
            yield f"the runs differ in {words}: {_listed(found)}"
    dirty = int(table["dirty"].eq(True).sum())
    if dirty:
        yield f"{dirty} of {len(table)} runs come from code with changes that no commit holds"


def _devices(gathered: Gathered) -> Iterable[str]:
    found = [str(value) for value in gathered.frame.table["device"].dropna().unique()]
    if len(found) > 1:
        yield f"the runs differ in device: {_listed(found)}; seconds and memory do not compare"


def _steps(gathered: Gathered, costs: Sequence[Cost]) -> Iterable[str]:
    """Rows with more steps than others, those apart that went on until they had converged."""
    table = gathered.frame.table
    cut = gathered.frame.column("status") == "finished"
    if "converged_step" in table:
        cut &= table["converged_step"].isna().to_numpy()
    taken: dict[tuple[Any, ...], set[int]] = {}
    for row, own in zip(gathered.rows, costs, strict=True):
        if cut[row.index].any():
            taken.setdefault(row.panel, set()).update(n for n in own.steps or () if n > 0)
    for steps in taken.values():
        if len(steps) > 1:
            yield f"the compared rows were trained for {min(steps)} to {max(steps)} steps"
            return


def _left_out(gathered: Gathered, metrics: Sequence[str]) -> Iterable[str]:
    status = gathered.frame.column("status")
    finished = status == "finished"
    failed = int((status == "failed").sum())
    if failed:
        yield f"means leave out {_count(failed, 'failed run')}, which flatters their rows"
    data = codes(gathered.frame.table, [name for name in ("data",) if name in gathered.frame.table])
    for metric in metrics:
        measured = np.isfinite(gathered.frame.column(metric))
        known = np.isin(data, data[measured])
        gone = int((finished & known & ~measured).sum())
        if gone:
            yield f"means leave out {_count(gone, 'finished run')} without a finite {metric}"
    if gathered.repeats:
        yield (
            f"{_count(gathered.repeats, 'older run')} of the same settings and seed "
            f"{'is' if gathered.repeats == 1 else 'are'} left out"
        )


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    if len(names) > FEW:
        return f"{', '.join(names[:FEW])} and {len(names) - FEW} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"

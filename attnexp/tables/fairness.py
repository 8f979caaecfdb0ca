"""What makes a comparison unfair: everything in which the runs differ that is not compared."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnexp.console import setting_text
from attnexp.runs.frame import Frame
from attnexp.tables.comparison import Part
from attnexp.tables.groups import Gathered, Row, is_data, panels
from attnexp.tables.table import count_text

CODE = {
    "results_version": "version of the results",
    "attnexp": "version of attnexp",
    "torch": "version of torch",
    "commit": "git commit",
}
"""The columns that say which code computed a run."""

RATE = "optim.lr"
"""The setting that a comparison depends on most, and that suits one mechanism and not another."""

FEW = 4
"""How many values a warning lists before it only counts them."""


UNFINISHED = {
    "interrupted": ("interrupted run", "interrupted runs"),
    "died": ("run that died", "runs that died"),
}
"""How runs that ended early are called in a warning, one and several."""


def warnings(part: Part) -> list[str]:
    """Return what the compared runs differ in beyond what is compared, a sentence each."""
    gathered = part.gathered
    return [
        *_crossed(gathered),
        *_mixed(gathered),
        *_data(gathered),
        *_code(gathered),
        *_devices(gathered),
        *_steps(part),
        *_tuning(part),
        *_left_out(gathered, part.metrics),
    ]


def _crossed(gathered: Gathered) -> Iterable[str]:
    """Rows that differ in several things at once, where not every combination was run."""
    for rows in panels(gathered.rows):
        levels: dict[str, set[Any]] = {}
        for row in rows:
            parts: dict[str, list[Any]] = {}
            for name, value in row.labels.items():
                if not is_data(name) and name not in gathered.frame.tuned:
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
    frame = gathered.frame
    for name, words in CODE.items():
        found = [value[:10] for value in _values(frame, name)]
        if len(found) > 1:
            yield f"the runs differ in {words}: {_listed(found)}"
    dirty = int((frame.column("dirty") == True).sum())  # noqa: E712
    if dirty:
        yield f"{dirty} of {len(frame)} runs come from code with changes that no commit holds"


def _devices(gathered: Gathered) -> Iterable[str]:
    found = _values(gathered.frame, "device")
    if len(found) > 1:
        yield f"the runs differ in device: {_listed(found)}; seconds and memory do not compare"


def _steps(part: Part) -> Iterable[str]:
    """Rows with more steps than others, except those that were trained until they converged."""
    cut = part.gathered.finished & ~_converged(part)
    taken: dict[tuple[Any, ...], set[int]] = {}
    for entry in part.firsts:
        if cut[entry.row.index].any():
            steps = taken.setdefault(entry.row.panel, set())
            steps.update(n for n in entry.cost.steps or () if n > 0)
    for steps in taken.values():
        if len(steps) > 1:
            yield f"the compared rows were trained for {min(steps)} to {max(steps)} steps"
            return


def _tuning(part: Part) -> Iterable[str]:
    """Rows whose settings were not tuned alike, or not tuned, and runs that only tuned."""
    frame, finished = part.frame, part.gathered.finished
    tuned = frame.column("tuned")
    rows = [entry.row for entry in part.firsts if finished[entry.row.index].any()]
    ways = {tuned[i] for row in rows for i in row.index[finished[row.index]]}
    if len(ways) > 1:
        told = [*sorted(way for way in ways if way), *(["not at all"] if None in ways else [])]
        yield f"the compared rows were not tuned alike: {'; '.join(told)}"
    elif ways == {None} and RATE in part.same and len({_choices(row) for row in rows}) > 1:
        steps = frame.column("steps") if "steps" in frame.metrics else np.zeros(len(frame))
        if (steps[finished & ~_converged(part)] > 0).any():
            yield (
                f"no row was tuned: all have {RATE}={setting_text(part.same[RATE])}, which may "
                "suit one better than another; hydra/sweeper=tuned tunes each row"
            )
    if part.trials:
        yield (
            f"{count_text(part.trials, 'run')} that {'was' if part.trials == 1 else 'were'} made "
            f"to tune settings {'is' if part.trials == 1 else 'are'} left out"
        )


def _choices(row: Row) -> tuple[Any, ...]:
    return tuple(row.labels.get(name) for name in ("model", "arch"))


def _converged(part: Part) -> NDArray[np.bool_]:
    """Return whether each run was trained until it converged."""
    if "converged_step" not in part.frame.columns:
        return np.zeros(len(part.frame), dtype=bool)
    return ~np.isnan(part.frame.column("converged_step"))


def _left_out(gathered: Gathered, metrics: Sequence[str]) -> Iterable[str]:
    """Runs that do not count in the means of their rows."""
    status = gathered.frame.column("status")
    failed = int((status == "failed").sum())
    if failed:
        yield f"means leave out {count_text(failed, 'failed run')}, which flatters their rows"
    ended = {words: int((status == state).sum()) for state, words in UNFINISHED.items()}
    counted = [f"{n} {words[n > 1]}" for words, n in ended.items() if n]
    if counted:
        yield f"means leave out {_listed(counted)}"
    data = gathered.frame.codes(name for name in ("data",) if name in gathered.frame.columns)
    for metric in metrics:
        measured = np.isfinite(gathered.frame.column(metric))
        known = np.isin(data, data[measured])
        gone = int((gathered.finished & known & ~measured).sum())
        if gone:
            yield f"means leave out {count_text(gone, 'finished run')} without a finite {metric}"
    if gathered.repeats:
        yield (
            f"{count_text(gathered.repeats, 'older run')} of the same settings and seed "
            f"{'is' if gathered.repeats == 1 else 'are'} left out"
        )


def _values(frame: Frame, name: str) -> list[str]:
    """Return the values in a column, as text, in order of appearance."""
    return [str(value) for value in dict.fromkeys(frame.column(name)) if value is not None]


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    if len(names) > FEW:
        return f"{', '.join(names[:FEW])} and {len(names) - FEW} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))

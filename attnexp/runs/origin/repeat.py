"""Comparison of a run with its repetition: whether both have the same numbers, and where not."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec
import numpy as np

from attnexp.runs import files
from attnexp.runs.folder import Run, not_as_written
from attnexp.runs.summary import ENDED, LENGTHS, NATIVE, Attempt, Summary

Outcome = Literal["bit-identical", "within tolerance", "different"]

LABELS = ("key", "primary", "selection", "better", "headline", "units", "companions", "parameters")
"""The fields of a summary that tables and pictures read, apart from numbers and notes."""

TABLES = (files.METRICS, files.PREDICTIONS, files.RESPONSE)
"""The tables of a run, to which a later attnexp may add columns."""

OPTIONAL_NOTES = (
    "training began anew",
    f"{ENDED}train.max_",
    "the run was interrupted",
    "the pictures could not be drawn",
    f"{NATIVE}: ",
    LENGTHS,  # which runs before this note lack
)
"""The beginnings of notes that a repetition need not have."""

NOT_CHECKED = "the sweep that tuned a run, times and memory, and how it was interrupted"


@dataclass(frozen=True)
class Repetition:
    """How a repetition compares with a run.

    `largest` is the largest difference of two numbers a and b, |a - b| / max(1, |a|), infinite for
    text that differs and for numbers that one side lacks; `where` names its place. `surroundings`
    are the differences between the machines, as sentences.
    """

    outcome: Outcome
    largest: float
    where: str
    surroundings: list[str]

    @classmethod
    def of(
        cls, differences: Mapping[str, float], tolerance: float, surroundings: list[str]
    ) -> "Repetition":
        """Return the comparison. `differences` has, by name, how far apart unequal contents are."""
        where = max(differences, key=lambda name: differences[name], default="")
        largest = differences.get(where, 0.0)
        close: Outcome = "within tolerance" if largest <= tolerance else "different"
        return cls(close if differences else "bit-identical", largest, where, surroundings)

    def __str__(self) -> str:
        if self.outcome == "bit-identical":
            return self.outcome
        by = f" by {self.largest:.2g}" if np.isfinite(self.largest) else ""
        return f"{self.outcome}: {self.where}{by}"

    def of_changed(self, names: Sequence[str]) -> "Repetition":
        """Return the comparison with the run's files `names` no longer as the run wrote them.

        Such a comparison is `different`, whatever the numbers say.
        """
        if not names:
            return self
        told = [*self.surroundings, not_as_written(names)]
        if self.outcome == "different":
            return replace(self, surroundings=told)
        return Repetition("different", np.inf, f"{names[0]}: its SHA-256", told)

    def record(self) -> dict[str, object]:
        """Return the comparison as plain values, for programs."""
        return {
            "outcome": self.outcome,
            "largest": self.largest if np.isfinite(self.largest) else None,
            "where": self.where or None,
            "surroundings": self.surroundings,
        }


def compare(stored: Run, again: Run, tolerance: float) -> Repetition:
    """Compare a finished run with its repetition, in all that tables and pictures read.

    Compared are each number and text of metrics.csv, predictions.csv and response.csv, the final
    metrics and their parts, the parameters, the attention and its snapshots with their examples,
    and the labels and notes of the summary. Times, memory and the tuning by a sweep are not
    compared, nor numbers of the repetition that the run lacks, as a later attnexp may measure more.

    The outcome is bit-identical if nothing differs, and within tolerance if numbers differ by no
    more than `tolerance`.

    Raises RequestError and UnreadableRunError for files that cannot be read.
    """
    return Repetition.of(dict(_differences(stored, again)), tolerance, surroundings(stored, again))


def surroundings(stored: Run, again: Run) -> list[str]:
    """Return sentences on where versions and machines differ.

    Compared are the two runs, and the earlier attempts at the stored run with its last one.
    """
    old, new = stored.summary, again.summary
    then, now = origin_of(old), origin_of(new)
    pairs = [(name, value, now.get(name)) for name, value in then.items()]
    last = Attempt(0, old.device, old.versions)
    return [
        *(
            f"it went on after {attempt.updates} updates with {changed}"
            for attempt in old.attempts
            if (changed := attempt.differences(last))
        ),
        *differing(pairs),
    ]


def origin_of(summary: Summary) -> dict[str, object]:
    """Return the versions, the device and the checkouts that computed a run, by their names."""
    return {
        "results version": summary.results_version,
        "device": summary.device,
        **summary.versions,
        "processor": summary.processor,
        "attnexp's checkout": summary.source,
        "the checkout of the working directory": summary.git,
    }


def differing(pairs: Iterable[tuple[str, Any, Any]]) -> list[str]:
    """Return a sentence for each name whose value then and value now are not the same."""
    return [
        f"{name} was {then} and is {now or 'none'}"
        for name, then, now in pairs
        if then and then != now
    ]


def _differences(stored: Run, again: Run) -> Iterator[tuple[str, float]]:
    ours, theirs = _contents(stored.summary), _contents(_measured_then(stored, again))
    ours |= _files(stored)
    theirs |= {name: own for name, own in _files(again).items() if not _is_later(name, ours)}
    for name in [*ours, *(name for name in theirs if name not in ours)]:
        if apart := difference(ours.get(name), theirs.get(name)):
            yield name, apart
    if _lacks(stored.summary.notes, again) or _lacks(again.summary.notes, stored):
        yield "notes", np.inf


def _measured_then(stored: Run, again: Run) -> Summary:
    """Return the summary of a repetition without the numbers that only a later attnexp measures."""
    old, new = stored.summary, again.summary
    later = new.metrics.keys() - old.metrics.keys()
    companions = {
        name: {head: other for head, other in own.items() if other not in later}
        for name, own in new.companions.items()
    }
    return msgspec.structs.replace(
        new,
        metrics={name: value for name, value in new.metrics.items() if name not in later},
        details={name: own for name, own in new.details.items() if name in old.details},
        better={name: side for name, side in new.better.items() if name not in later},
        units={name: unit for name, unit in new.units.items() if name not in later},
        headline=[name for name in new.headline if name not in later],
        companions={name: own for name, own in companions.items() if own and name not in later},
    )


def _is_later(name: str, ours: Mapping[str, Any]) -> bool:
    """Return whether `name` is a column that the run's own table of that file lacks."""
    file = name.partition(": ")[0]
    return name not in ours and file in TABLES and any(n.startswith(f"{file}: ") for n in ours)


def _contents(summary: Summary) -> dict[str, Any]:
    found = {name: getattr(summary, name) for name in LABELS}
    found |= summary.metrics
    for name, parts in summary.details.items():
        found |= {f"{name} ({part})": value for part, value in parts.items()}
    return found


def _files(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = {f"{files.METRICS}: {name}": own for name, own in run.epochs.items()}
    found.pop(f"{files.METRICS}: seconds", None)
    for file in (files.PREDICTIONS, files.RESPONSE):
        rows = files.read_rows(run.folder / file)
        for column in rows[0] if rows else ():
            found[f"{file}: {column}"] = [row[column] for row in rows]
    for file in (files.MODEL, files.ATTENTION, files.SNAPSHOTS):
        try:
            arrays, metadata = files.read_tensors(run.folder / file)
        except FileNotFoundError:
            continue
        found |= {f"{file}: {name}": array for name, array in arrays.items()}
        found[f"{file}: its description"] = metadata
    return found


def _lacks(notes: Sequence[str], run: Run) -> bool:
    others = run.summary.notes
    return any(n not in others and not n.startswith(OPTIONAL_NOTES) for n in notes)


def difference(ours: Any, theirs: Any) -> float:
    """Return the largest difference of two numbers or arrays, |a - b| / max(1, |a|).

    The difference is infinite if one is missing, if their shapes differ, and for anything else that
    is not equal.
    """
    if ours is None or theirs is None:
        return 0.0 if ours is theirs else np.inf
    try:
        a, b = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    except (TypeError, ValueError):
        return 0.0 if ours == theirs else np.inf
    if a.shape != b.shape:
        return np.inf
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if same.all():
        return 0.0
    with np.errstate(invalid="ignore"):
        far = np.abs(a - b) / np.maximum(1, np.abs(a))
    return float(np.where(same, 0.0, np.where(np.isfinite(far), far, np.inf)).max())

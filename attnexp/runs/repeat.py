"""A run beside a repetition of itself: whether both have the same numbers, and where they part."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from attnexp.runs.run import Run

Outcome = Literal["bit-identical", "within tolerance", "different"]


@dataclass(frozen=True)
class Repetition:
    """How a repetition compares with a run.

    `largest` is the largest difference of two numbers a and b, |a - b| / max(1, |a|), and `where`
    names the number; `update` is the first update after which a row of metrics.csv differs, None
    where no row does. `surroundings` are the differences between the machines, as sentences.
    """

    outcome: Outcome
    largest: float
    where: str
    update: int | None
    surroundings: list[str]

    def __str__(self) -> str:
        if self.outcome == "bit-identical":
            return self.outcome
        first = "" if self.update is None else f", first at update {self.update}"
        return f"{self.outcome}: {self.where} by {self.largest:.2g}{first}"


def compare(stored: Run, again: Run, tolerance: float) -> Repetition:
    """Compare a finished run with its repetition. Times and memory are not numbers of a run.

    It is bit-identical where every number in metrics.csv, the final metrics, the predictions, the
    parameters and the attention is the same; within tolerance where rows, final metrics and
    parameters differ by no more than `tolerance`.
    """
    differences = dict(_differences(stored, again))
    same = not differences and stored.prediction_rows == again.prediction_rows
    where = max(differences, key=lambda name: differences[name], default="predictions.csv")
    largest = differences.get(where, 0.0)
    close = largest <= tolerance and (bool(differences) or same)
    return Repetition(
        outcome="bit-identical" if same else "within tolerance" if close else "different",
        largest=largest,
        where=where,
        update=_first_update(stored, again),
        surroundings=surroundings(stored, again),
    )


def surroundings(stored: Run, again: Run) -> list[str]:
    """Return what differs between the machines and versions of two runs."""
    old, new = stored.summary, again.summary
    pairs = [
        ("results version", old.results_version, new.results_version),
        ("device", old.device, new.device),
        *((name, version, new.versions.get(name)) for name, version in old.versions.items()),
    ]
    later = [
        ("processor", old.processor, new.processor),
        ("attnexp's checkout", old.source, new.source),
        ("the checkout of the working directory", old.git, new.git),
    ]
    pairs += [(name, str(own), str(other or "none")) for name, own, other in later if own]
    return [f"{name} was {own} and is {other}" for name, own, other in pairs if own != other]


def _differences(stored: Run, again: Run) -> Iterator[tuple[str, float]]:
    """Yield the numbers that differ, and by how much."""
    numbers: list[tuple[str, Mapping[str, Any], Mapping[str, Any]]] = [
        ("metrics.csv: ", without_times(stored.epochs), without_times(again.epochs)),
        ("", stored.summary.metrics, again.summary.metrics),
        ("parameters: ", stored.parameters, again.parameters),
        ("attention: ", _weights(stored), _weights(again)),
    ]
    for place, ours, theirs in numbers:
        for name in [*ours, *(name for name in theirs if name not in ours)]:
            if difference := _difference(ours.get(name), theirs.get(name)):
                yield f"{place}{name}", difference


def without_times(epochs: Mapping[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
    """Return the columns of metrics.csv but that of the seconds."""
    return {name: column for name, column in epochs.items() if name != "seconds"}


def _weights(run: Run) -> Mapping[str, NDArray[Any]]:
    return run.attention.weights if run.has_attention else {}


def _difference(ours: Any, theirs: Any) -> float:
    """Return the largest difference of two numbers or arrays: infinite where one is missing."""
    if ours is None or theirs is None:
        return 0.0 if ours is theirs else np.inf
    a, b = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    if a.shape != b.shape:
        return np.inf
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if same.all():
        return 0.0
    with np.errstate(invalid="ignore"):
        far = np.abs(a - b) / np.maximum(1, np.abs(a))
    return float(np.where(same, 0.0, np.where(np.isfinite(far), far, np.inf)).max())


def _first_update(stored: Run, again: Run) -> int | None:
    ours, theirs = without_times(stored.epochs), without_times(again.epochs)
    if "step" not in ours or "step" not in theirs:
        return None
    shorter = min(len(ours["step"]), len(theirs["step"]))
    for row in range(shorter):
        for name, column in ours.items():
            if name not in theirs or _difference(column[row], theirs[name][row]):
                return int(ours["step"][row])
    longer = max(ours["step"], theirs["step"], key=len)
    return int(longer[shorter]) if len(longer) > shorter else None

"""The results of `attnexp probe` for a run: interventions.csv, a row per intervention."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from attnexp.core.errors import RequestError, writable
from attnexp.runs import lock
from attnexp.runs.files import INTERVENTIONS, UnreadableRunError, read_rows, write_rows
from attnexp.runs.settings import clean

LEARNED = "learned"
"""The name of the row without an intervention."""

ADVERSARIAL, SEEDS = "adversarial", "other seeds"
"""The rows with the distance of adversarial weights, and with that of the maps of other seeds."""

FACTS = {
    "total_variation": "total variation",
    "gold_log_probability": "log p of gold",
    "moved": "answers moved",
    "flips": "flips",
    "unchanged": "unchanged rows",
}
"""The heads of the numbers that are not metrics, by their names in the file."""

CHANGE, LOW, HIGH = "_change", "_low", "_high"
"""Suffixes of the columns for a metric's change and its interval."""

NAMES = ("split", "fed", "intervention")


@dataclass(frozen=True)
class Probed:
    """The numbers of a run under an intervention.

    - `split` is `test`, or `validation`, on which the head that matters most is chosen; if there is
      none, as in regression, it is `train`, each point hidden from itself.
    - `fed` is the input of the decoder: the targets (`teacher`) or its own answers (`decoded`).
    - `numbers` has each metric by its name, its change from the learned weights, METRIC_change, and
      the ends of the 95% interval of the change over examples, METRIC_low and METRIC_high. Under
      teacher forcing also `total_variation`, the mean over predictions of half the summed absolute
      differences of probabilities; `gold_log_probability`, the change of the mean log-probability
      of the gold symbol, nats; of regression `moved`, the mean absolute change of an answer, in
      units of y. `unchanged` is the share of the rows of weights that the intervention leaves as
      they are, and `flips` the share of decoded answers that are others. `distance`, `succeeded`
      and `exact` are those of `adversarial`, and `distance` also that of `other seeds`.
    """

    split: str
    fed: str
    intervention: str
    numbers: Mapping[str, float]

    @property
    def of(self) -> tuple[str, str, str]:
        """The values that identify the row."""
        return self.split, self.fed, self.intervention


def read_probed(folder: Path) -> list[Probed]:
    """Return the rows that a run folder holds, none if it was not probed.

    Raises UnreadableRunError for a file that is not of this form.
    """
    path = folder / INTERVENTIONS
    found = []
    for row in read_rows(path):
        if not set(NAMES) <= row.keys():
            raise UnreadableRunError(f"{path} cannot be read: it has no columns {', '.join(NAMES)}")
        try:
            numbers = {
                clean(name): float(text)
                for name, text in row.items()
                if name not in NAMES and text and math.isfinite(float(text))
            }
        except ValueError as error:
            raise UnreadableRunError(f"{path} cannot be read: {error}") from error
        split, fed, intervention = (clean(row[name]) for name in NAMES)
        found.append(Probed(split, fed, intervention, numbers))
    if found and LEARNED not in on_test(found):
        raise UnreadableRunError(
            f"{path} cannot be read: it has no row '{LEARNED}' of the test set"
        )
    return found


def on_test(rows: Sequence[Probed]) -> dict[str, dict[str, float]]:
    """Return the numbers of the rows of the test set, by intervention.

    If an intervention has rows with the targets and with decoded answers, a number of the decoded
    row takes the place of the other's.
    """
    found: dict[str, dict[str, float]] = {}
    for row in sorted(rows, key=lambda row: row.fed == "decoded"):
        if row.split == "test":
            found.setdefault(row.intervention, {}).update(row.numbers)
    return found


def head_of(name: str) -> tuple[str, int, int] | None:
    """Return the part, the layer and the head of an intervention such as `zero=cross.1.2`.

    Layers and heads count from 1. None for an intervention that does not take out one head alone.
    """
    match = re.fullmatch(r"zero=(\w[\w.]*?)\.([0-9]+)\.([0-9]+)", name)
    return None if match is None else (match[1], int(match[2]), int(match[3]))


def write_probed(folder: Path, rows: Sequence[Probed]) -> None:
    """Store rows in a run folder. A stored row stays unless a new one has the same `of`.

    Raises RequestError if another process holds the folder, and if the file cannot be written.
    """
    try:
        with writable(str(folder), folder), lock.hold(folder):
            _write(folder, rows)
    except lock.BusyError as error:
        raise RequestError(f"{folder} is held by {error}: probe it when that has ended") from None


def _write(folder: Path, rows: Sequence[Probed]) -> None:
    new = {row.of for row in rows}
    together = [*(row for row in read_probed(folder) if row.of not in new), *rows]
    columns = dict.fromkeys(name for row in together for name in row.numbers)
    write_rows(
        folder / INTERVENTIONS,
        [
            dict(zip(NAMES, row.of, strict=True))
            | {name: _text(row.numbers.get(name, math.nan)) for name in columns}
            for row in together
        ],
    )


def _text(number: float) -> str:
    """Return a number with all its digits, an empty text for NaN and infinities."""
    return repr(number) if math.isfinite(number) else ""

"""The files of a claim besides its runs: computed points, and the prediction."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from attnexp.claims.evidence import Point
from attnexp.claims.own import Own
from attnexp.config.documents import read_document
from attnexp.core.errors import RequestError
from attnexp.runs.files import write_bytes
from attnexp.runs.key import RESULTS_VERSION

COMPUTED = "computed.json"
"""The file of computed points."""

PREDICTED = "prediction.json"
"""The file of what was predicted, in the order in which it was written."""


class Origin(msgspec.Struct, frozen=True):
    """The origin of computed points: the function with its arguments, its code, and the version.

    `code` holds a digest of the claim's own.py, and of the modules of one's own that this imports.
    `results` is the results version, as in the key of a run.
    """

    computes: dict[str, Any]
    code: dict[str, str]
    results: int = RESULTS_VERSION


class Computed(msgspec.Struct, frozen=True):
    """The file of computed points."""

    origin: Origin
    points: list[Point]


class Predicted(msgspec.Struct, frozen=True):
    """A prediction as it was when a command ran the claim.

    `digest` is the SHA-256 of `date` and `says`, `time` the moment in UTC, and `after_runs` says
    that there were results of the claim already.
    """

    date: str
    says: str
    digest: str
    time: str
    after_runs: bool


def origin_of(computes: Mapping[str, Any], own: Own) -> Origin:
    """Return the origin of the points that a claim computes now. No code is run."""
    return Origin(dict(computes), own.code())


def read_points(folder: Path, origin: Origin) -> list[Point]:
    """Return the points of a folder, none if it has none or their origin is another.

    A file that cannot be read, or that holds a number that is not finite, counts as none: its
    numbers are computed again.
    """
    try:
        found: Computed = read_document(folder / COMPUTED, Computed)
    except RequestError:
        return []
    if found.origin != origin or not all(map(is_finite, found.points)):
        return []
    return found.points


def is_finite(point: Point) -> bool:
    """Return whether a point can be drawn and judged."""
    return math.isfinite(point.x) and math.isfinite(point.y)


def write_points(folder: Path, origin: Origin, points: Sequence[Point]) -> None:
    """Write the points, with their origin."""
    _write(folder / COMPUTED, Computed(origin, list(points)))


def read_predictions(folder: Path) -> list[Predicted]:
    """Return the predictions of a folder, none if it has none or the file is damaged."""
    try:
        found: list[Predicted] = read_document(folder / PREDICTED, list[Predicted])
    except RequestError:
        return []
    return found


def record_prediction(folder: Path, date: str, says: str, has_results: bool) -> None:
    """Write the current prediction, unless it was the last to be written.

    Before there are results, a prediction takes the place of the one before it.
    """
    digest = prediction_digest(date, says)
    before = read_predictions(folder)
    if before and before[-1].digest == digest:
        return
    time = datetime.now(UTC).isoformat(timespec="seconds")
    kept = before if has_results else []
    _write(folder / PREDICTED, [*kept, Predicted(date, says, digest, time, has_results)])


def prediction_digest(date: str, says: str) -> str:
    """Return the SHA-256 of a prediction."""
    return hashlib.sha256(f"{date}\n{says}".encode()).hexdigest()


def _write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, msgspec.json.encode(content))

"""The stored evidence for a claim, runs and computed points, and the predictions."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from attnexp.claims.claim import Claim, Own
from attnexp.claims.evidence import Evidence, Point
from attnexp.config.documents import read_document
from attnexp.core.errors import RequestError, RunFailedError
from attnexp.runs.files import write_bytes
from attnexp.runs.folder import Run
from attnexp.runs.key import RESULTS_VERSION
from attnexp.runs.origin.command_line import own_words
from attnexp.select.collect import CLAIMS, collect

if TYPE_CHECKING:
    from attnexp.sweeps.plan import PlannedJob

FOLDER = Path(CLAIMS)
"""The folder of the runs of all claims, with a folder for each claim."""

COMPUTED = "computed.json"
"""The file of computed points."""

PREDICTED = "prediction.json"
"""The file of predictions, the oldest first."""


class Origin(msgspec.Struct, frozen=True):
    """The origin of computed points: the function with its arguments, the code, and the version.

    `code` is `Own.code`. `results` is the results version, as in the key of a run.
    """

    computes: dict[str, Any]
    code: dict[str, str]
    results: int = RESULTS_VERSION


class Computed(msgspec.Struct, frozen=True):
    """The file of computed points."""

    origin: Origin
    points: list[Point]


class Predicted(msgspec.Struct, frozen=True):
    """A prediction, stored when a command ran the claim.

    `digest` is the SHA-256 of `date` and `says`, `time` the time of storage in UTC. `after_runs` is
    true if there were results of the claim already.
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
    """Return the points stored in a folder; empty if they have another origin.

    Also empty if the file cannot be read or holds a number that is not finite, so that points are
    computed again.
    """
    try:
        found: Computed = read_document(folder / COMPUTED, Computed)
    except RequestError:
        return []
    if found.origin != origin or not all(point.is_finite for point in found.points):
        return []
    return found.points


def write_points(folder: Path, origin: Origin, points: Sequence[Point]) -> None:
    """Write the points, with their origin."""
    _write(folder / COMPUTED, Computed(origin, list(points)))


def read_predictions(folder: Path) -> list[Predicted]:
    """Return the predictions stored in a folder; empty if the file is missing or damaged."""
    try:
        found: list[Predicted] = read_document(folder / PREDICTED, list[Predicted])
    except RequestError:
        return []
    return found


def record_prediction(folder: Path, date: str, says: str, has_results: bool) -> None:
    """Store the current prediction, unless the last stored one is the same.

    Before there are results, the prediction replaces earlier ones.
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


def sweep_words(
    claim: Claim, words: Sequence[str], seeds: str, folder: Path, config_dir: Path | None
) -> list[str]:
    """Return the arguments of `attnexp -m` that run a sweep of a claim at these seeds."""
    from attnexp.sweeps.tuned.words import tuning_words  # which imports Hydra

    given = [f"seed={seeds}", "figures=false", f"output_dir={folder}", "hydra/launcher=parallel"]
    return [*own_words(config_dir), *words, *given, *tuning_words(claim.tune, claim.tune_by)]


def first_job(
    claim: Claim, words: Sequence[str], seed: int, folder: Path, config_dir: Path | None
) -> "PlannedJob":
    """Return the first job of a sweep; with `tune`, the first tuning job."""
    from attnexp.sweeps.line import jobs_of  # which imports Hydra
    from attnexp.sweeps.tuned.words import TUNED_AT

    first = str(TUNED_AT if claim.tune else seed)
    return jobs_of(sweep_words(claim, words, first, folder, config_dir))[0]


def ended_runs(folder: Path) -> list[Run]:
    """Return the runs below a folder that finished or diverged; empty without the folder."""
    found = collect([folder]).runs if os.path.isdir(folder) else []
    return [run for run in found if run.has_ended]


def evidence_of(name: str, claim: Claim, config_dir: Path | None, root: Path = FOLDER) -> Evidence:
    """Return the stored evidence for a claim: runs of its present jobs, and computed points.

    A run counts if a compared job of the claim's sweeps, composed at the seeds of stored runs, has
    the same key. Tuning runs do not count. `root` holds the folder of each claim. No code of the
    user's is run. Raises RequestError if a sweep cannot be composed.
    """
    folder = root / name
    found = [
        run
        for run in ended_runs(folder)
        if not (run.summary.tuning and run.summary.tuning.tuning_run)
    ]
    seeds = sorted({run.seed for run in found if run.seed >= claim.first_seed})
    keys: set[str] = set()
    if seeds:
        from attnexp.sweeps.line import compared_jobs, jobs_of
        from attnexp.sweeps.tuned.words import FINALS, TUNED_AT

        compared = compared_jobs if claim.tune else jobs_of
        named = ",".join(str(seed) for seed in seeds if seed not in (TUNED_AT, *FINALS))
        for words in claim.sweeps if named else ():
            line = sweep_words(claim, words, named, folder, config_dir)
            with suppress(RunFailedError):  # values of a sweep that tunes are not chosen yet
                keys |= {job.place.key for job in compared(line)}
    own = [run for run in found if run.summary.key in keys]
    points = read_points(folder, origin_of(claim.computes, claim.own)) if claim.computes else []
    decided = [point for point in points if point.seed >= claim.first_seed]
    return Evidence(own, decided, left_out=len(found) - len(own), looks=claim.looks)

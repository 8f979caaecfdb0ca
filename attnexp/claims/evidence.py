"""What a claim has to go by: its runs, and points that were computed without training."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from attnexp.config.documents import read_document
from attnexp.errors import RequestError
from attnexp.runs.files import write_bytes
from attnexp.runs.folder import Run
from attnexp.select.frame import Frame, make_frame
from attnexp.select.probed import with_probed
from attnexp.select.where import matching

COMPUTED = "computed.json"
"""The file of computed points, in the folder of a claim."""


class Point(msgspec.Struct, frozen=True, array_like=True):
    """A point of a curve, of one seed."""

    seed: int
    curve: str
    x: float
    y: float


class Computed(msgspec.Struct, frozen=True):
    """The file of computed points: what computed them, as the claim says it, and the points."""

    computes: dict[str, Any]
    points: list[Point]


def read_points(folder: Path, computes: Mapping[str, Any]) -> list[Point]:
    """Return the points of a folder, none where there are none or others were computed."""
    path = folder / COMPUTED
    if not path.exists():
        return []
    found: Computed = read_document(path, Computed)
    return found.points if found.computes == computes else []


def write_points(folder: Path, computes: Mapping[str, Any], points: Sequence[Point]) -> None:
    """Write the points, with what computed them."""
    folder.mkdir(parents=True, exist_ok=True)
    write_bytes(folder / COMPUTED, msgspec.json.encode(Computed(dict(computes), list(points))))


@dataclass(frozen=True)
class Evidence:
    """The finished runs of a claim, one for each configuration and seed, and its points."""

    runs: Sequence[Run] = ()
    points: Sequence[Point] = ()

    @cached_property
    def frame(self) -> Frame:
        """The runs as a table."""
        return make_frame(self.runs)

    def chosen(self, where: str | None) -> Sequence[Run]:
        """Return the runs that fit a test, all without one. Raises RequestError where none fits."""
        if where is None:
            return self.runs
        chosen = self.frame.only(matching(self.frame, where))
        if not len(chosen):
            raise RequestError(f"none of the {len(self.frame)} runs fits {where}")
        return chosen.runs

    def values(self, name: str, where: str | None = None) -> dict[int, float]:
        """Return a number by seed, of the seeds that have it, of the runs that fit the test.

        The number is a metric, what `attnexp probe` stored (`probe.uniform.exact_match`), or a
        curve at a place: `exact_match_by_length@512` is a detail of a run, `largest weight@64` a
        computed point. Raises RequestError where no run fits, where two of one seed do, and where
        nothing has the number.
        """
        curve, sign, place = name.partition("@")
        points = [p for p in self.points if sign and p.curve == curve and f"{p.x:g}" == place]
        found = {point.seed: point.y for point in points}
        for run in () if points else with_probed(self.chosen(where), [name]):
            details = run.summary.details.get(curve, {})
            value = details.get(place) if sign else run.metrics.get(name)
            if value is not None:
                if run.seed in found:
                    raise RequestError(
                        f"several runs of seed {run.seed} fit {where or 'the claim'}"
                    )
                found[run.seed] = value
        if not found:
            raise RequestError(f"nothing has the number {name} yet")
        return found

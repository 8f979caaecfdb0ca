"""A published claim: its source, what is run, what was predicted, and how the runs decide."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec

from attnexp.claims.decision import Decision, Verdict, made
from attnexp.claims.evidence import Evidence, Point
from attnexp.config.documents import read_document
from attnexp.config.groups import choices, first_line
from attnexp.console import number_text
from attnexp.errors import RequestError, none_of

GROUP = "claim"
"""The folder of the YAML files, in attnexp's configuration and in one of your own."""

FOLDER = Path("outputs") / "claims"
"""Where the runs of claims are, a folder for each."""


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a claim was published.

    `read` is false where `printed` was not read at its source; the card says so.
    """

    paper: str
    place: str
    printed: str
    read: bool = True


class Prediction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was expected of the runs, and the day on which it was written, before the first one."""

    date: str
    says: str


class Drawn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A picture of the runs: the kind and the column of metrics.csv, as `attnexp plot` has them."""

    kind: str
    metric: str | None = None


class Shown(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A number that the card shows and that does not decide; see `Evidence.values`."""

    number: str
    where: str | None = None


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The YAML file of a claim.

    - `claims` is the claim in one sentence, `source` where it was published, `setup` how it was
      measured there, `changed` what is different here, `faults` known faults of the original.
    - `sweeps` are the words of the sweeps that it takes, each run at the seeds 0, 1, ... `seeds`;
      `probe` are interventions that are made on the runs, `picture` is the one that is drawn.
    - `computes` names a function, `_target_`, that computes points without training, and has its
      arguments: from a seed to curves, x and y. `axes` names x and y in their picture.
    - `decides` names the class of the decision, `_target_`, and has its arguments; `shown` are
      numbers that the card shows besides.
    - `minutes` is the time of one core, measured.
    """

    claims: str
    source: Source
    setup: str
    changed: str
    prediction: Prediction
    seeds: int
    minutes: float
    decides: dict[str, Any]
    sweeps: list[list[str]] = []
    computes: dict[str, Any] = {}
    probe: list[str] = []
    picture: Drawn | None = None
    axes: tuple[str, str] = ("x", "y")
    shown: list[Shown] = []
    faults: list[str] = []

    def decision(self) -> Decision:
        """Return the decision. Raises RequestError for a class or arguments that do not fit."""
        return made(self.decides)

    def verdict(self, evidence: Evidence) -> Verdict:
        """Return what the evidence says, and why it cannot where some of it is missing."""
        if not evidence.runs and not evidence.points:
            return Verdict("not run", f"it takes {self.minutes:g} minutes of one core")
        try:
            verdict = self.decision().decide(evidence)
        except RequestError as error:
            verdict = Verdict("cannot tell", str(error))
        return replace(verdict, shown=[*verdict.shown, *self._shown(evidence)])

    def _shown(self, evidence: Evidence) -> Iterator[tuple[str, str]]:
        """Yield the numbers that do not decide, `skip` for what was not measured."""
        for shown in self.shown:
            named = shown.number if shown.where is None else f"{shown.number} where {shown.where}"
            try:
                values = list(evidence.values(shown.number, shown.where).values())
            except RequestError:
                yield named, "skip"
            else:
                yield named, f"{number_text(fmean(values))}, mean of {len(values)} seeds"

    def missing_points(self, seeds: int, there: Sequence[Point]) -> Iterator[list[Point]]:
        """Compute and yield the points of each seed that is not there."""
        arguments = dict(self.computes)
        target = str(arguments.pop("_target_", ""))
        module, _, name = target.rpartition(".")
        try:
            compute = getattr(import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise RequestError(
                f"computes names {target or 'no _target_'}, which is not there: {error}"
            ) from error
        known = {point.seed for point in there}
        for seed in range(seeds):
            if seed not in known:
                yield [Point(seed, *each) for each in compute(seed, **arguments)]


def names(config_dir: Path | None = None) -> list[str]:
    """Return the names of the claims, those of your own folder included."""
    return [choice.name for choice in choices(GROUP, config_dir)]


def read_claim(name: str, config_dir: Path | None = None) -> Claim:
    """Return a claim. Raises RequestError for an unknown name, and for a file that is not one."""
    paths = {choice.name: choice.path for choice in choices(GROUP, config_dir)}
    if name not in paths:
        raise RequestError(f"claim {none_of(name, list(paths))}")
    claim: Claim = read_document(paths[name], Claim)
    return claim


def question(name: str, config_dir: Path | None = None) -> str:
    """Return the first line of the file of a claim."""
    return next(first_line(c.path) for c in choices(GROUP, config_dir) if c.name == name)

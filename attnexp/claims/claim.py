"""A published claim: its source, what is run, what was predicted, and how the runs decide."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from attnexp.claims.decision import Decision, Verdict
from attnexp.config.documents import read_document
from attnexp.config.groups import choices, first_line
from attnexp.errors import RequestError, none_of
from attnexp.runs.folder import Run

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


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The YAML file of a claim.

    - `claims` is the claim in one sentence, `source` where it was published, `setup` how it was
      measured there, `changed` what is different here, `faults` known faults of the original.
    - `sweeps` are the words of the sweeps that it takes, each run at the seeds 0, 1, ... `seeds`;
      `probe` are interventions that are made on the runs, `picture` is the one that is drawn.
    - `decides` names the class of the decision, `_target_`, and has its arguments.
    - `minutes` is the time of one core, measured.
    """

    claims: str
    source: Source
    setup: str
    changed: str
    prediction: Prediction
    sweeps: list[list[str]]
    seeds: int
    minutes: float
    decides: dict[str, Any]
    probe: list[str] = []
    picture: str | None = None
    faults: list[str] = []

    def decision(self) -> Decision:
        """Return the decision. Raises RequestError for a class or arguments that do not fit."""
        arguments = dict(self.decides)
        target = str(arguments.pop("_target_", ""))
        module, _, name = target.rpartition(".")
        try:
            found = getattr(import_module(module), name)(**arguments)
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            raise RequestError(
                f"decides cannot be built of {target or 'no _target_'}: {error}"
            ) from error
        if not isinstance(found, Decision):
            raise RequestError(f"decides names {target}, which is not a Decision")
        return found

    def verdict(self, runs: Sequence[Run]) -> Verdict:
        """Return what finished runs say, and why they cannot where some are missing."""
        if not runs:
            return Verdict("not run", f"it takes {self.minutes:g} minutes of one core")
        decision = self.decision()
        try:
            return decision.decide(runs)
        except RequestError as error:
            return Verdict("cannot tell", str(error))


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

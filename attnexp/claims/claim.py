"""A published claim: its source, what is run, what was predicted, and how the runs decide."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from attnexp.claims.decision import Decision, Verdict
from attnexp.claims.evidence import Evidence, Point
from attnexp.claims.folders import FILE, GROUP, folders
from attnexp.claims.own import PREFIX, Own
from attnexp.claims.stored import is_finite
from attnexp.claims.words import IS, made, names_own
from attnexp.config.documents import read_document
from attnexp.config.groups import conf_dir
from attnexp.config.schema import check_settings
from attnexp.core.console import number_text
from attnexp.core.errors import RequestError, nearest_text, none_of
from attnexp.stats.scaled import mean

FOLDER = Path("outputs") / "claims"
"""The folder of the runs of claims, with a folder for each."""


CARRIES_OVER: dict[str, str] = {
    "reproduced": "carries over to this task",
    "not reproduced": "does not carry over to this task",
}
"""The verdicts on a claim that the paper makes of another kind of task."""

EASTERNMOST = timedelta(hours=14)
"""How far the clock of the easternmost time zone is ahead of UTC."""


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a claim was published.

    `read` is false where `printed` was not read at its source; the card says so.
    """

    paper: str
    place: str
    printed: str
    read: bool = True


class Prediction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The expected result of the runs, and the day before the first one on which it was written."""

    date: str
    says: str


class Drawn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A picture of the runs: the kind and the column of metrics.csv, as `attnexp plot` has them."""

    kind: str
    metric: str | None = None


class Shown(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A number that the card shows and that does not decide; see `Evidence.sample`."""

    number: str
    where: str | None = None


class Written(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file claim.yaml.

    - `claims` is the claim in one sentence, `source` where it was published, `setup` how it was
      measured there, `changed` what is different here, `faults` known faults of the original.
    - `sweeps` are the words of the sweeps that it takes, each run at `seeds` seeds from
      `first_seed` on, which is 1 if sizes were chosen by runs of seed 0; `probe` are interventions
      that are made on the runs, `picture` is the one that is drawn.
    - `computes` names a function of own.py by `is`, as `own.NAME`, that computes points without
      training, and has its arguments: from a seed to curves, x and y. `axes` names x and y in their
      picture.
    - `decides` names the decision by `is`, and has its arguments; `shown` are numbers that the card
      shows besides.
    - `same_task` is false if the paper's claim is of another kind of task, so that the verdict says
      whether it carries over, and `amended` describes changes after a first run.
    - `looks` is the number of planned interim looks while seeds are added, which share the level.
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
    first_seed: int = 0
    looks: int = 1
    same_task: bool = True
    amended: str | None = None
    sweeps: list[list[str]] = []
    computes: dict[str, Any] = {}
    probe: list[str] = []
    picture: Drawn | None = None
    axes: tuple[str, str] = ("x", "y")
    shown: list[Shown] = []
    faults: list[str] = []


class Claim(Written, frozen=True, kw_only=True):
    """A claim: its file claim.yaml, and its Python."""

    own: Own

    def decision(self) -> Decision:
        """Return the decision. Raises RequestError for a word or arguments that do not fit."""
        return made(self.decides, self.own)

    @property
    def needs_user_code(self) -> bool:
        """Whether code of the user's decides the claim."""
        return not self.own.is_shipped and names_own(self.decides)

    def verdict(self, evidence: Evidence) -> Verdict:
        """Return the decision on the evidence, and why it cannot tell if some of it is missing."""
        if not evidence.runs and not evidence.points:
            return Verdict("not run", f"it takes {self.minutes:g} minutes of one core")
        decision = self.decision()
        try:
            verdict = decision.decide(evidence)
        except RequestError as error:
            verdict = Verdict("cannot tell", str(error))
        except (Exception, SystemExit) as error:  # a decision of one's own may raise anything
            why = f"{type(decision).__name__} ended in {type(error).__name__}: {error}"
            verdict = Verdict("failed", why)
        return replace(verdict, shown=[*verdict.shown, *self._shown(evidence)])

    def text_of(self, verdict: Verdict) -> str:
        """Return a verdict in words."""
        return verdict.text if self.same_task else CARRIES_OVER.get(verdict.word, verdict.text)

    def require_numbers(self, evidence: Evidence) -> None:
        """Raise RequestError for a number that decides and that nothing has.

        `evidence` is that of the first job of each sweep, and of the first seed of computed points.
        """
        known = evidence.names()
        for name in self.decision().numbers():
            if name not in known:
                near = nearest_text(name, known)
                raise RequestError(f"the first job of the claim has no number '{name}'.{near}")

    def _shown(self, evidence: Evidence) -> Iterator[tuple[str, str]]:
        """Yield the numbers that do not decide, `skip` for those that were not measured."""
        for shown in self.shown:
            named = shown.number if shown.where is None else f"{shown.number} where {shown.where}"
            try:
                means = evidence.sample(shown.number, shown.where).means
            except RequestError:
                yield named, "skip"
            else:
                yield named, f"{number_text(mean(means))}, mean of {len(means)} seeds"

    def missing_points(self, seeds: Sequence[int], there: Sequence[Point]) -> Iterator[list[Point]]:
        """Compute and yield the points of each seed that is not there.

        Raises RequestError if there is no such function, if it does not take the arguments, if it
        fails, and for a point that is not finite.
        """
        arguments = {name: value for name, value in self.computes.items() if name != IS}
        compute = self._function()
        name = compute.__name__
        check_settings(arguments, compute, "computes", given=("seed",))
        known = {point.seed for point in there}
        for seed in seeds:
            if seed not in known:
                try:
                    points = [
                        Point(seed, str(curve), float(x), float(y))
                        for curve, x, y in compute(seed=seed, **arguments)
                    ]
                except (Exception, SystemExit) as error:
                    raise RequestError(
                        f"computes: {name} failed for seed {seed}: {type(error).__name__}: {error}"
                    ) from error
                for point in points:
                    if not is_finite(point):
                        raise RequestError(
                            f"computes: {name} gave {point.y:g} for {point.curve} at "
                            f"{point.x:g}, seed {seed}: a point must be finite"
                        )
                yield points

    def _function(self) -> Callable[..., Any]:
        if IS not in self.computes:
            raise RequestError(f"computes has no '{IS}', the name of a function: {PREFIX}FUNCTION")
        word = str(self.computes[IS])
        if not word.startswith(PREFIX):
            raise RequestError(
                f"computes: '{word}' must name a function of own.py, such as {PREFIX}{word}"
            )
        return self.own.function(word.removeprefix(PREFIX), "computes")


def read_claim(name: str, config_dir: Path | None = None) -> Claim:
    """Return a claim.

    Raises RequestError for an unknown name, for a file without the fields of a claim, for numbers
    of seeds that are too small, for flags in its sweeps, and for a prediction that has no date or
    one in the future.
    """
    known = folders(config_dir)
    if name not in known:
        raise RequestError(f"claim {none_of(name, list(known), 'attnexp claims')}")
    path = known[name] / FILE
    written: Written = read_document(path, Written)
    own = Own(known[name], is_shipped=known[name].parent == conf_dir() / GROUP)
    claim = Claim(**msgspec.structs.asdict(written), own=own)
    try:
        day = date.fromisoformat(claim.prediction.date)
    except ValueError as error:
        raise RequestError(
            f"{path}: prediction.date must be a date such as 2026-11-23, got "
            f"{claim.prediction.date!r}"
        ) from error
    least = {"seeds": 1, "first_seed": 0, "looks": 1}
    for field, bound in least.items():
        if (value := getattr(claim, field)) < bound:
            raise RequestError(f"{path}: {field} must be at least {bound}, got {value}")
    for word in (word for words in claim.sweeps for word in words):
        if word.startswith("-"):
            raise RequestError(f"{path}: sweeps takes settings such as model=dot, got {word!r}")
    if day > (datetime.now(UTC) + EASTERNMOST).date():
        raise RequestError(f"{path}: prediction.date, {day}, is in the future")
    return claim

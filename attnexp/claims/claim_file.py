"""The file claim.yaml, and the folders of claims, attnexp's and the user's."""

import itertools
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from attnexp.config.documents import read_document
from attnexp.config.groups import conf_dir, first_line
from attnexp.config.plain_words import require_plain
from attnexp.core.errors import RequestError
from attnexp.runs.settings import leaves

GROUP = "claim"
"""The folder of claims in attnexp's configuration and in the user's."""

FILE = "claim.yaml"
TEMPLATE = Path(__file__).parent / "template.yaml"
"""The claim.yaml that `attnexp new claim` writes."""

OWN_WORDS = (
    *("claims", "source.paper", "source.place", "source.printed"),
    *("setup", "changed", "prediction.says"),
)
"""The fields of the template that a user must replace."""

EASTERNMOST = timedelta(hours=14)
"""The offset of the easternmost time zone from UTC."""


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a claim was published.

    `printed` is the published result. `read` is false if `printed` was not looked up in the paper;
    the record says so.
    """

    paper: str
    place: str
    printed: str
    read: bool = True


class RecordedPrediction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The expected result, written before the first run, and the date of writing."""

    date: str
    says: str


class Drawn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A picture of the runs: kind and column of metrics.csv, as for `attnexp plot`."""

    kind: str
    metric: str | None = None


class Shown(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A number in the record that does not decide; see `Evidence.sample`."""

    number: str
    where: str | None = None


class Written(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fields of claim.yaml.

    - `claims` is the claim in one sentence, `source` the publication, `setup` how the paper
      measured, `changed` what is different here, `faults` known faults of the original.
    - `sweeps` are arguments of `attnexp -m`, each run at `seeds` seeds from `first_seed` on, which
      is 1 if runs of seed 0 chose sizes. `probe` are interventions on the runs, `picture` is a
      picture of the runs.
    - `computes` names a function of own.py by `is`, as `own.NAME`, and gives its arguments. The
      function computes points without training: curve, x and y for a seed. `axes` are the labels
      of x and y.
    - `decides` names the decision by `is`, and gives its arguments. `shown` are further numbers in
      the record.
    - `tune` are settings as `NAME=VALUE,...`, tuned for each row like rows of a card, by the number
      `tune_by` or by the task's.
    - `same_task` is false if the paper's claim is about another kind of task: the verdict then says
      whether the claim carries over.
    - `amended` describes changes after a first run, `before` has the figures of earlier runs that
      no longer decide.
    - `looks` is the number of planned interim analyses while seeds are added. They share the level
      of counts and of bounds; verdicts by sign flips hold at any number of analyses.
    - `minutes` is the measured time on one core.
    """

    claims: str
    source: Source
    setup: str
    changed: str
    prediction: RecordedPrediction
    seeds: int
    minutes: float
    decides: dict[str, Any]
    first_seed: int = 0
    looks: int = 1
    same_task: bool = True
    amended: str | None = None
    before: str | None = None
    sweeps: list[list[str]] = []
    tune: list[str] = []
    tune_by: str | None = None
    computes: dict[str, Any] = {}
    probe: list[str] = []
    picture: Drawn | None = None
    axes: tuple[str, str] = ("x", "y")
    shown: list[Shown] = []
    faults: list[str] = []


def names(config_dir: Path | None = None) -> list[str]:
    """Return the names of all claims, attnexp's and the user's."""
    return list(folders(config_dir))


def question(name: str, config_dir: Path | None = None) -> str:
    """Return the question in the first line of a claim.yaml."""
    return first_line(folders(config_dir)[name] / FILE)


def folders(config_dir: Path | None) -> dict[str, Path]:
    """Return the folder of each claim by its name."""
    roots = [conf_dir(), *([config_dir] if config_dir else [])]
    files = (file for root in roots for file in (root / GROUP).glob(f"*/{FILE}"))
    return dict(sorted({file.parent.name: file.parent for file in files}.items()))


def read_written(folder: Path) -> Written:
    """Return the fields of claim.yaml in a folder.

    Raises RequestError for fields that are not a claim's, for too few seeds, for `tune_by` without
    `tune`, for words of sweeps that `require_plain` refuses, for a prediction without a date or
    with one in the future, and for fields left as in the template.
    """
    path = folder / FILE
    written: Written = read_document(path, Written)
    try:
        day = date.fromisoformat(written.prediction.date)
    except ValueError as error:
        raise RequestError(
            f"{path}: prediction.date must be a date such as 2026-11-23, got "
            f"{written.prediction.date!r}"
        ) from error
    least = {"seeds": 1, "first_seed": 0, "looks": 1}
    for field, bound in least.items():
        if (value := getattr(written, field)) < bound:
            raise RequestError(f"{path}: {field} must be at least {bound}, got {value}")
    if written.tune_by and not written.tune:
        raise RequestError(
            f"{path}: tune_by={written.tune_by} chooses among values of tune: add it"
        )
    for word in itertools.chain(*written.sweeps, written.tune):
        require_plain(word, path)
    if day > (datetime.now(UTC) + EASTERNMOST).date():
        raise RequestError(f"{path}: prediction.date, {day}, is in the future")
    _require_own_words(path, written)
    return written


def _require_own_words(path: Path, written: Written) -> None:
    template = read_document(TEMPLATE, Written)
    own, others = (dict(leaves(msgspec.to_builtins(each))) for each in (written, template))
    left = [name for name in OWN_WORDS if own[name].strip() == others[name]]
    if first_line(path) == first_line(TEMPLATE):
        left.insert(0, "the question in its first line")
    if left:
        raise RequestError(
            f"{path} has the words of the template in {', '.join(left)}: write your own there"
        )

"""The file claim.yaml, and the folders of claims: those of attnexp, and those of your own."""

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
"""The folder of the claims, in attnexp's configuration and in one of your own."""

FILE = "claim.yaml"
"""The file in the folder of a claim."""

TEMPLATE = Path(__file__).parent / "template.yaml"
"""What `attnexp new claim` writes."""

OWN_WORDS = (
    *("claims", "source.paper", "source.place", "source.printed"),
    *("setup", "changed", "prediction.says"),
)
"""The fields of the template that a claim has in words of its own."""

EASTERNMOST = timedelta(hours=14)
"""How far the clock of the easternmost time zone is ahead of UTC."""


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a claim was published.

    `read` is false if `printed` was not read at its source; the record says so.
    """

    paper: str
    place: str
    printed: str
    read: bool = True


class RecordedPrediction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The expected result of the runs, and the day before the first one on which it was written."""

    date: str
    says: str


class Drawn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A picture of the runs: the kind and the column of metrics.csv, as `attnexp plot` has them."""

    kind: str
    metric: str | None = None


class Shown(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A number that the record shows and that does not decide; see `Evidence.sample`."""

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
    - `decides` names the decision by `is`, and has its arguments; `shown` are numbers that the
      record shows besides.
    - `tune` are settings with values, as `NAME=VALUE,...`, that are tuned for each row as a card
      tunes its rows, by the number `tune_by` or by that of the task.
    - `same_task` is false if the paper's claim is of another kind of task, so that the verdict says
      whether it carries over, `amended` describes changes after a first run, and `before` has the
      figures of earlier runs that decide no longer.
    - `looks` is the number of planned interim analyses while seeds are added. They share the level
      of counts and of bounds; verdicts by sign flips hold at any number of looks.
    - `minutes` is the time of one core, measured.
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
    """Return the names of the claims, those of your own folder included."""
    return list(folders(config_dir))


def question(name: str, config_dir: Path | None = None) -> str:
    """Return the first line of the file of a claim."""
    return first_line(folders(config_dir)[name] / FILE)


def folders(config_dir: Path | None) -> dict[str, Path]:
    """Return the folder of each claim by its name."""
    roots = [conf_dir(), *([config_dir] if config_dir else [])]
    files = (file for root in roots for file in (root / GROUP).glob(f"*/{FILE}"))
    return dict(sorted({file.parent.name: file.parent for file in files}.items()))


def read_written(folder: Path) -> Written:
    """Return the fields of the file in the folder of a claim.

    Raises RequestError for a file without the fields of a claim, for numbers of seeds that are too
    small, for `tune_by` without `tune`, for words of its sweeps that a file may not hold, for a
    prediction that has no date or one in the future, and for a field with the words of the
    template.
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

"""Exercises: a folder each, with a question and files to begin with, and what is checked of them.

`exercise.yaml` in the folder says what is checked. All other files are what a student gets.
"""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from attnexp.config.groups import first_line
from attnexp.course.documents import read_document
from attnexp.errors import RequestError, none_of, unwritable

FOLDER = Path(__file__).parent / "exercises"
DESCRIPTION = "exercise.yaml"
ANSWER = "answer.yaml"
CONFIG = "conf"
"""The folder of a student's own configuration, in an exercise that has one."""

Setting = str | bool | int | float


class ScoreCase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Queries and keys, and the weights that a softmax over the keys then gives."""

    settings: list[str]
    queries: list[list[float]]
    keys: list[list[float]]
    weights: list[list[float]]


class DataCase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The queries of the test set of a curve, and their targets."""

    settings: list[str]
    queries: list[float]
    targets: list[float]


class ScoreTask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A score to be written: its name as `model=`, its number of parameters, and worked cases."""

    choice: str
    parameters: int
    cases: list[ScoreCase]


class DataTask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A data set to be written: its name as `data=`, and worked cases."""

    choice: str
    cases: list[DataCase]


class Comparison(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Runs to be made: two sides that differ in these settings, at the same others, by a metric."""

    metric: str
    sides: tuple[dict[str, Setting], dict[str, Setting]]
    same: dict[str, Setting]

    @property
    def labels(self) -> tuple[str, str]:
        """What the two sides are called in an answer: `model=dot`."""
        first, second = map(settings_text, self.sides)
        return first, second


class Exercise(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is checked: the runs that compare, and a score or a data set where one is written."""

    chapter: str
    comparison: Comparison
    score: ScoreTask | None = None
    data: DataTask | None = None

    @property
    def has_code(self) -> bool:
        """Whether a student writes code."""
        return self.score is not None or self.data is not None


def settings_text(settings: Mapping[str, Setting]) -> str:
    """Return settings as they are written on a command line."""
    return " ".join(f"{name}={value}" for name, value in settings.items())


def names() -> list[str]:
    """Return the names of the exercises."""
    return sorted(path.parent.name for path in FOLDER.glob(f"*/{DESCRIPTION}"))


def question(name: str) -> str:
    """Return what an exercise asks, in a line."""
    return first_line(FOLDER / name / DESCRIPTION)


def read_exercise(name: str) -> Exercise:
    """Return an exercise. Raises RequestError for a name that there is not."""
    known = names()
    if name not in known:
        raise RequestError(f"exercise {none_of(name, known)}")
    return read_document(FOLDER / name / DESCRIPTION, Exercise)


def start(name: str, folder: Path) -> None:
    """Write the question and the files of an exercise into a new folder, whole or not at all.

    Raises RequestError for a folder that is there, and for one that cannot be written.
    """
    read_exercise(name)
    if os.path.lexists(folder):
        raise RequestError(f"{folder} is there already: name a folder that is not, or remove it")
    try:
        with tempfile.TemporaryDirectory(prefix=".exercise-", dir=folder.parent) as place:
            whole = Path(place, name)
            aside = shutil.ignore_patterns(DESCRIPTION, "__pycache__")
            shutil.copytree(FOLDER / name, whole, ignore=aside, copy_function=shutil.copyfile)
            whole.rename(folder)
    except OSError as error:
        raise unwritable("FOLDER", folder, error) from error

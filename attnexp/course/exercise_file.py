"""Exercises: each a folder with a question, files to begin with, and a description of checks.

The folder may be anywhere. `exercise.yaml` describes the checks, `answer.yaml` is filled in.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from attnexp.config.documents import read_document
from attnexp.config.groups import first_line
from attnexp.config.plain_words import require_plain
from attnexp.core.errors import RequestError, none_of, writable
from attnexp.core.language import LANGUAGES, Phrase
from attnexp.runs import lock
from attnexp.runs.files import read_bytes

FOLDER = Path(__file__).parent / "exercises"
DESCRIPTION = "exercise.yaml"
ANSWER = "answer.yaml"
HINT, SOLUTION = "hint.md", "solution.md"
"""Texts of an exercise that a student's folder does not have, in English."""

PASSED = ".passed"
"""The file that marks a student's folder whose checks have all passed."""

_COPY = "copy"
_PREFIX = ".exercise-"
_LEFTOVER = re.compile(rf"{re.escape(_PREFIX)}\w{{8}}")
"""The names of folders that `start` leaves if its process is killed, and what they hold."""

Setting = str | bool | int | float


class Check(msgspec.Struct, frozen=True):
    """One check: its name, whether it has passed, and a sentence about it."""

    name: str
    passed: bool
    sentence: Phrase


class ExerciseComparison(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The runs to make: two sides that differ in these settings, and the metric to compare."""

    metric: str
    sides: tuple[dict[str, Setting], dict[str, Setting]]
    same: dict[str, Setting]

    @property
    def labels(self) -> tuple[str, str]:
        """The two sides by their names in a table, such as `dot` or `arch.heads=4`."""
        first, second = map(_row_name, self.sides)
        return first, second


class Heads(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The runs whose heads are taken out one at a time, and the metric that this changes.

    `layer` is a layer of attention as `attnexp probe` names it, such as `cross.1`, and `count` the
    number of its heads.
    """

    metric: str
    layer: str
    count: int
    same: dict[str, Setting]

    def without(self, head: int) -> str:
        """Return the name of the intervention that takes out a head, which counts from 1."""
        return f"zero={self.layer}.{head}"


class Forecast(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A number to predict before the first run: that of a claim in the folder's `conf`."""

    claim: str
    number: str


class Exercise(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An exercise: the checks of its runs, and the file of tests if it asks for code.

    Exactly one of `comparison`, `heads` and `forecast` is given.
    """

    chapter: str
    comparison: ExerciseComparison | None = None
    heads: Heads | None = None
    forecast: Forecast | None = None
    tests: str | None = None


class ExerciseAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer to an exercise.

    - Of a comparison: the mean paired difference, first side minus second, its 95% interval, and
      the better side.
    - Of heads: the head that matters most at each seed, and the mean difference without it.
    - Of a forecast: the number that was predicted, the one that was measured, and the verdict.
    """

    exercise: str
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    better: str | None = None
    heads: dict[int, int] | None = None
    predicted: float | None = None
    measured: float | None = None
    verdict: str | None = None


def _row_name(side: Mapping[str, Setting]) -> str:
    """Return the name of a row: choices by their names, without settings of these choices."""
    return ", ".join(
        f"{name}={value}" if "." in name else str(value)
        for name, value in side.items()
        if name.partition(".")[0] == name or name.partition(".")[0] not in side
    )


def settings_text(settings: Mapping[str, Setting]) -> str:
    """Return settings as they are written on a command line."""
    return " ".join(f"{name}={value}" for name, value in settings.items())


def names() -> list[str]:
    """Return the names of the exercises that attnexp ships."""
    return sorted(path.parent.name for path in FOLDER.glob(f"*/{DESCRIPTION}"))


def question(name: str, language: str) -> str:
    """Return the question of an exercise in one line; in Chinese, the title of its page."""
    file = DESCRIPTION if language == LANGUAGES[0] else in_language("README.md", language)
    return first_line(FOLDER / name / file)


def read_exercise(folder: Path) -> tuple[Exercise, ExerciseAnswer]:
    """Return the exercise in a folder, and its answer so far.

    Raises RequestError for a folder that holds no exercise, for files that cannot be read, and for
    a setting of its runs that a file may not hold: see `require_plain`.
    """
    if not os.path.isfile(folder / DESCRIPTION):
        raise RequestError(
            f"{folder} holds no {DESCRIPTION}: `attnexp exercise start NAME` makes a folder that "
            "does"
        )
    description = read_document(folder / DESCRIPTION, Exercise)
    kinds = (description.comparison, description.heads, description.forecast)
    if sum(kind is not None for kind in kinds) != 1:
        raise RequestError(
            f"{folder / DESCRIPTION} must have exactly one of comparison, heads and forecast"
        )
    for settings in _settings(description):
        for name, value in settings.items():
            require_plain(f"{name}={value}", folder / DESCRIPTION)
    return description, read_document(folder / ANSWER, ExerciseAnswer)


def _settings(exercise: Exercise) -> Iterator[dict[str, Setting]]:
    """Yield the settings of the runs that an exercise asks for."""
    if exercise.comparison is not None:
        yield from (*exercise.comparison.sides, exercise.comparison.same)
    if exercise.heads is not None:
        yield exercise.heads.same


def begun() -> Iterator[tuple[str, Path]]:
    """Yield each exercise that was begun here, and its folder: the current one, or one in it.

    A folder whose answer cannot be read has the exercise of its own name.
    """
    here = Path()
    for file in (*here.glob(DESCRIPTION), *sorted(here.glob(f"*/{DESCRIPTION}"))):
        folder = file.parent
        try:
            yield read_document(folder / ANSWER, ExerciseAnswer).exercise, folder
        except RequestError:
            yield folder.resolve().name, folder


def folders_of(name: str) -> list[Path]:
    """Return the folders in which an exercise was begun here."""
    return [folder for each, folder in begun() if each == name]


def state(name: str) -> str:
    """Return `done`, `begun` or nothing, by the folders in which an exercise was begun here."""
    folders = folders_of(name)
    if any(os.path.isfile(folder / PASSED) for folder in folders):
        return "done"
    return "begun" if folders else ""


def in_language(file: str, language: str) -> str:
    """Return the name of a text in a language: `hint.md`, and `hint.zh.md` in Chinese."""
    return file if language == LANGUAGES[0] else f"{file.removesuffix('.md')}.{language}.md"


def text_of(name: str, file: str, language: str) -> str:
    """Return the hint or the solution of an exercise that attnexp ships, in a language.

    Raises RequestError for a name that is none, and for an exercise that has no such text.
    """
    if name not in names():
        raise RequestError(f"exercise {none_of(name, names())}")
    return (FOLDER / name / in_language(file, language)).read_text("utf-8")


def start(name: str, folder: Path | None) -> Path:
    """Copy an exercise into a new folder, whole or not at all, and return the folder.

    `name` is an exercise that attnexp ships, or the folder of another. Without a `folder` the new
    one has the name of the exercise. Raises RequestError for an exercise that does not exist, for a
    folder that exists, and for one that cannot be written.
    """
    source = FOLDER / name if name in names() else Path(name)
    if not os.path.isfile(source / DESCRIPTION):
        raise RequestError(f"exercise {none_of(name, names())}")
    folder = folder or Path(source.resolve().name)
    if os.path.lexists(folder):
        raise RequestError(f"{folder} exists already: name another folder, or remove it")
    _remove_leftovers(folder.parent)
    with (
        writable("FOLDER", folder),
        tempfile.TemporaryDirectory(prefix=_PREFIX, dir=folder.parent) as place,
        lock.hold(Path(place)),
    ):
        whole = Path(place, _COPY)
        _copy(source, whole)
        whole.rename(folder)
    return folder


def _copy(source: Path, target: Path) -> None:
    """Copy a folder without runs, caches, and what a student's folder does not have."""
    told = [in_language(file, each) for file in (HINT, SOLUTION) for each in LANGUAGES]
    left_out = {"outputs", "__pycache__", *told, PASSED}
    for place, folders, names in os.walk(source, followlinks=True):
        folders[:] = set(folders) - left_out
        copy = target / Path(place).relative_to(source)
        copy.mkdir()
        for name in set(names) - left_out:
            (copy / name).write_bytes(read_bytes(Path(place, name)))


def _remove_leftovers(parent: Path) -> None:
    """Remove the folders of earlier starts that were killed, and nothing else."""
    for folder in parent.glob(f"{_PREFIX}*"):
        own = _LEFTOVER.fullmatch(folder.name) and os.path.isdir(folder / _COPY)
        if own and not lock.is_held(folder):
            shutil.rmtree(folder, ignore_errors=True)

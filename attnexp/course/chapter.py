"""Chapters of the course: the commands of each, what they show, and the pictures that they draw."""

from pathlib import Path

import msgspec

from attnexp.config.groups import first_line
from attnexp.course.documents import read_document
from attnexp.errors import RequestError, none_of

FOLDER = Path(__file__).parent / "chapters"


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A command, what it shows, and the pictures that it draws."""

    command: str
    shows: str
    pictures: list[str] = []


class Chapter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Its number, its page in the documents, the minutes that it takes, and its steps."""

    number: int
    page: str
    minutes: float
    steps: list[Step]


def names() -> list[str]:
    """Return the names of the chapters, in the order of their numbers."""
    found = (path.stem for path in FOLDER.glob("*.yaml"))
    return sorted(found, key=lambda name: _read(name).number)


def title(name: str) -> str:
    """Return what a chapter is about, in a line."""
    return first_line(FOLDER / f"{name}.yaml")


def read_chapter(name: str) -> Chapter:
    """Return a chapter. Raises RequestError for a name that there is not."""
    known = names()
    if name not in known:
        raise RequestError(f"chapter {none_of(name, known)}")
    return _read(name)


def _read(name: str) -> Chapter:
    return read_document(FOLDER / f"{name}.yaml", Chapter)

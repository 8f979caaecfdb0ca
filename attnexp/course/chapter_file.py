"""Chapters of the course: their commands, the results to see, and the pictures that they draw."""

import re
from pathlib import Path

import msgspec

from attnexp.config.documents import read_document
from attnexp.config.groups import first_line
from attnexp.core.errors import RequestError, choose, none_of, suggestion, with_choices

FOLDER = Path(__file__).parent / "chapters"


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A command, a sentence on its result, and the pictures that it draws, as patterns of paths."""

    command: str
    shows: str
    pictures: list[str] = []


class Chapter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The number of a chapter, its page, the minutes that it takes, and its steps."""

    number: int
    page: str
    minutes: float
    steps: list[Step]


def names() -> list[str]:
    """Return the names of the chapters, in the order of their numbers."""
    found = {path.stem: _read(path.stem).number for path in FOLDER.glob("*.yaml")}
    return sorted(found, key=found.__getitem__)


def title(name: str) -> str:
    """Return the topic of a chapter in one line."""
    return first_line(FOLDER / f"{name}.yaml")


def read_chapter(name: str) -> Chapter:
    """Return a chapter. Raises RequestError for an unknown name."""
    every = names()
    if name not in every:
        number = re.fullmatch(r"(1[01]\.)?0*([1-9])", name)
        if number and int(number[2]) <= (7 if number[1] else len(every)):
            first = 2 if number[1] else 1  # the book's 10.1 and 11.1 come before its pooling
            near = suggestion([every[min(max(int(number[2]) - first, 0), len(every) - 1)]])
            choices = choose(name, every)
            raise RequestError(with_choices(f"'{name}' is not a chapter", near, choices))
        raise RequestError(f"chapter {none_of(name, every)}")
    return _read(name)


def _read(name: str) -> Chapter:
    chapter: Chapter = read_document(FOLDER / f"{name}.yaml", Chapter)
    return chapter

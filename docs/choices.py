"""Writes the tables of docs/choices.md from the choices: `python docs/choices.py`.

A table follows the comment that names its group: `<!-- conf/model -->`. A row has the first line of
the file, and a fact of the class.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from hydra.utils import get_object
from torch import nn

from attnexp.config.groups import Choice, choices
from attnexp.normalizers.base import Normalizer

PAGE = Path(__file__).resolve().parent / "choices.md"
TABLE = re.compile(r"<!-- conf/(\w+) -->\n\n(?:\|.*\n)*")


def written(page: str) -> str:
    """Return a page with its tables written anew."""
    return TABLE.sub(lambda found: f"<!-- conf/{found[1]} -->\n\n{table(found[1])}", page)


def table(group: str) -> str:
    """Return the table of a group, one row for each choice."""
    heads = [f"`{group}=`", "what", *([FACTS[group][0]] if group in FACTS else [])]
    return as_table(heads, [row(group, choice) for choice in choices(group)])


def as_table(heads: list[str], rows: list[list[str]]) -> str:
    """Return a table of Markdown."""
    cut = ["---"] * len(heads)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (heads, cut, *rows))


def row(group: str, choice: Choice) -> list[str]:
    """Return the cells of a choice."""
    fact = [FACTS[group][1](choice)] if group in FACTS else []
    return [f"`{choice.name}`", description(choice), *fact]


def description(choice: Choice) -> str:
    """Return the first line of a file as a cell."""
    return choice.line.replace("|", "&#124;")


def learned(choice: Choice) -> str:
    """Return the names of what a score learns."""
    names = (name.removesuffix(".weight") for name, _ in made(choice, 3, 3).named_parameters())
    return ", ".join(names)


def sums_to_one(choice: Choice) -> str:
    """Return whether the weights of a normalizer sum to 1, as words of a table."""
    normalizer = made(choice, heads=1)
    assert isinstance(normalizer, Normalizer)
    return "yes" if normalizer.sums_to_one else "no"


def made(choice: Choice, *arguments: int, **more: int) -> nn.Module:
    """Return the module that a file describes."""
    target, settings = target_of(choice)
    module: nn.Module = get_object(target)(*arguments, **more, **settings)
    return module


def target_of(choice: Choice) -> tuple[str, dict[str, Any]]:
    """Return the dotted name of the class that a file names, and its settings."""
    settings = yaml.safe_load(choice.path.read_text(encoding="utf-8"))
    return settings.pop("_target_"), settings


FACTS: dict[str, tuple[str, Callable[[Choice], str]]] = {
    "model": ("learned", learned),
    "normalizer": ("sums to 1", sums_to_one),
}
"""The head and the fact of the third column of a group."""

if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

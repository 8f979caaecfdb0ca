"""The arguments that several verbs have, and the functions that parse them."""

import argparse
import csv
import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Literal

from attnexp.cli.candidates import files, runs
from attnexp.cli.parser import Argument
from attnexp.core.errors import RequestError, choices_text, none_of
from attnexp.core.language import LANGUAGES, language_of
from attnexp.runs.files import SUMMARY
from attnexp.runs.key import RESULTS_VERSION
from attnexp.tables.formats import FORMATS, Output, chosen_format
from attnexp.tables.paper import Paper

OF_FILES = re.compile(
    r"\.(bmp|csv|docx?|eps|gif|html?|jpe?g|json|md|odt|pdf|png|pptx?|ps|py|svg|tex|tiff?|txt|webp"
    r"|xlsx?|ya?ml|zip)$",
    re.IGNORECASE,
)
"""The endings by which a name is that of a file, and not of a folder."""

NAMING = "the folder, the beginning of its name, a number from `results --runs`, or last"


def listed(text: str) -> list[str]:
    """Return the names in a text, which commas separate. Quotes hold a name with a comma.

    Raises ArgumentTypeError for a text without a name.
    """
    names = next(csv.reader([text], skipinitialspace=True), [])
    found = [name.strip() for name in names if name.strip()]
    if not found:
        raise argparse.ArgumentTypeError(f"expected a name, got '{text}'")
    return found


def named(text: str) -> str:
    """Return a text that is not blank. Raises ArgumentTypeError for another one."""
    if not text.strip():
        raise argparse.ArgumentTypeError(f"expected a name, got '{text}'")
    return text


def count(text: str) -> int:
    """Return the positive integer that a text is. Raises ArgumentTypeError for another text."""
    if not text.strip().isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive integer")
    return int(text)


def limit(text: str) -> int:
    """Return the integer from 0 on that a text is. Raises ArgumentTypeError for another text."""
    if not text.strip().isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 0 on")
    return int(text)


def place(text: str) -> int:
    """Return the index, from 0, of a text that counts from 1. Raises as `count`."""
    return count(text) - 1


def fraction(text: str) -> float:
    """Return the number of at least 0 that a text is. Raises ArgumentTypeError for another text."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 0 on")
    return number


def places(text: str) -> tuple[int, ...]:
    """Return the indices, from 0, for numbers that count from 1: `1, 3` is (0, 2)."""
    return tuple(place(part) for part in listed(text))


def folder(text: str) -> Path:
    """Return the path of a folder. Raises ArgumentTypeError for a name that ends like a file."""
    if OF_FILES.search(text):
        raise argparse.ArgumentTypeError(
            f"{text} ends like a file, and a folder is expected: write {Path(text).with_suffix('')}"
        )
    return Path(text)


def written_as(what: str, *endings: str) -> Argument:
    """Return an argument for a file that must have one of these endings; `what` says why."""

    def path(text: str) -> Path:
        if not text.lower().endswith(endings):
            raise argparse.ArgumentTypeError(
                f"{text} must end with {choices_text(endings)}: {what}"
            )
        return Path(text)

    return Argument(type=path, completes=files)


def module_name(text: str) -> str:
    """Return the dotted name of a module. Raises ArgumentTypeError for another text."""
    if not all(part.isidentifier() for part in text.split(".")):
        raise argparse.ArgumentTypeError(f"'{text}' is not the name of a module, such as my_scores")
    return text


def run_path(word: str) -> Path:
    """Return the path of a run that a word names, see `path_of`."""
    from attnexp.select.reference import path_of  # NumPy would slow down every help text

    return Path(path_of(word))


def one_run(word: str) -> Path:
    """Return the path of a single run that a word names, see `path_of`.

    Raises RequestError for a folder of runs, with a word that names the last of them.
    """
    from attnexp.select.collect import OUTPUTS, collect
    from attnexp.select.reference import LAST, numbered

    path = run_path(word)
    if (
        os.path.isdir(path)
        and not os.path.exists(path / SUMMARY)
        and (runs := collect([path]).runs)
    ):
        newest = numbered(runs)[-1].path
        name = LAST if os.path.normpath(path) == OUTPUTS else newest
        count = "one run" if len(runs) == 1 else f"{len(runs)} runs"
        raise RequestError(f"{path} is a folder of {count}: name one, such as {name}")
    return path


def check_all(names: Sequence[str], choices: Sequence[str], what: str) -> Sequence[str]:
    """Return the names. Raises RequestError for a name that is not among the choices."""
    for name in names:
        if name not in choices:
            raise RequestError(f"--{what}: {none_of(name, choices)}")
    return names


def decimals(text: str) -> int:
    """Return a number of decimal digits, 0 to 12. Raises ArgumentTypeError for another text."""
    if not re.fullmatch(r"[0-9]|1[0-2]", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 0 to 12")
    return int(text)


def latex_label(text: str) -> str:
    """Return the name of a label in LaTeX. Raises ArgumentTypeError for another text."""
    if not re.fullmatch(r"[A-Za-z0-9:._/+-]+", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a label such as tab:dates")
    return text


def latex_caption(text: str) -> str:
    """Return LaTeX that can be the argument of a caption.

    Formulas, `\\%` and commands with an argument may be in it.
    """
    bare = re.sub(r"\\[^A-Za-z]", "", text)
    depths = list(accumulate((c == "{") - (c == "}") for c in bare))
    if min(depths, default=0) < 0 or (depths and depths[-1]) or bare.count("$") % 2:
        raise argparse.ArgumentTypeError(f"'{text}' is LaTeX that leaves a brace or a $ open")
    outside = re.sub(r"\$[^$]*\$|\\[A-Za-z]+\{[^{}]*\}", "", bare)
    if found := re.search("%", bare) or re.search("[#&_^]", outside):
        raise argparse.ArgumentTypeError(f"'{text}' is LaTeX: write \\{found[0]} for {found[0]}")
    return text


Count = Annotated[int, Argument(type=count, metavar="N")]
Limit = Annotated[int, Argument(type=limit, metavar="N")]
Place = Annotated[int, Argument(type=place, metavar="N")]
Folder = Annotated[Path, Argument(type=folder, completes=files)]
Number = Annotated[float, Argument(type=fraction, metavar="X")]
Name = Annotated[str, Argument(type=named, metavar="NAME")]
Names = Annotated[Sequence[str], Argument(type=listed, metavar="NAME,...")]

Run = Annotated[Path, Argument(f"a run: {NAMING}", completes=runs, type=one_run, metavar="RUN")]

Paths = Annotated[
    Sequence[Path],
    Argument(
        f"folders of runs, or runs: {NAMING}", completes=runs, type=run_path, metavar="RUN|FOLDER"
    ),
]

Where = Annotated[
    str | None,
    Argument('only some runs: "data=sine and model in [dot, cosine]"', metavar="TEST"),
]

ResultsVersion = Annotated[
    int,
    Argument(
        f"runs of another version of the results ({RESULTS_VERSION}); 0 is of none",
        type=limit,
        metavar="N",
    ),
]


def language(text: str) -> str:
    """Return the language of a tag such as zh-CN if it is in `LANGUAGES`, else the text itself."""
    return own if (own := language_of(text)) in LANGUAGES else text


Language = Annotated[
    str,
    Argument("fixed texts in English or in Chinese", type=language, choices=LANGUAGES),
]

EqualWithin = Annotated[
    float | None,
    Argument(
        "the smallest difference that matters; smaller ones count as equal",
        type=fraction,
        metavar="X",
    ),
]

Looks = Annotated[
    int | None,
    Argument("no longer needed: verdicts hold at any number of analyses", type=count, metavar="N"),
]

AttentionName = Annotated[
    str | None, Argument("cross, encoder, decoder, self, ...", metavar="NAME")
]
Layer = Annotated[int | None, Argument("default: the last", type=place, metavar="N")]
Head = Annotated[int | None, Argument("default: the mean of all", type=place, metavar="N")]

Trusted = Annotated[
    Sequence[str],
    Argument(
        "a module of your own that the run may import; can be repeated",
        type=module_name,
        action="append",
        metavar="MODULE",
    ),
]

RunConfig = Annotated[
    Path | None,
    Argument("a configuration of your own, such as the run was trained with", metavar="DIR"),
]

OwnConfig = Annotated[Path | None, Argument("a configuration of your own", metavar="DIR")]

DataFormat = Literal["table", "json"]


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """The options that say in which form tables are written, and where.

    Args:
        format: default: as FILE ends, else table
        output: write there, whole or not at all
        columns: by their heads, or mean, interval, sd, difference, seeds, ...; labels stay
        label: for LaTeX: tab:dates, ...
        caption (TEXT): for LaTeX
        digits (N): for LaTeX: digits after the point of metrics
    """

    format: Annotated[str | None, Argument(choices=FORMATS)] = None
    output: Path | None = None
    columns: Names = ()
    label: Annotated[str | None, Argument(type=latex_label)] = None
    caption: Annotated[str | None, Argument(type=latex_caption)] = None
    digits: Annotated[int | None, Argument(type=decimals)] = None

    def asked(self) -> Output:
        """Return how and where tables are written.

        Raises RequestError for an option that the format has no use for.
        """
        form = chosen_format(self.format, self.output)
        if self.columns and form in ("csv", "json"):
            raise RequestError(
                f"--columns is for table, markdown and latex: {form} always has every column"
            )
        latex = {"label": self.label, "caption": self.caption, "digits": self.digits}
        for name, value in latex.items():
            if value is not None and form != "latex":
                raise RequestError(f"--{name} is for LaTeX, and this is {form}: add --format latex")
        paper = Paper(self.label or "", self.caption or "", self.digits)
        return Output(form, self.output, self.columns, paper)

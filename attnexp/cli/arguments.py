"""The argument parser of our own verbs, and the types of its arguments."""

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NoReturn

from attnexp.core.errors import RequestError, none_of
from attnexp.tables.output import FORMATS

NAMING = "the folder, the beginning of its name, a number from `results --runs`, or last"
"""The words for a run."""


class Arguments(argparse.ArgumentParser):
    """An argument parser that accepts no abbreviations.

    Raises RequestError for arguments that make no sense.
    """

    def __init__(self, verb: str, description: str, epilog: str) -> None:
        super().__init__(
            prog=f"attnexp {verb}",
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        raise RequestError(f"{message}. `{self.prog} --help` shows what there is")


def listed(text: str) -> list[str]:
    """Return the names in a text that separates them by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def count(text: str) -> int:
    """Return a positive integer."""
    if not text.strip().isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive integer")
    return int(text)


def place(text: str) -> int:
    """Return the index, from 0, of a place that counts from 1."""
    return count(text) - 1


def fraction(text: str) -> float:
    """Return a number that is 0 or more."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 0 on")
    return number


def places(text: str) -> tuple[int, ...]:
    """Return the indices of places that count from 1: `1, 3` is (0, 2)."""
    return tuple(place(part) for part in listed(text))


def module_name(text: str) -> str:
    """Return the dotted name of a module."""
    if not all(part.isidentifier() for part in text.split(".")):
        raise argparse.ArgumentTypeError(f"'{text}' is not the name of a module, such as my_scores")
    return text


def run_path(word: str) -> Path:
    """Return the path of a run that a word names, as `path_of`."""
    from attnexp.select.reference import path_of  # NumPy would slow down every help text

    return Path(path_of(word))


def check_all(names: Sequence[str], choices: Sequence[str], what: str) -> Sequence[str]:
    """Return the names. Raises RequestError for one that is not a choice."""
    for name in names:
        if name not in choices:
            raise RequestError(f"--{what}: {none_of(name, choices)}")
    return names


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add the argument that names a run."""
    parser.add_argument("run", type=run_path, metavar="RUN", help=f"a run: {NAMING}")


def add_runs(parser: argparse.ArgumentParser, least: Literal["*", "+"] = "*") -> None:
    """Add the arguments that name runs or folders of runs."""
    parser.add_argument(
        "paths",
        nargs=least,
        type=run_path,
        metavar="RUN|FOLDER",
        help=f"folders of runs, or runs: {NAMING}",
    )


def add_where(parser: argparse.ArgumentParser) -> None:
    """Add the argument that chooses among the runs below the paths."""
    parser.add_argument(
        "--where", metavar="TEST", help='only some runs: "data=sine and model in [dot, cosine]"'
    )


def add_judgement(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of verdicts."""
    parser.add_argument(
        "--equal-within",
        type=fraction,
        metavar="X",
        help="the smallest difference that matters; smaller ones count as equal",
    )
    parser.add_argument(
        "--looks", type=count, default=1, metavar="N", help="planned interim looks (default 1)"
    )


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say in which form tables are written, and where."""
    parser.add_argument("--format", choices=FORMATS, help="default: as FILE ends, else table")
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="write there, whole or not at all"
    )


def add_view(parser: argparse.ArgumentParser, heads: str = "the mean of all") -> None:
    """Add the arguments that choose what is shown of an attention."""
    parser.add_argument("--attention", metavar="NAME", help="cross, encoder, decoder, self, ...")
    parser.add_argument("--layer", type=place, metavar="N", help="default: the last")
    parser.add_argument("--head", type=place, metavar="N", help=f"default: {heads}")


def add_trust(parser: argparse.ArgumentParser) -> None:
    """Add the arguments by which a command line trusts code that a run folder names."""
    parser.add_argument(
        "--trust",
        action="append",
        default=[],
        type=module_name,
        metavar="MODULE",
        help="a module of your own that the run may import; can be repeated",
    )
    parser.add_argument(
        "--config-dir",
        type=Path,
        metavar="DIR",
        help="a configuration of your own, such as the run was trained with",
    )

"""The argument parser of our own verbs, and the types of its arguments."""

import argparse
import csv
import math
import os
import re
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal, NoReturn

from attnexp.cli.candidates import Candidates, files, runs
from attnexp.core.errors import CommandEnded, RequestError, nearest_text, none_of
from attnexp.core.language import LANGUAGES
from attnexp.runs.files import SUMMARY
from attnexp.runs.key import RESULTS_VERSION
from attnexp.tables.formats import FORMATS, Output, chosen_format
from attnexp.tables.paper import Paper

NAMING = "the folder, the beginning of its name, a number from `results --runs`, or last"


class Arguments(argparse.ArgumentParser):
    """An argument parser that accepts no abbreviations.

    Raises RequestError for arguments that make no sense.
    """

    def __init__(self, verb: str, description: str, epilog: str, **settings: Any) -> None:
        super().__init__(
            prog=f"attnexp {verb}",
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            **settings,
        )

    def add_argument(
        self, *names: str, completes: Candidates | None = None, **settings: Any
    ) -> argparse.Action:
        """Add an argument, and the candidates for its completion: of a path, files."""
        action = super().add_argument(*names, **settings)
        setattr(action, "completer", completes or (files if settings.get("type") is Path else None))
        return action

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise CommandEnded(status)

    def parse_known_intermixed_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the arguments. An unknown option is refused before the words after it are read."""
        for word in args or ():
            if word == "--":
                break
            if word.startswith("--") and word.partition("=")[0] not in self._option_string_actions:
                self.error(f"unrecognized arguments: {word}")
        return super().parse_known_intermixed_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        options = [name for action in self._actions for name in action.option_strings]
        found = re.fullmatch(r"unrecognized arguments: ([^\s=]+).*", message, re.DOTALL)
        near = nearest_text(found[1], options) if found else ""
        text = f"{message.removesuffix('.')}.{near}"
        raise RequestError(f"{text} `{self.prog} --help` shows what there is")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            name = "/".join(action.option_strings) or action.dest
            raise RequestError(f"{name} {none_of(str(value), list(action.choices))}")


def listed(text: str) -> list[str]:
    """Return the names in a text that separates them by commas; quotes hold one with a comma."""
    names = next(csv.reader([text], skipinitialspace=True), [])
    return [name.strip() for name in names if name.strip()]


def count(text: str) -> int:
    """Return a positive integer."""
    if not text.strip().isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive integer")
    return int(text)


def limit(text: str) -> int:
    """Return an integer that is 0 or more."""
    if not text.strip().isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 0 on")
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


def one_run(word: str) -> Path:
    """Return the path of a run that a word names, as `path_of`.

    Raises RequestError for a folder of runs, with the word for the last of these.
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
    """Return the names. Raises RequestError for one that is not a choice."""
    for name in names:
        if name not in choices:
            raise RequestError(f"--{what}: {none_of(name, choices)}")
    return names


def add_run(parser: Arguments) -> None:
    """Add the argument that names a run."""
    parser.add_argument("run", type=one_run, completes=runs, metavar="RUN", help=f"a run: {NAMING}")


def add_runs(parser: Arguments, least: Literal["*", "+"] = "*") -> None:
    """Add the arguments that name runs or folders of runs."""
    parser.add_argument(
        "paths",
        nargs=least,
        type=run_path,
        completes=runs,
        metavar="RUN|FOLDER",
        help=f"folders of runs, or runs: {NAMING}",
    )


def add_where(parser: Arguments) -> None:
    """Add the argument that chooses among the runs below the paths."""
    parser.add_argument(
        "--where", metavar="TEST", help='only some runs: "data=sine and model in [dot, cosine]"'
    )


def add_results_version(parser: Arguments) -> None:
    """Add the argument that chooses the results version of the runs below the paths."""
    parser.add_argument(
        "--results-version",
        type=limit,
        default=RESULTS_VERSION,
        metavar="N",
        help=f"runs of another version of the results ({RESULTS_VERSION}); 0 is of none",
    )


def add_language(parser: Arguments, default: str | None = LANGUAGES[0]) -> None:
    """Add the argument for the language of fixed texts."""
    parser.add_argument(
        "--lang", choices=LANGUAGES, default=default, help="fixed texts in English or in Chinese"
    )


def add_judgement(parser: Arguments) -> None:
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


def digits(text: str) -> int:
    """Return a number of digits after the decimal point."""
    if not re.fullmatch(r"[0-9]|1[0-2]", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 0 to 12")
    return int(text)


def label(text: str) -> str:
    """Return the name of a label in LaTeX."""
    if not re.fullmatch(r"[A-Za-z0-9:._/+-]+", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a label such as tab:dates")
    return text


def caption(text: str) -> str:
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


"""The arguments of `add_output` that are for LaTeX alone."""


def add_output(parser: Arguments) -> None:
    """Add the arguments that say in which form tables are written, and where."""
    parser.add_argument("--format", choices=FORMATS, help="default: as FILE ends, else table")
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="write there, whole or not at all"
    )
    parser.add_argument(
        "--columns",
        type=listed,
        default=[],
        metavar="NAME,...",
        help="by their heads, or mean, interval, sd, difference, seeds, ...; labels stay",
    )
    parser.add_argument("--label", type=label, metavar="NAME", help="for LaTeX: tab:dates, ...")
    parser.add_argument("--caption", type=caption, metavar="TEXT", help="for LaTeX")
    parser.add_argument(
        "--digits", type=digits, metavar="N", help="for LaTeX: digits after the point of metrics"
    )


def asked_output(arguments: argparse.Namespace) -> Output:
    """Return the output that the arguments of `add_output` ask for.

    Raises RequestError for an argument that the format has no use for.
    """
    form = chosen_format(arguments.format, arguments.output)
    if arguments.columns and form in ("csv", "json"):
        raise RequestError(
            f"--columns is for table, markdown and latex: {form} always has every column"
        )
    for name in ("label", "caption", "digits"):
        if getattr(arguments, name) is not None and form != "latex":
            raise RequestError(f"--{name} is for LaTeX, and this is {form}: add --format latex")
    paper = Paper(arguments.label or "", arguments.caption or "", arguments.digits)
    return Output(form, arguments.output, arguments.columns, paper)


def add_view(parser: Arguments, heads: str = "the mean of all") -> None:
    """Add the arguments that choose the map to show."""
    parser.add_argument("--attention", metavar="NAME", help="cross, encoder, decoder, self, ...")
    parser.add_argument("--layer", type=place, metavar="N", help="default: the last")
    parser.add_argument("--head", type=place, metavar="N", help=f"default: {heads}")


def add_trust(parser: Arguments) -> None:
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

"""`attnexp card`: a score, a normalizer or positions in a battery of trials."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attnexp.cli.arguments import Arguments, count, fraction, listed
from attnexp.cli.candidates import chosen
from attnexp.config.trust import search_user_modules
from attnexp.core import console
from attnexp.core.errors import RequestError
from attnexp.runs.files import file_word
from attnexp.runs.origin.command_line import own_words

if TYPE_CHECKING:
    from attnexp.cards.card_file import Card
    from attnexp.cards.card_place import CardPlace
    from attnexp.cards.rows import CardRow

TAKEN = ("model", "normalizer", "estimator", "attention", "positions", "arch")
"""The groups whose choices and settings make a row."""

EPILOG = """examples:
  attnexp card --quick model=cosine                  six seeds of small tasks
  attnexp card normalizer=sparsemax                  ten seeds; --full: twenty, published sizes
  attnexp card --quick model=mine --config-dir conf  a score of your own
  attnexp card --quick model=cosine --trials reverse,needle
  attnexp card --into a.json --trials sort           a trial that the card lacks
  attnexp card --compare a.json b.json               a table of cards, without their runs
  attnexp verify a.json                              rows of a card, made anew
  attnexp card --quick model=cosine --format json    for programs: the card, as in its file
`attnexp docs card` says what each trial asks.
"""


def main(argv: Sequence[str]) -> None:
    """Run the missing parts of a card, write it, and show it; or compare cards.

    Raises RequestError for arguments that make no sense, cards that cannot be read or do not fit
    each other, and a file that cannot be written.
    """
    arguments = make_parser().parse_intermixed_args(argv)
    if arguments.compare:
        _compare(arguments)
        return
    is_read = arguments.format == "json"  # by a program, which takes nothing else
    if arguments.dry_run and is_read:
        raise RequestError("--dry-run makes no card: leave out --format json")
    with console.screen.aside(is_read):
        card = _card(arguments)
    if is_read and card is not None:
        from attnexp.cards.card_file import encoded

        sys.stdout.write(encoded(card).decode() + "\n")


def _card(arguments: argparse.Namespace) -> "Card | None":
    """Write a card and return it, None after --dry-run."""
    from attnexp.cards.card_file import read_card
    from attnexp.cards.card_place import INTO
    from attnexp.cards.carry_out import make_card
    from attnexp.cards.lines import Effort
    from attnexp.cards.trial import MINUTES, SEEDS, LevelName, read_tasks

    into = read_card(arguments.into) if arguments.into else None
    _complete(arguments, into)
    stored = next((name for name in SEEDS if into is not None and name == into.level), None)
    level: LevelName = arguments.level or stored or "default"
    if arguments.config_dir is not None:
        search_user_modules(arguments.config_dir)
    tasks = read_tasks(level, arguments.trials, arguments.config_dir)
    rows = _rows(arguments, into, any(task.trial.of_products for task in tasks))
    place = _place(arguments, rows[0].label, level)
    seeds = arguments.seeds or SEEDS[level]
    if (there := place.stored()) is not None:
        if place.option == INTO:
            tasks = [
                task for task in tasks if task.name not in {each.name for each in there.trials}
            ]
        asked = [(row.label, row.words) for row in rows]
        place.require_addable(there, level, seeds, asked, [task.name for task in tasks])
    if arguments.dry_run:
        for task in tasks:
            console.print_line(f"{task.name}: {task.asks} {' '.join(task.words)}".rstrip())
        return None
    place.require_writable()
    minutes = arguments.minutes or MINUTES[level]
    effort = Effort(level, seeds, minutes, arguments.device, arguments.config_dir)
    return _written(place, make_card(rows, tasks, effort))


def _complete(arguments: argparse.Namespace, into: "Card | None") -> None:
    """Take what is not given from the card of --into. Raises RequestError for what is missing."""
    if into is not None:
        if not into.trials or arguments.output is not None or arguments.into.suffix != ".json":
            raise RequestError("--into takes a CARD.json with trials, and no --output")
        arguments.words = arguments.words or into.trials[0].rows[0].words
        arguments.seeds = arguments.seeds or into.seeds
    if not arguments.words:
        raise RequestError("name what the card is of, such as model=cosine or normalizer=sparsemax")
    if arguments.minutes == 0:
        raise RequestError("--minutes must be greater than 0")
    if arguments.output is not None and arguments.output.suffix != ".html":
        raise RequestError(f"--output: {arguments.output} must end with .html, next to its JSON")


def _rows(arguments: argparse.Namespace, into: "Card | None", by_products: bool) -> "list[CardRow]":
    """Return the rows of a card, and say them. They know of products if a trial asks for that."""
    from attnexp.cards.nearest import with_products
    from attnexp.cards.rows import rows_of

    rows = rows_of(arguments.words, _baselines(arguments, into))
    if by_products:
        own = own_words(arguments.config_dir)
        rows = [with_products(row, own) for row in rows]
    for row in rows:
        console.print_line(f"{'baseline' if row is not rows[0] else 'subject'}: {row.label}")
    return rows


def _place(arguments: argparse.Namespace, subject: str, level: str) -> "CardPlace":
    """Return where the card is written: where an option says, or next to its runs."""
    from attnexp.cards.card_place import INTO, OUTPUT, CardPlace
    from attnexp.cards.lines import FOLDER

    if arguments.into is not None:
        return CardPlace(arguments.into, INTO)
    if arguments.output is not None:
        return CardPlace(arguments.output.with_suffix(".json"), OUTPUT)
    return CardPlace(FOLDER / f"{file_word(subject)}-{level}.json")


def _written(place: "CardPlace", card: "Card") -> "Card":
    """Write a card, show it with the trials that are there, and return both."""
    from attnexp.cards.page import card_content, overview, summary_sentences
    from attnexp.report.render import page
    from attnexp.tables.grid import Report
    from attnexp.tables.screen import show

    card = place.add(card, lambda whole: page(card_content(whole)).encode("utf-8", "replace"))
    show(Report([overview(card)], verdicts=summary_sentences(card)))
    console.print_line(f"{console.relative(place.page)}  {console.relative(place.path)}")
    return card


def _baselines(arguments: argparse.Namespace, there: "Card | None") -> list[list[str]]:
    """Return the words of the named baselines, of those there, or of the usual and the nearest."""
    if arguments.baseline:
        return [word.split() for word in arguments.baseline]
    if there is not None:
        return [row.words for row in there.trials[0].rows[1:]]
    from attnexp.cards.nearest import nearest_relative
    from attnexp.cards.rows import BASELINES, row_of

    usual = [list(words) for words in BASELINES]
    with console.status("seeking the nearest relative"):
        nearest = nearest_relative(row_of(arguments.words), own_words(arguments.config_dir))
    return [*usual, nearest] if nearest else usual


def _compare(arguments: argparse.Namespace) -> None:
    from attnexp.cards.card_file import merged, read_card
    from attnexp.cards.page import leaderboard
    from attnexp.tables.formats import Output, chosen_format, emit

    if arguments.words:
        raise RequestError(f"--compare takes cards alone, got {' '.join(arguments.words)}")
    cards = [read_card(path) for path in arguments.compare]
    trials = merged(cards, [str(path) for path in arguments.compare])
    form = chosen_format(arguments.format, arguments.output)
    emit(leaderboard(trials), Output(form, arguments.output))


def make_parser() -> Arguments:
    """Return the parser of the arguments."""
    parser = Arguments("card", "Try a mechanism in a battery of tasks.", EPILOG)
    parser.add_argument(
        "words",
        nargs="*",
        completes=chosen({name: name for name in TAKEN}),
        metavar="NAME=VALUE",
        help=f"{', '.join(TAKEN[:-1])} or {TAKEN[-1]}, and any of their settings",
    )
    parser.add_argument(
        "--quick",
        dest="level",
        action="store_const",
        const="quick",
        help="small tasks and 6 seeds",
    )
    parser.add_argument(
        "--full",
        dest="level",
        action="store_const",
        const="full",
        help="the published sizes and 20 seeds",
    )
    parser.add_argument(
        "--baseline",
        action="append",
        metavar="WORDS",
        help="in place of scaled_dot, additive and the nearest relative; can be repeated",
    )
    parser.add_argument(
        "--trials", type=listed, default=[], metavar="NAME,...", help="only these trials"
    )
    parser.add_argument(
        "--into", type=Path, metavar="CARD.json", help="add the missing trials to this card"
    )
    parser.add_argument("--seeds", type=count, metavar="N", help="seeds of each row")
    parser.add_argument(
        "--minutes", type=fraction, metavar="M", help="the most minutes of a row in a trial"
    )
    parser.add_argument("--device", default="auto", metavar="NAME", help="auto, cpu, cuda, ...")
    parser.add_argument(
        "--config-dir", type=Path, metavar="DIR", help="a configuration of your own"
    )
    parser.add_argument("--dry-run", action="store_true", help="name the trials, and run nothing")
    _add_cards(parser)
    return parser


def _add_cards(parser: Arguments) -> None:
    """Add the arguments about cards that are there, and those of what is written."""
    parser.add_argument(
        "--compare", nargs="+", type=Path, metavar="CARD.json", help="cards to compare"
    )
    parser.add_argument(
        "--format", choices=("table", "json"), help="default: as the FILE of --compare ends"
    )
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="the page; --compare: the table"
    )

"""`attnexp card`: a score, a normalizer or positions in a battery of trials."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from attnexp.cli import arguments
from attnexp.cli.candidates import chosen
from attnexp.cli.parser import Argument
from attnexp.config.trust import search_user_modules
from attnexp.core import console
from attnexp.core.errors import RequestError
from attnexp.runs.files import file_word
from attnexp.runs.origin.command_line import own_words

if TYPE_CHECKING:
    from attnexp.cards.card_file import Card
    from attnexp.cards.card_place import CardPlace
    from attnexp.cards.rows import CardRow
    from attnexp.cards.trial import LevelName

TAKEN = ("model", "normalizer", "estimator", "attention", "positions", "arch")
"""The groups whose choices and settings make the rows of a card."""

EPILOG = """examples:
  attnexp card --quick model=cosine                  six seeds of small tasks
  attnexp card normalizer=sparsemax                  ten seeds; --full: twenty
  attnexp card --quick model=mine --config-dir conf  a score of your own
  attnexp card --quick model=cosine --trials reverse,needle
  attnexp card --into a.json --trials sort           a trial that the card lacks
  attnexp card --compare a.json b.json               a table of cards
  attnexp verify a.json                              rows of a card, made anew
  attnexp card --quick model=cosine --format json    for programs
`attnexp docs card` says what each trial asks.
"""


FIRST_LOOK = ("sine", "copy", "reverse")
"""Trials that together take a few minutes at the level quick."""


@dataclass(frozen=True, kw_only=True)
class CardOptions:
    """The trials of a card, their size, and the rows.

    Args:
        quick: small tasks and 6 seeds
        full: the published sizes and 20 seeds
        baseline (WORDS): in place of scaled_dot, additive and the nearest relative; can be
            repeated
        trials: only these trials
        into (CARD.json): add the missing trials to this card
        seeds: seeds of each row
        minutes (M): the most minutes of a row in a trial
        device: auto, cpu, cuda, ...
        dry_run: name the trials, and run nothing
    """

    quick: bool = False
    full: bool = False
    baseline: Sequence[str] = ()
    trials: arguments.Names = ()
    into: Path | None = None
    seeds: arguments.Count | None = None
    minutes: arguments.Number | None = None
    device: str = "auto"
    config_dir: arguments.OwnConfig = None
    dry_run: bool = False

    def level(self, stored: str | None) -> "LevelName":
        """Return the level that is asked for, else that of an existing card, else the default.

        Raises RequestError for two levels.
        """
        from attnexp.cards.trial import SEEDS

        if self.quick and self.full:
            raise RequestError("--quick and --full exclude each other: each sets the size")
        if self.quick or self.full:
            return "quick" if self.quick else "full"
        return next((name for name in SEEDS if name == stored), "default")


def main(
    words: Annotated[
        Sequence[str],
        Argument(
            f"{', '.join(TAKEN[:-1])} or {TAKEN[-1]}, and any of their settings",
            completes=chosen({name: name for name in TAKEN}),
            metavar="NAME=VALUE",
        ),
    ] = (),
    *,
    options: CardOptions,
    compare: Annotated[Sequence[Path], Argument(nargs="+")] = (),
    format: Literal["table", "json"] | None = None,
    output: Path | None = None,
) -> None:
    """Try a mechanism in a battery of tasks.

    Runs the missing parts of a card, writes it, and shows it; or compares cards. Raises
    RequestError for cards that cannot be read or do not fit each other, and a file that cannot be
    written.

    Args:
        compare (CARD.json): cards to compare
        format: default: as the FILE of --compare ends
        output: the page; --compare: the table
    """
    if compare:
        if words:
            raise RequestError(f"--compare takes cards alone, got {' '.join(words)}")
        _compare(compare, format, output)
        return
    is_read = format == "json"  # by a program, which takes nothing else
    if options.dry_run and is_read:
        raise RequestError("--dry-run makes no card: leave out --format json")
    with console.screen.aside(is_read):
        card = _card(words, options, output)
    if is_read and card is not None:
        from attnexp.cards.card_file import encoded

        sys.stdout.write(encoded(card).decode() + "\n")


def _card(words: Sequence[str], options: CardOptions, output: Path | None) -> "Card | None":
    """Run the trials that a card lacks, write and return the card; None after --dry-run."""
    from attnexp.cards.card_file import read_card
    from attnexp.cards.card_place import INTO
    from attnexp.cards.carry_out import make_card
    from attnexp.cards.lines import Effort
    from attnexp.cards.trial import MINUTES, SEEDS, read_tasks

    into = None
    if options.into is not None:
        into = read_card(options.into)
        if not into.trials or output is not None or options.into.suffix != ".json":
            raise RequestError("--into takes a CARD.json with trials, and no --output")
        words = words or into.trials[0].rows[0].words
        options = replace(options, seeds=options.seeds or into.seeds)
    _require_fit(words, options, output)
    level = options.level(into.level if into is not None else None)
    if options.config_dir is not None:
        search_user_modules(options.config_dir)
    tasks = read_tasks(level, options.trials, options.config_dir)
    by_products = any(task.trial.of_products for task in tasks)
    rows = _rows(words, _baselines(words, options, into), options.config_dir, by_products)
    place = _place(options.into, output, rows[0].label, level)
    seeds = options.seeds or SEEDS[level]
    if (there := place.stored()) is not None:
        kept = _kept(there, seeds, is_extended=place.option == INTO)
        tasks = [task for task in tasks if task.name not in kept]
        asked = [(row.label, row.words) for row in rows]
        place.require_addable(there, level, seeds, asked, [task.name for task in tasks])
    if options.dry_run:
        for task in tasks:
            console.print_line(f"{task.name}: {task.asks} {' '.join(task.words)}".rstrip())
        return None
    place.require_writable()
    if options.trials == () and len(tasks) > len(FIRST_LOOK):
        console.print_line(
            f"{len(tasks)} trials at {seeds} seeds; --trials {','.join(FIRST_LOOK)} is a first look"
        )
    minutes = options.minutes or MINUTES[level]
    effort = Effort(level, seeds, minutes, options.device, options.config_dir)
    return _written(place, make_card(rows, tasks, effort))


def _kept(there: "Card", seeds: int, is_extended: bool) -> set[str]:
    """Return the names of the trials of a card that are not measured again.

    With --into these are all trials of the card. Otherwise they are the trials of costs, if they
    were measured at as many seeds and on the same processor: another measurement would give other
    numbers.
    """
    from attnexp.runs.origin.provenance import processor

    alike = there.seeds == seeds and there.processor == processor()
    return {each.name for each in there.trials if is_extended or (each.is_cost and alike)}


def _require_fit(words: Sequence[str], options: CardOptions, output: Path | None) -> None:
    """Raise RequestError for a card without a subject, and for options that no card can have."""
    from attnexp.training.device import choose_device  # which imports PyTorch

    if not words:
        raise RequestError("name what the card is of, such as model=cosine or normalizer=sparsemax")
    if options.minutes == 0:
        raise RequestError("--minutes must be greater than 0")
    choose_device(options.device)  # refused once, and not for each row
    if output is not None and output.suffix != ".html":
        raise RequestError(f"--output: {output} must end with .html, next to its JSON")


def _rows(
    words: Sequence[str],
    baselines: Sequence[Sequence[str]],
    config_dir: Path | None,
    by_products: bool,
) -> "list[CardRow]":
    """Return the rows of a card, and print their labels.

    With `by_products` each row also says whether its scores are made of products.
    """
    from attnexp.cards.nearest import with_products
    from attnexp.cards.rows import rows_of

    rows = rows_of(words, baselines)
    if by_products:
        own = own_words(config_dir)
        rows = [with_products(row, own) for row in rows]
    for row in rows:
        console.print_line(f"{'baseline' if row is not rows[0] else 'subject'}: {row.label}")
    return rows


def _place(into: Path | None, output: Path | None, subject: str, level: str) -> "CardPlace":
    """Return where a card is written: where --into or --output says, else next to its runs."""
    from attnexp.cards.card_place import INTO, OUTPUT, CardPlace
    from attnexp.cards.lines import FOLDER

    if into is not None:
        return CardPlace(into, INTO)
    if output is not None:
        return CardPlace(output.with_suffix(".json"), OUTPUT)
    return CardPlace(FOLDER / f"{file_word(subject)}-{level}.json")


def _written(place: "CardPlace", card: "Card") -> "Card":
    """Write a card into its place, show it, and return it with the trials that it had before."""
    from attnexp.cards.page import card_content, overview, summary_sentences
    from attnexp.report.render import page
    from attnexp.tables.grid import Report
    from attnexp.tables.screen import show

    card = place.add(card, lambda whole: page(card_content(whole)).encode("utf-8", "replace"))
    show(Report([overview(card)], verdicts=summary_sentences(card)))
    console.print_line(f"{console.relative(place.page)}  {console.relative(place.path)}")
    return card


def _baselines(words: Sequence[str], options: CardOptions, there: "Card | None") -> list[list[str]]:
    """Return the words of each baseline row.

    These are the baselines that are named, else those of an existing card, else the usual ones and
    the nearest relative.
    """
    if options.baseline:
        return [word.split() for word in options.baseline]
    if there is not None:
        return [row.words for row in there.trials[0].rows[1:]]
    from attnexp.cards.nearest import nearest_relative
    from attnexp.cards.rows import BASELINES, row_of

    usual = [list(words) for words in BASELINES]
    with console.status("seeking the nearest relative"):
        nearest = nearest_relative(row_of(words), own_words(options.config_dir))
    return [*usual, nearest] if nearest else usual


def _compare(paths: Sequence[Path], form: str | None, output: Path | None) -> None:
    from attnexp.cards.card_file import merged, read_card
    from attnexp.cards.page import leaderboard
    from attnexp.tables.formats import Output, chosen_format, emit

    cards = [read_card(path) for path in paths]
    trials = merged(cards, [str(path) for path in paths])
    emit(leaderboard(trials), Output(chosen_format(form, output), output))

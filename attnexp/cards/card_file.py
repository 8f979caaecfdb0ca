"""The file of a card: settings and measurements by seed, without verdicts.

Verdicts are computed from the file, so that cards of several people are judged alike.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from attnexp.config.plain_words import require_plain
from attnexp.core.errors import RequestError, refusal
from attnexp.runs.files import read_bytes, write_bytes
from attnexp.select.sample import EXAMPLES, Sample


class RowResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The measurements of one row in one trial.

    - `numbers` holds the values by name and seed, without numbers that were not measured.
    - `diverged` are the seeds whose numbers became infinite, `lost` is the number of runs without
      a result, `why` the first reason.
    - `tuned` are the values chosen on the validation set, `at_end` the settings whose best value
      was the last one tried.
    - `is_subject` is true for a baseline whose runs have the subject's numbers, bit for bit: the
      compared choice changes nothing in the trial.
    - `seconds` is the total time of the runs, without tuning. A replica counts the time of its
      whole group.
    """

    label: str
    words: list[str]
    numbers: dict[str, dict[int, float]] = {}
    diverged: list[int] = []
    lost: int = 0
    why: str = ""
    tuned: dict[str, str] = {}
    at_end: list[str] = []
    seconds: float = 0.0
    is_subject: bool = False

    def values(self, number: str) -> list[float]:
        """Return the values of a number, one per seed; empty if it was not measured."""
        return list(self.numbers.get(number, {}).values())


class TrialResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The measurements of a trial, the row of the subject first.

    - `words` are the settings of the runs, `tune` the tuned ones, `harder` names settings that make
      the trial harder.
    - `metric` is the deciding number, of which `better` values are higher or lower, in `unit`.
      `chance` is the value by guessing, if known.
    - Differences up to `equal_within` count as equal; for costs, as a share of the baseline's.
    - Each value is computed from `examples` examples.
    - `counted` holds a threshold by column: seeds at or above the threshold are counted.
    - `of_products` are further settings of rows whose scores are products.
    """

    name: str
    asks: str
    source: str
    words: list[str]
    tune: list[str]
    harder: list[str]
    metric: str
    columns: list[str]
    equal_within: float
    rows: list[RowResult]
    better: Literal["lower", "higher"] = "higher"
    counted: dict[str, float] = {}
    of_products: list[str] = []
    unit: str = ""
    chance: float | None = None
    examples: int = EXAMPLES

    @property
    def is_cost(self) -> bool:
        """Whether the trial measures time and memory, and trains nothing."""
        return not self.words

    def sample(self, row: RowResult, number: str) -> Sample:
        """Return a number of a row by seed; empty if it was not measured."""
        values = {seed: {0: value} for seed, value in row.numbers.get(number, {}).items()}
        if number != self.metric:
            return Sample(number, values)
        companions = {} if self.chance is None else {"chance": self.chance}
        lost = [(seed, 0) for seed in row.diverged]
        unit, better = self.unit, self.better
        return Sample(number, values, unit, better, companions, self.examples, diverged=lost)


class Card(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A card: its subject, its level, its trials, and how it was made.

    `wall_minutes` is the wall time of the command, without the runs that were stored already. A
    file without `results_version` has version 1.
    """

    subject: str
    level: str
    seeds: int
    date: str
    versions: dict[str, str]
    processor: str
    device: str
    wall_minutes: float
    trials: list[TrialResult]
    results_version: int = 1
    format: Literal[1] = 1


def encoded(card: Card) -> bytes:
    """Return the content of the file of a card, as JSON."""
    return msgspec.json.format(msgspec.json.encode(card), indent=1)


def write_card(path: Path, card: Card) -> None:
    """Write a card as JSON. Raises OSError if the file cannot be written."""
    write_bytes(path, encoded(card))


def read_card(path: Path) -> Card:
    """Return the card in a file.

    Raises RequestError for a file that is not a card, or has settings refused by `require_plain`.
    """
    try:
        card = msgspec.json.decode(read_bytes(path), type=Card)
        if empty := next((trial.name for trial in card.trials if not trial.rows), None):
            raise msgspec.ValidationError(f"its trial {empty} has no rows")
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {refusal(error)}") from error
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise RequestError(f"{path} is not a card: {error}") from error
    for word in dict.fromkeys(_words(card)):
        require_plain(word, path)
    return card


def _words(card: Card) -> Iterator[str]:
    """Yield the settings of a card that become part of a command line."""
    yield f"device={card.device}"
    for trial in card.trials:
        for row in trial.rows:
            yield from row.words
            yield from (f"{name}={value}" for name, value in row.tuned.items())


def merged(cards: Sequence[Card], names: Sequence[str]) -> list[TrialResult]:
    """Return the trials that all cards have, each with the rows of all cards.

    A row of several cards counts once. A subject whose numbers differ between cards gets a row for
    each card, labelled by its file: `mine (a)` of a.json. `names` are the names of the files.
    Raises RequestError if cards have different results versions or levels, if a trial has different
    settings, which are named, or if no trial is in all cards.
    """
    cards = _told_apart(cards, names)
    first = cards[0]
    for card, name in zip(cards, names, strict=True):
        if card.results_version != first.results_version:
            ours, theirs = first.results_version, card.results_version
            raise RequestError(f"{name} has results version {theirs}, and {names[0]} {ours}")
        if card.level != first.level:
            raise RequestError(f"{name} is of level {card.level}, and {names[0]} of {first.level}")
    found = []
    for trial in first.trials:
        rows = {row.label: row for row in trial.rows}
        for card, name in zip(cards[1:], names[1:], strict=True):
            other = next((each for each in card.trials if each.name == trial.name), None)
            if other is None:
                break
            for field in ("words", "tune", "metric", "equal_within"):
                ours, theirs = getattr(trial, field), getattr(other, field)
                if ours != theirs:
                    raise RequestError(
                        f"{trial.name} has {field} {ours} in {names[0]}, and {theirs} in {name}"
                    )
            rows |= {row.label: row for row in other.rows if row.label not in rows}
        else:
            found.append(msgspec.structs.replace(trial, rows=list(rows.values())))
    if not found:
        raise RequestError("no trial is in all of these cards")
    return found


def _told_apart(cards: Sequence[Card], names: Sequence[str]) -> list[Card]:
    """Return the cards, with the file's name appended to subjects whose numbers differ."""
    known: dict[tuple[str, str], RowResult] = {}
    several = set()
    for card in cards:
        for trial in card.trials:
            row = trial.rows[0]
            if _measured(known.setdefault((trial.name, row.label), row)) != _measured(row):
                several.add(row.label)
    stems = [Path(name).stem for name in names]
    ends = stems if len(set(stems)) == len(stems) else names
    return [
        msgspec.structs.replace(card, trials=[_labelled(trial, end) for trial in card.trials])
        if card.subject in several
        else card
        for card, end in zip(cards, ends, strict=True)
    ]


def _measured(row: RowResult) -> tuple[object, ...]:
    return row.numbers, row.diverged, row.lost


def _labelled(trial: TrialResult, end: str) -> TrialResult:
    subject, *others = trial.rows
    row = msgspec.structs.replace(subject, label=f"{subject.label} ({end})")
    return msgspec.structs.replace(trial, rows=[row, *others])

"""The file of a card: settings and measurements by seed, without verdicts.

Verdicts are computed from the file, so that cards of several people are judged alike.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from attnexp.cards.trial import LevelName
from attnexp.config.plain_words import require_plain
from attnexp.core.errors import RequestError, refusal
from attnexp.runs.files import read_bytes, write_bytes
from attnexp.select.sample import EXAMPLES, Sample

NotNegative = Annotated[float, Meta(ge=0)]
Whole = Annotated[int, Meta(ge=0)]
Counting = Annotated[int, Meta(ge=1)]


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
    lost: Whole = 0
    why: str = ""
    tuned: dict[str, str] = {}
    at_end: list[str] = []
    seconds: NotNegative = 0.0
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
    equal_within: NotNegative
    rows: list[RowResult]
    better: Literal["lower", "higher"] = "higher"
    counted: dict[str, float] = {}
    of_products: list[str] = []
    unit: str = ""
    chance: float | None = None
    examples: Counting = EXAMPLES

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
    level: LevelName
    seeds: Counting
    date: str
    versions: dict[str, str]
    processor: str
    device: str
    wall_minutes: NotNegative
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

    Raises RequestError for a file that is not a card: with a trial without rows, a trial or a row
    twice, or a deciding number that its metric cannot have. Raises RequestError for settings
    refused by `require_plain`.
    """
    try:
        card = msgspec.json.decode(read_bytes(path), type=Card)
        if fault := next(_faults(card), None):
            raise msgspec.ValidationError(fault)
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {refusal(error)}") from error
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise RequestError(f"{path} is not a card: {error}") from error
    for word in dict.fromkeys(_words(card)):
        require_plain(word, path)
    return card


def _faults(card: Card) -> Iterator[str]:
    """Yield what no card has, each as a clause about the card."""
    names = [trial.name for trial in card.trials]
    yield from (f"it has the trial {name} twice" for name in _repeated(names))
    for trial in card.trials:
        if not trial.rows:
            yield f"its trial {trial.name} has no rows"
        labels = [row.label for row in trial.rows]
        yield from (
            f"its trial {trial.name} has the row {each} twice" for each in _repeated(labels)
        )
        for row in trial.rows:
            sample = trial.sample(row, trial.metric)
            low, high = sample.range
            for seed, own in row.numbers.get(trial.metric, {}).items():
                if not low <= own <= high or (trial.is_cost and own <= 0):
                    yield f"its trial {trial.name} has {trial.metric} {own:g} at seed {seed}"


def _repeated(names: Sequence[str]) -> Iterator[str]:
    return (name for place, name in enumerate(names) if name in names[:place])


def _words(card: Card) -> Iterator[str]:
    """Yield the settings of a card that become part of a command line."""
    yield f"device={card.device}"
    for trial in card.trials:
        for row in trial.rows:
            yield from row.words
            yield from (f"{name}={value}" for name, value in row.tuned.items())


def merged(cards: Sequence[Card], names: Sequence[str]) -> list[TrialResult]:
    """Return the trials that all cards have, each with the rows of all cards.

    Of a row of several cards, the one with the most seeds counts, the first of several such. Unit
    and chance of a metric are those of the first card with a value. A subject whose numbers differ
    between cards gets a row for each card, labelled by its file: `mine (a)` of a.json. `names` are
    the names of the files.
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
        same = [each for card in cards for each in card.trials if each.name == trial.name]
        if len(same) == len(cards):
            found.append(_one_trial(same, names))
    if not found:
        raise RequestError("no trial is in all of these cards")
    return found


def _one_trial(same: Sequence[TrialResult], names: Sequence[str]) -> TrialResult:
    """Return a trial of several cards as one, with the rows of all."""
    first = same[0]
    for trial, name in zip(same[1:], names[1:], strict=True):
        for field in ("words", "tune", "metric", "equal_within"):
            ours, theirs = getattr(first, field), getattr(trial, field)
            if ours != theirs:
                raise RequestError(
                    f"{first.name} has {field} {ours} in {names[0]}, and {theirs} in {name}"
                )

    def seeds(row: RowResult) -> int:
        return len(row.values(first.metric))

    rows: dict[str, RowResult] = {}
    for trial in same:
        for row in trial.rows:
            rows[row.label] = max(rows.get(row.label, row), row, key=seeds)
    measured = max(same, key=lambda trial: any(map(seeds, trial.rows)))
    return msgspec.structs.replace(measured, rows=list(rows.values()))


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

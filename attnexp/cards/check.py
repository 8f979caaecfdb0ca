"""A check of a card by somebody else: whether its numbers can be, and cells of it made anew."""

import math
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from attnexp.cards.card_file import Card, RowResult, TrialResult
from attnexp.cards.carry_out import measured
from attnexp.cards.judge import verdicts
from attnexp.cards.lines import BEYOND, Effort
from attnexp.cards.nearest import with_products
from attnexp.cards.rows import row_of
from attnexp.cards.trial import SEEDS, LevelName, SizedTrial
from attnexp.core.console import number_text
from attnexp.core.errors import RequestError, none_of
from attnexp.runs.origin.command_line import own_words
from attnexp.runs.origin.provenance import processor, versions
from attnexp.stats.scaled import mean

CELLS = 2
"""The cells that are made anew."""

FORGED = 0.2
"""The share of forged cells for which a check says how often it passes."""

WHOLE = 1e-6
"""The distance from a whole number of right answers up to which a share can be one of them."""


@dataclass(frozen=True)
class CheckedCell:
    """A row of a trial, as stored and made anew.

    `fault` is the reason why it is not confirmed, empty if it is.
    """

    trial: str
    row: str
    stored: float
    again: float | None
    fault: str


def require_possible(card: Card, tasks: Sequence[SizedTrial]) -> None:
    """Raise RequestError, with the first reason, for a card that no command can have made.

    Its trials must be those of `tasks`, its rows settings that have these names, its seeds 1, 2,
    ..., its tuned values among those that are tried, and its shares numbers of right answers.
    """
    for fault in _faults(card, {task.name: task for task in tasks}):
        raise RequestError(f"no command makes this card: {fault}")


def _faults(card: Card, tasks: dict[str, SizedTrial]) -> Iterator[str]:
    for trial in card.trials:
        if trial.name not in tasks:
            yield f"{trial.name} is not a trial of --{card.level}"
            continue
        task = tasks[trial.name]
        now = (task.words, task.trial.tune, task.metric, task.trial.equal_within)
        own = (trial.words, trial.tune, trial.metric, trial.equal_within)
        if (*own, trial.of_products) != (*now, task.trial.of_products):
            yield f"{trial.name} has other settings than the trial of that name"
        for row in trial.rows:
            yield from _faults_of_row(card, trial, row)


def _faults_of_row(card: Card, trial: TrialResult, row: RowResult) -> Iterator[str]:
    place = f"{trial.name}, {row.label}"
    try:
        if row_of(row.words).label != row.label:
            yield f"{place}: these are the settings of {row_of(row.words).label}"
    except RequestError as error:
        yield f"{place}: {error}"
    for name, values in row.numbers.items():
        for seed, value in values.items():
            if not 1 <= seed <= card.seeds:
                yield f"{place}: there is no seed {seed} among {card.seeds}"
            if name == trial.metric and not _can_be(value, trial):
                yield f"{place}: {name} cannot be {value:.6g} of {trial.examples} examples"
    decided = len(row.values(trial.metric)) + len({*row.diverged}) + row.lost
    if decided < card.seeds:
        yield f"{place}: {decided} of {card.seeds} seeds are there"
    for name, tuned in row.tuned.items():
        if not _is_tried(name, tuned, trial.tune):
            yield f"{place}: {name}={tuned} is not tried"


def _can_be(value: float, trial: TrialResult) -> bool:
    """Return whether a value is in its range, and of exact match a number of right answers."""
    if trial.unit != "share":
        return math.isfinite(value)
    if not 0 <= value <= 1 or trial.metric != "exact_match":
        return 0 <= value <= 1
    right = value * trial.examples
    return abs(right - round(right)) <= WHOLE * trial.examples


def _is_tried(name: str, value: str, tune: Sequence[str]) -> bool:
    """Return whether a value is among those given, or among the next ones beyond their ends."""
    values = next((each.partition("=")[2].split(",") for each in tune if f"{name}=" in each), [])
    try:
        order, number = sorted(map(float, values)), float(value)
    except ValueError:
        return value in values
    if len(order) < 2:
        return number in order
    below, above = order[0] / order[1], order[-1] / order[-2]
    further = [order[0] * below**k for k in range(1, BEYOND + 1)]
    further += [order[-1] * above**k for k in range(1, BEYOND + 1)]
    return any(math.isclose(number, each, rel_tol=0.01) for each in (*order, *further))


def drawn(card: Card, seed: int) -> list[tuple[TrialResult, RowResult]]:
    """Return `CELLS` rows of trials with a result, none of `cost`, which no machine repeats."""
    cells = _cells(card)
    return random.Random(seed).sample(cells, min(CELLS, len(cells)))


def _cells(card: Card) -> list[tuple[TrialResult, RowResult]]:
    return [
        (trial, row)
        for trial in card.trials
        for row in trial.rows
        if trial.words and row.values(trial.metric)
    ]


def checked(
    card: Card,
    trial: TrialResult,
    row: RowResult,
    task: SizedTrial,
    minutes: float,
    config_dir: Path | None,
) -> CheckedCell:
    """Make a row of a trial anew, at the tuned values and the seeds of the card, and compare it.

    With the same software on the same processor each number must be the same. Elsewhere each
    verdict of the trial must be, and the mean must lie within the interval of the stored one.
    """
    words = [*row.words, *(f"{name}={value}" for name, value in row.tuned.items())]
    made_once = replace(task, trial=msgspec.structs.replace(task.trial, tune=[], probe=[]))
    own = replace(row_of(row.words), words=tuple(words))
    with tempfile.TemporaryDirectory(prefix="attnexp-check-") as folder:
        effort = Effort(level_of(card), card.seeds, minutes, card.device, config_dir, Path(folder))
        found, _ = measured(made_once, with_products(own, own_words(config_dir)), effort)
    stored, again = row.values(trial.metric), found.values(trial.metric)
    fault = _difference(card, trial, row, found)
    return CheckedCell(trial.name, row.label, mean(stored), mean(again) if again else None, fault)


def _difference(card: Card, trial: TrialResult, row: RowResult, found: RowResult) -> str:
    """Return the difference of a row and its repetition that should not be, empty if none."""
    name = trial.metric
    if not found.values(name):
        return f"it has no result now: {found.why}"
    if is_same_build(card):
        seeds = [s for s, v in found.numbers[name].items() if row.numbers[name].get(s) != v]
        return f"seeds {', '.join(map(str, seeds))} have other numbers" if seeds else ""
    rows = [
        msgspec.structs.replace(each, numbers=found.numbers, diverged=found.diverged)
        if each is row
        else each
        for each in trial.rows
    ]
    pairs = zip(verdicts(trial), verdicts(msgspec.structs.replace(trial, rows=rows)), strict=True)
    for one, other in pairs:
        if one.word != other.word:
            return f"next to {one.baseline} the verdict is {other.word}, not {one.word}"
    low, high = trial.sample(row, name).spread.interval
    middle = mean(found.values(name))
    if low is None or high is None or low <= middle <= high:
        return ""
    return f"its mean is outside [{number_text(low)}, {number_text(high)}]"


def is_same_build(card: Card) -> bool:
    """Return whether a card was made with this software on a processor of this kind."""
    return card.versions == versions() and card.processor == (processor() or "")


def certainty(card: Card) -> str:
    """Return how often a card passes of which a part is forged."""
    number = len(_cells(card))
    forged, again = max(1, round(FORGED * number)), min(CELLS, number)
    passes = math.comb(number - forged, again) / math.comb(number, again)
    return (
        f"{again} of {number} rows of trials were made anew: if {forged} were forged, {passes:.0%} "
        "of draws would find none; another --seed draws others"
    )


def level_of(card: Card) -> LevelName:
    """Return the level of a card. Raises RequestError for one that there is not."""
    for level in SEEDS:
        if level == card.level:
            return level
    raise RequestError(f"no command makes this card: {none_of(card.level, SEEDS)}")

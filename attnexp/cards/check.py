"""A check of a card by somebody else: whether its numbers can be, and cells of it made anew."""

import math
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import msgspec

from attnexp.cards.card_file import Card, RowResult, TrialResult
from attnexp.cards.carry_out import measured
from attnexp.cards.judge import verdicts
from attnexp.cards.lines import BEYOND, Effort, tuned_numbers
from attnexp.cards.nearest import with_products
from attnexp.cards.numbers import trial_result
from attnexp.cards.rows import row_of
from attnexp.cards.trial import SEEDS, LevelName, SizedTrial
from attnexp.config.compose import CommandLine
from attnexp.config.schema import import_target
from attnexp.core.console import number_text
from attnexp.core.errors import RequestError, none_of
from attnexp.runs.origin.command_line import own_words
from attnexp.runs.origin.provenance import processor, versions
from attnexp.select.number import AT, metric_of
from attnexp.select.sample import EXAMPLES
from attnexp.stats.intervals import RANGES, UNBOUNDED
from attnexp.stats.scaled import mean
from attnexp.sweeps.search import numbers_beyond

SETTINGS = (
    "words",
    "tune",
    "harder",
    "metric",
    "columns",
    "counted",
    "of_products",
    "equal_within",
)
"""The fields of a trial that its file decides."""

OF_COST = ("columns",)
"""Those that depend on the lengths at which a cost is measured."""

CELLS = 2
"""The cells that are made anew."""

FORGED = 0.2
"""The share of forged cells for which a check says how often it passes."""

WHOLE = 1e-6
"""The distance from a whole number of right answers up to which a share can be one of them."""


STANDARDS = {
    True: "each number the same",
    False: "by other software or on another processor: the verdicts the same, the means within "
    "their intervals",
}
"""How rows are compared, by whether the card was made with this software on this processor."""


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
    names = [trial.name for trial in card.trials]
    if len({*names}) < len(names):
        yield "a trial is there twice"
    rows = [[row.label for row in trial.rows] for trial in card.trials]
    if any(own != rows[0] or len({*own}) < len(own) or own[0] != card.subject for own in rows):
        yield f"its trials have other rows than {card.subject} first and the same next to it"
    for trial in card.trials:
        if trial.name not in tasks:
            yield f"{trial.name} is not a trial of --{card.level}"
            continue
        task = tasks[trial.name]
        now = trial_result(task, [])
        for field in SETTINGS:
            if task.trial.cost and field in OF_COST:
                continue
            if getattr(trial, field) != getattr(now, field):
                yield f"{trial.name} has {field} {getattr(trial, field)}, not {getattr(now, field)}"
        if facts := _facts(card, task):
            for field, value in zip(("better", "unit", "examples"), facts, strict=True):
                if getattr(trial, field) != value:
                    yield f"{trial.name} has {field} {getattr(trial, field)}, not {value}"
        for row in trial.rows:
            jobs = card.seeds if task.trial.works is None else math.inf
            yield from _faults_of_row(card, trial, row, jobs)


def _faults_of_row(card: Card, trial: TrialResult, row: RowResult, jobs: float) -> Iterator[str]:
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
    diverged, there = {*row.diverged}, {*row.numbers.get(trial.metric, {})}
    if diverged & there or not diverged <= {*range(1, card.seeds + 1)}:
        yield f"{place}: seeds {sorted(diverged)} cannot have diverged"
    decided = len(there) + len(diverged) + row.lost
    if not card.seeds <= decided <= jobs:
        yield f"{place}: {decided} results are there of {card.seeds} seeds"
    if there and trial.tune and not row.tuned:
        yield f"{place}: the tuned values are not there"
    for name, tuned in row.tuned.items():
        if not _is_tried(name, tuned, trial.tune):
            yield f"{place}: {name}={tuned} is not tried"


def _can_be(value: float, trial: TrialResult) -> bool:
    """Return whether a value is in its range, and of exact match a number of right answers."""
    least, most = RANGES.get(trial.unit, UNBOUNDED)
    if not (math.isfinite(value) and least <= value <= most) or trial.metric != "exact_match":
        return math.isfinite(value) and least <= value <= most
    right = value * trial.examples
    return abs(right - round(right)) <= WHOLE * trial.examples


def _facts(card: Card, task: SizedTrial) -> tuple[str, str, int] | None:
    """Return the direction and the unit of the number that decides, and its examples.

    None for costs, which no run measures.
    """
    if task.trial.cost:
        return None
    if task.trial.works is not None:
        return "higher", "", EXAMPLES
    config = CommandLine.read([*task.words, "figures=false"]).compose()
    assert config is not None
    settings = config.settings
    task_class = cast(Any, import_target(settings["task"], "task"))
    declared = {each.name: each for each in task_class.metrics}[metric_of(task.metric)]
    tested = settings["data"].get("num_test") if AT not in task.metric else None
    return declared.better or "higher", declared.unit, tested or EXAMPLES


def _is_tried(name: str, value: str, tune: Sequence[str]) -> bool:
    """Return whether a value is among those given, or among the next ones beyond their ends."""
    for each in tune:
        own, _, given = each.partition("=")
        if own == name:
            numbers = tuned_numbers(each)
            (number,) = tuned_numbers(f"{name}={value}") or [math.nan]
            return value in given.split(",") or number in (
                *numbers,
                *numbers_beyond(numbers, BEYOND),
            )
    return False


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
    if task.trial.of_products:
        own = with_products(own, own_words(config_dir))
    with tempfile.TemporaryDirectory(prefix="attnexp-check-") as folder:
        effort = Effort(level_of(card), card.seeds, minutes, card.device, config_dir, Path(folder))
        found, _ = measured(made_once, own, effort)
    stored, again = row.values(trial.metric), found.values(trial.metric)
    fault = _difference(card, trial, row, found)
    return CheckedCell(trial.name, row.label, mean(stored), mean(again) if again else None, fault)


def _difference(card: Card, trial: TrialResult, row: RowResult, found: RowResult) -> str:
    """Return the difference of a row and its repetition that should not be, empty if none."""
    name = trial.metric
    if not found.values(name):
        return f"it has no result now: {found.why}"
    if is_same_build(card):
        changed = [
            f"{number} of seed {seed}"
            for number, values in found.numbers.items()
            for seed, value in values.items()
            if row.numbers.get(number, {}).get(seed) != value
        ]
        if changed or row.diverged != found.diverged:
            return f"{', '.join(changed[:3]) or 'the seeds that diverged'}: not the same now"
        return ""
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
    if not number:
        raise RequestError("none of its rows can be made anew: none has a result apart from cost")
    forged, again = max(1, round(FORGED * number)), min(CELLS, number)
    passes = math.comb(number - forged, again) / math.comb(number, again)
    return (
        f"{again} of {number} rows of trials were made anew, "
        f"{STANDARDS[is_same_build(card)]}: if {forged} were forged, {passes:.0%} "
        "of draws would find none; another --seed draws others"
    )


def level_of(card: Card) -> LevelName:
    """Return the level of a card. Raises RequestError for one that there is not."""
    for level in SEEDS:
        if level == card.level:
            return level
    raise RequestError(f"no command makes this card: {none_of(card.level, SEEDS)}")

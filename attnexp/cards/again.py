"""Runs rows of a card again, and compares their numbers with the card's."""

import math
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from attnexp.cards.card_file import Card, RowResult, TrialResult
from attnexp.cards.carry_out import measured
from attnexp.cards.lines import Effort
from attnexp.cards.nearest import with_products
from attnexp.cards.rows import row_of
from attnexp.cards.trial import SizedTrial
from attnexp.core.errors import RunFailedError
from attnexp.runs.key import RESULTS_VERSION
from attnexp.runs.origin.command_line import own_words
from attnexp.runs.origin.provenance import processor, versions
from attnexp.runs.origin.repeat import Repetition, difference, differing

DrawnRow = tuple[TrialResult, RowResult]


def drawn(card: Card, number: int, seed: int) -> list[DrawnRow]:
    """Return at most `number` rows of trials, drawn at random with `seed`.

    Rows of costs are left out: no machine repeats a time exactly.
    """
    rows = [(trial, row) for trial in card.trials for row in trial.rows if trial.words]
    return random.Random(seed).sample(rows, min(number, len(rows)))


def surroundings(card: Card) -> list[str]:
    """Return the differences between the card's versions and processor and the present ones."""
    now = versions()
    pairs = [
        ("results version", card.results_version, RESULTS_VERSION),
        *((name, version, now.get(name)) for name, version in card.versions.items()),
        ("processor", card.processor, processor()),
    ]
    return differing(pairs)


def made_again(
    card: Card,
    drawn_row: DrawnRow,
    tasks: Sequence[SizedTrial],
    minutes: float,
    config_dir: Path | None,
    tolerance: float,
) -> Repetition:
    """Run a row again, at the tuned values and the seeds of the card, and compare the numbers.

    The seeds that diverged are compared too. A row without a result must again have none, for the
    same reason. Raises RunFailedError if the trial has changed or no run has a result, and
    RequestError for settings that are not valid.
    """
    trial, row = drawn_row
    task = next((each for each in tasks if each.name == trial.name), None)
    if task is None or task.words != trial.words:
        now = "is not there" if task is None else f"has {' '.join(task.words)}"
        raise RunFailedError(f"{trial.name} {now}, and the card's has {' '.join(trial.words)}")
    if task.metric != trial.metric:
        raise RunFailedError(f"{trial.name} compares {task.metric}, and the card {trial.metric}")
    names = [each.partition("=")[0] for each in task.trial.tune]
    if other := next((name for name in row.tuned if name not in names), None):
        raise RunFailedError(f"{trial.name} does not tune {other}, and the card has it as tuned")
    tuned = [f"{name}={value}" for name, value in row.tuned.items()]
    own = replace(row_of(row.words), words=(*row.words, *tuned))
    if task.trial.of_products:
        own = with_products(own, own_words(config_dir))
    untuned = replace(task, trial=msgspec.structs.replace(task.trial, tune=[]))
    with tempfile.TemporaryDirectory(prefix="attnexp-verify-") as folder:
        effort = Effort(card.level, card.seeds, minutes, card.device, config_dir, Path(folder))
        found = measured(untuned, own, effort).result
    if not (found.numbers or found.diverged) and (row.numbers or found.why != row.why):
        raise RunFailedError(found.why or "no run has a result")
    return Repetition.of(dict(_differences(row, found)), tolerance, [])


def _differences(stored: RowResult, again: RowResult) -> Iterator[tuple[str, float]]:
    """Yield the name of each number that differs, and its difference."""
    for name in {**stored.numbers, **again.numbers}:
        ours, theirs = stored.numbers.get(name, {}), again.numbers.get(name, {})
        for seed in sorted({*ours, *theirs}):
            if apart := difference(ours.get(seed), theirs.get(seed)):
                yield f"{name} of seed {seed}", apart
    if stored.diverged != again.diverged:
        yield "the seeds that diverged", math.inf

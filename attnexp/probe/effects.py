"""The effects of interventions on the answers of one run, paired by example."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from attnexp.core.batch import Batch, RegressionSpec
from attnexp.probe.interventions import Intervention
from attnexp.probe.passes import SplitAnswers, answers, draws
from attnexp.runs.probed import CHANGE, HIGH, LEARNED, LOW, Probed
from attnexp.stats.intervals import LEVEL, matched_shares, student_reach
from attnexp.tasks.regression import y_deviation
from attnexp.tasks.seq2seq import gold_log_probabilities
from attnexp.training.prepared_run import PreparedRun

Fed = Literal["teacher", "decoded"]
"""The input of the decoder: the targets (teacher forcing), or its own answers."""


@dataclass(frozen=True)
class Measured:
    """Answers to a split, reduced to numbers.

    `by_example` has each metric for every example, `of_texts` the metrics of all texts together,
    and `facts` other numbers, such as the share of unchanged rows.
    """

    by_example: Mapping[str, Float[Tensor, " examples"]]
    of_texts: Mapping[str, float]
    facts: Mapping[str, float]


@torch.no_grad()
def effects(
    run: PreparedRun,
    batch: Batch,
    split: str,
    interventions: Sequence[Intervention],
    done: Callable[[str], None] = lambda name: None,
    free: bool = True,
) -> list[Probed]:
    """Return the numbers of a run with its learned weights, and with each intervention.

    With `free`, a model that decodes also decodes its answers. `done` is called after each pass,
    with the name of the intervention.
    """
    spec = run.dataset.spec
    with run.precision.autocast():
        learned = answers(run.model, batch, spec, free=free)
        feds: list[Fed] = ["teacher"] if learned.decoded is None else ["teacher", "decoded"]
        base = {fed: _measured(run, batch, learned, learned, fed) for fed in feds}
        rows = [Probed(split, fed, LEARNED, _metrics(base[fed])) for fed in feds]
        rungs: dict[Fed, list[Measured]] = {fed: [] for fed in feds}
        for intervention in interventions:
            found: dict[Fed, list[Measured]] = {fed: [] for fed in feds}
            for other in draws(run.model, batch, spec, intervention, free):
                for fed in feds:
                    found[fed].append(_measured(run, batch, other, learned, fed))
                done(intervention.name)
            for fed in feds:
                mean = _mean(found[fed], [1 / intervention.repetitions] * intervention.repetitions)
                rows.append(Probed(split, fed, intervention.name, _changes(mean, base[fed])))
                if intervention.ladder is None:
                    continue
                rungs[fed].append(mean)
                if intervention.share == 1:
                    area = _mean([base[fed], *rungs[fed]], _trapezoid(len(rungs[fed])))
                    changes = _changes(area, base[fed])
                    rows.append(Probed(split, fed, intervention.ladder, changes))
                    rungs[fed] = []
    return rows


def _measured(
    run: PreparedRun, batch: Batch, found: SplitAnswers, learned: SplitAnswers, fed: Fed
) -> Measured:
    """Return the metrics of answers, and how far these are from those of the learned weights."""
    decoded = found.decoded if fed == "decoded" else None
    by_example = run.task.by_example(found.outputs, batch, run.dataset, decoded)
    counts = batch.target_mask
    if decoded is not None:
        assert learned.decoded is not None
        flips = ((decoded != learned.decoded) & counts).any(dim=-1).cpu().double().mean()
        texts = run.task.of_texts(decoded, batch, run.dataset)
        return Measured(by_example, texts, {"flips": float(flips)})
    facts = {"unchanged": found.unchanged}
    if isinstance(run.dataset.spec, RegressionSpec):
        moved = (found.outputs - learned.outputs)[counts].abs().mean()
        facts["moved"] = float(moved) * y_deviation(run.dataset.spec)
        return Measured(by_example, {}, facts)
    gold = gold_log_probabilities(found.outputs, batch)
    gold = gold - gold_log_probabilities(learned.outputs, batch)
    facts["total_variation"] = float(total_variation(found.outputs, learned.outputs)[counts].mean())
    facts["gold_log_probability"] = float(gold[counts].mean())
    return Measured(by_example, {}, facts)


def total_variation(
    logits: Float[Tensor, "*batch vocab"], others: Float[Tensor, "*batch vocab"]
) -> Float[Tensor, "*batch"]:
    """Return half the summed absolute differences of the probabilities."""
    return (logits.softmax(dim=-1) - others.softmax(dim=-1)).abs().sum(dim=-1) / 2


def _mean(several: Sequence[Measured], shares: Sequence[float]) -> Measured:
    """Return the mean of several measurements with these shares, without facts that one lacks."""

    def mean(of: Sequence[Mapping[str, float]]) -> dict[str, float]:
        names = [name for name in of[0] if all(name in one for one in of)]
        return {
            name: sum(share * one[name] for share, one in zip(shares, of, strict=True))
            for name in names
        }

    by_example = {
        name: torch.stack(
            [share * one.by_example[name] for share, one in zip(shares, several, strict=True)]
        ).sum(dim=0)
        for name in several[0].by_example
    }
    return Measured(
        by_example, mean([one.of_texts for one in several]), mean([one.facts for one in several])
    )


def _trapezoid(rungs: int) -> list[float]:
    """Return the weights of the trapezoid rule over 0 and evenly spaced rungs up to 1."""
    return [0.5 / rungs, *[1 / rungs] * (rungs - 1), 0.5 / rungs]


def _metrics(one: Measured) -> dict[str, float]:
    return {name: float(own.mean()) for name, own in one.by_example.items()} | dict(one.of_texts)


def _changes(one: Measured, base: Measured) -> dict[str, float]:
    """Return each metric, its change from `base` with an interval, and the other facts."""
    numbers: dict[str, float] = {}
    for name, own in one.by_example.items():
        mean, low, high = interval(own - base.by_example[name])
        numbers |= {
            name: float(own.mean()),
            f"{name}{CHANGE}": mean,
            f"{name}{LOW}": low,
            f"{name}{HIGH}": high,
        }
    for name, value in one.of_texts.items():
        numbers |= {name: value, f"{name}{CHANGE}": value - base.of_texts[name]}
    return numbers | dict(one.facts)


def interval(differences: Float[Tensor, " examples"]) -> tuple[float, float, float]:
    """Return the mean of differences over examples, and the ends of its 95% interval.

    The interval is Student's. If every difference is -1, 0 or 1, as of exact match, it is that of
    matched shares. It is unbounded for fewer than two examples.
    """
    n = len(differences)
    mean = float(differences.mean())
    if n < 2:
        return mean, -math.inf, math.inf
    if bool(((differences == 0) | (differences.abs() == 1)).all()):
        changed, net = int(differences.abs().sum()), int(differences.sum())
        return mean, *matched_shares(changed, net, n)
    reach = student_reach(differences.tolist(), LEVEL, overlap=0.0)
    return mean, mean - reach, mean + reach

"""What interventions change in the answers of one run, paired by example."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from attnexp.batch import Batch, RegressionSpec
from attnexp.probe.interventions import Intervention
from attnexp.probe.passes import Answers, answers
from attnexp.tables.statistics import student_quantile
from attnexp.tasks.seq2seq import gold_log_probabilities
from attnexp.training.prepared import PreparedRun

LEARNED = "learned"
"""The name of the row without an intervention."""

Fed = Literal["teacher", "decoded"]
"""What the decoder is given: the targets (teacher forcing), or its own answers."""


@dataclass(frozen=True)
class Change:
    """A metric minus that of the learned weights, with its 95% interval over examples."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Effect:
    """The metrics of a run under an intervention, and what it changes.

    - `total_variation` is the mean over predictions of half the summed absolute differences of
      probabilities from those of the learned weights; of a regression `moved`, the mean absolute
      difference of answers, in units of y.
    - `gold_log_probability` is the change of the mean log-probability of the gold symbol, nats.
    - `flips` is the share of decoded answers that are others than before.
    - `unchanged` is the share of rows of weights that the intervention leaves as they are.
    """

    intervention: str
    fed: Fed
    metrics: Mapping[str, float]
    changes: Mapping[str, Change] = field(default_factory=dict)
    total_variation: float | None = None
    moved: float | None = None
    gold_log_probability: float | None = None
    flips: float | None = None
    unchanged: float | None = None


@dataclass(frozen=True)
class Measured:
    """What an intervention makes of one split: answers reduced to numbers, by example."""

    by_example: Mapping[str, Float[Tensor, " examples"]]
    of_texts: Mapping[str, float]
    facts: Mapping[str, float]

    @property
    def metrics(self) -> dict[str, float]:
        """The metrics."""
        return {name: float(own.mean()) for name, own in self.by_example.items()} | dict(
            self.of_texts
        )


@torch.no_grad()
def effects(
    run: PreparedRun,
    batch: Batch,
    interventions: Sequence[Intervention],
    done: Callable[[str], None] = lambda name: None,
) -> Iterator[Effect]:
    """Yield the effects of interventions on a run's answers to a batch, the learned weights first.

    `done` is called with the name of an intervention after each of its passes.
    """
    with run.precision.autocast():
        learned = answers(run.model, batch, run.dataset.spec)
        feds: list[Fed] = ["teacher"] if learned.decoded is None else ["teacher", "decoded"]
        base = {fed: _measured(run, batch, learned, learned, fed) for fed in feds}
        for fed in feds:
            yield Effect(LEARNED, fed, base[fed].metrics)
        for intervention in interventions:
            found: dict[Fed, list[Measured]] = {fed: [] for fed in feds}
            for repetition in range(intervention.repetitions):
                other = answers(run.model, batch, run.dataset.spec, intervention, repetition)
                for fed in feds:
                    found[fed].append(_measured(run, batch, other, learned, fed))
                done(intervention.name)
            for fed in feds:
                yield _effect(intervention.name, fed, base[fed], found[fed])


def _measured(
    run: PreparedRun, batch: Batch, found: Answers, learned: Answers, fed: Fed
) -> Measured:
    """Return what answers are worth, and how they differ from those of the learned weights."""
    decoded = found.decoded if fed == "decoded" else None
    by_example = run.task.by_example(found.outputs, batch, run.dataset, decoded)
    facts: dict[str, float] = {}
    if isinstance(run.dataset.spec, RegressionSpec):
        unit = run.dataset.spec.y[0].deviation if run.dataset.spec.y else 1.0
        moved = (found.outputs - learned.outputs)[batch.target_mask].abs().mean()
        facts = {"moved": float(moved) * unit, "unchanged": found.unchanged}
        return Measured(by_example, {}, facts)
    if decoded is None:
        counts = batch.target_mask
        apart = (found.outputs.softmax(dim=-1) - learned.outputs.softmax(dim=-1)).abs()
        gold = gold_log_probabilities(found.outputs, batch)
        gold = gold - gold_log_probabilities(learned.outputs, batch)
        facts["total_variation"] = float(apart.sum(dim=-1)[counts].mean()) / 2
        facts["gold_log_probability"] = float(gold[counts].mean())
        facts["unchanged"] = found.unchanged
        return Measured(by_example, {}, facts)
    assert learned.decoded is not None
    differ = (decoded != learned.decoded) & batch.target_mask
    facts["flips"] = float(differ.any(dim=-1).double().mean())
    return Measured(by_example, run.task.of_texts(decoded, batch, run.dataset), facts)


def _effect(name: str, fed: Fed, base: Measured, found: Sequence[Measured]) -> Effect:
    """Return the mean effect of the repetitions of an intervention."""
    metrics = {key: fmean(one.metrics[key] for one in found) for key in found[0].metrics}
    changes = {}
    for metric, learned in base.by_example.items():
        mean = torch.stack([one.by_example[metric] for one in found]).mean(dim=0)
        changes[metric] = change(mean - learned)
    facts = {key: fmean(one.facts[key] for one in found) for key in found[0].facts}
    return Effect(name, fed, metrics, changes, **facts)


def change(differences: Float[Tensor, " examples"]) -> Change:
    """Return the mean of differences over examples, and Student's 95% interval of it."""
    n = len(differences)
    mean = float(differences.mean())
    if n < 2:
        return Change(mean, -math.inf, math.inf)
    reach = student_quantile(n - 1) * float(differences.std()) / math.sqrt(n)
    return Change(mean, mean - reach, mean + reach)

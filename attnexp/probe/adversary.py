"""How far weights can be from the learned ones while the answers stay where they are."""

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnexp.architectures.base import Architecture
from attnexp.architectures.kernel_regression import KernelRegression
from attnexp.attention.pooling import AttentionPooling
from attnexp.core.batch import Batch, Points, RegressionSpec
from attnexp.probe.effects import total_variation
from attnexp.probe.farthest import farthest
from attnexp.probe.passes import facts_of, main_part
from attnexp.probe.rewriting import Rewrite, Site, rewriting
from attnexp.runs.probed import ADVERSARIAL, SEEDS, Probed
from attnexp.training.prepared_run import PreparedRun

EXAMPLES, STEPS = 100, 500
"""The number of first test examples, and of steps of Adam (AMSGrad) from each start."""


@dataclass(frozen=True)
class Start:
    """Scores from which a search for weights starts: log w + spread N(0, 1).

    w are the learned weights if `learned`, else numbers from U(0, 1). `rate` is the learning rate
    of Adam. `penalty` is what an answer costs for each unit by which it is too far.
    """

    learned: bool
    spread: float
    rate: float
    penalty: float

    def scores(self, weights: Tensor, generator: torch.Generator) -> Tensor:
        """Return the first scores of a search, with gradients turned on."""
        drawn = torch.rand(weights.shape, generator=generator).to(weights)
        noise = torch.randn(weights.shape, generator=generator).to(weights)
        middle = (weights if self.learned else drawn).clamp(min=TINY).log()
        return (middle + self.spread * noise).requires_grad_()


FAR = Start(learned=False, spread=3.0, rate=0.01, penalty=500.0)
"""The start of Jain and Wallace (2019), appendix C."""

CLOSE = Start(learned=True, spread=0.1, rate=0.05, penalty=20.0)
"""A start next to the learned weights, where the answers are near before the first step."""

STARTS = (FAR, CLOSE, CLOSE)
"""The starts of a search. Each one draws its own numbers."""

NEAR = 0.01
"""How far an answer may move: in total variation of each symbol's probabilities, and in regression
as a share of the standard deviation of the targets."""

OTHER = 1e-6
"""Weights are others than the learned ones if they are farther from them than this, in nats."""

TENTHS = 10
"""How often `adversarial` reports its progress for each start."""

TINY = 1e-30
"""Stands in place of 0 in a logarithm and in a quotient."""


@dataclass(frozen=True)
class Maps:
    """The learned weights of an attention.

    `weights` holds those of each layer, `valid` the keys that each row may attend to. `counts` says
    which rows belong to answers.
    """

    weights: list[Float[Tensor, "batch heads rows keys"]]
    valid: list[Bool[Tensor, "batch heads rows keys"]]
    counts: Bool[Tensor, "batch rows"]

    @property
    def mean(self) -> Float[Tensor, "batch rows keys"]:
        """The mean map over layers and heads."""
        return _mean_map(self.weights)


def adversarial(run: PreparedRun, done: Callable[[str], None] = lambda name: None) -> Probed:
    """Return how far weights can be from the learned ones while no answer moves by more than NEAR.

    For each example, the distance is the largest

        D = mean over its rows of JSD(w, w')

    of weights w' with d <= NEAR for all its answers, under teacher forcing. JSD is the
    Jensen-Shannon divergence, in nats and at most log 2, of the mean map over layers and heads. d
    is the distance of an answer from the learned one. If an answer is one weighted mean of numbers,
    as in regression with one head, `farthest` finds D. Otherwise D is sought: from each start, Adam
    takes steps to a larger

        D - penalty mean over its answers of max(0, d - NEAR),

    and the largest D counts, of all steps and starts, at which every answer of the example was
    near. Weights that are farther may then exist.

    `distance` is the mean of D over the examples, with 0 for an example without other weights.
    `succeeded` is the share of examples with other weights, and `exact` the share of examples of
    which D is known to be the largest. Each example has weights of its own, so no model has all of
    them (Wiegreffe and Pinter 2019).

    `done` is called as often as `passes` says.
    """
    batch = run.dataset.test.select(slice(EXAMPLES))
    with run.precision.autocast():
        if _is_one_mean(run):
            best, exact = _farthest(run, batch)
            done(ADVERSARIAL)
        else:
            best, exact = _sought(run, batch, done), torch.zeros(len(batch))
    columns = {"distance": best, "succeeded": best > OTHER, "exact": exact}
    numbers = {name: float(column.double().mean()) for name, column in columns.items()}
    return Probed("test", "teacher", ADVERSARIAL, numbers)


def passes(run: PreparedRun) -> int:
    """Return how often `adversarial` reports its progress."""
    return 1 if _is_one_mean(run) else len(STARTS) * TENTHS


def _is_one_mean(run: PreparedRun) -> bool:
    """Return whether each answer is one mean of numbers, weighted by a single row of weights."""
    model, spec = run.model, run.dataset.spec
    return (
        type(model) is KernelRegression
        and isinstance(model.pooling, AttentionPooling)
        and isinstance(spec, RegressionSpec)
        and spec.y_dim == 1
    )


@torch.no_grad()
def _farthest(
    run: PreparedRun, batch: Batch
) -> tuple[Float[Tensor, " examples"], Bool[Tensor, " examples"]]:
    maps, _ = learned_maps(run.model, batch, main_part(run.model))
    near = NEAR * float(_deviation(batch))
    return farthest(maps.weights[0][0, 0], maps.valid[0][0, 0], batch.values[0, :, 0], near)


def _sought(
    run: PreparedRun, batch: Batch, done: Callable[[str], None]
) -> Float[Tensor, " examples"]:
    """Return the largest distance of each example that Adam finds."""
    part = main_part(run.model)
    model = copy.deepcopy(run.model).requires_grad_(requires_grad=False)
    maps, outputs = learned_maps(model, batch, part)
    best = torch.zeros(len(batch))
    generator = torch.Generator().manual_seed(0)
    for start in STARTS:
        scores = [start.scores(weights, generator) for weights in maps.weights]
        optimizer = torch.optim.Adam(scores, start.rate, amsgrad=True)
        for step in range(STEPS):
            given = [_weights(*each) for each in zip(scores, maps.weights, maps.valid, strict=True)]
            with rewriting(model, partial(_given, part, given)):
                answer = model(batch, need_weights=True)
            moved = _moved(answer.outputs, outputs, batch)
            distance = _by_example(divergence(_mean_map(given), maps.mean), maps.counts, batch)
            excess = _by_example((moved - NEAR).clamp(min=0), batch.target_mask, batch)
            best = distance.detach().where((excess == 0) & (distance > best), best)
            optimizer.zero_grad()
            (start.penalty * excess - distance).sum().backward()
            optimizer.step()
            if (step + 1) % (STEPS // TENTHS) == 0:
                done(ADVERSARIAL)
    return best


@torch.no_grad()
def between_seeds(run: PreparedRun, others: Sequence[Architecture]) -> Probed:
    """Return how far the maps of other seeds are from those of this run, on the same test examples.

    `distance` is the mean over the other models and the examples, of the same distance as in
    `adversarial`. A map that is as far away as those of other seeds needs no adversary (Wiegreffe
    and Pinter 2019).
    """
    batch = run.dataset.test.select(slice(EXAMPLES))
    part = main_part(run.model)
    with run.precision.autocast():
        maps, _ = learned_maps(run.model, batch, part)
        distances = [
            _by_example(
                divergence(learned_maps(other, batch, part)[0].mean, maps.mean), maps.counts, batch
            ).mean()
            for other in others
        ]
    mean = float(torch.stack(distances).double().mean())
    return Probed("test", "teacher", SEEDS, {"distance": mean})


@torch.no_grad()
def learned_maps(
    model: Architecture, batch: Batch, part: str
) -> tuple[Maps, Float[Tensor, "batch targets outputs"]]:
    """Return the weights of an attention, and the outputs of the model, for a batch."""
    seen: dict[int, list[tuple[Tensor, Tensor]]] = {}

    def keep(site: Site) -> Rewrite:
        def rewrite(weights: Tensor, valid: Tensor) -> Tensor:
            if site.part == part:
                seen.setdefault(site.layer, []).append((weights, valid))
            return weights

        return rewrite

    with rewriting(model, keep):
        outputs = model(batch, need_weights=True).outputs
    counts = facts_of(model, batch)[part].counts
    rows = counts.shape[1]  # those of a kernel that may reach no key are asked for once more
    weights, valid = (
        [
            torch.cat([each[i] for each in seen[layer]], dim=-2)[..., :rows, :]
            for layer in sorted(seen)
        ]
        for i in range(2)
    )
    return Maps(weights, valid, counts), outputs


def divergence(
    weights: Float[Tensor, "*batch keys"], others: Float[Tensor, "*batch keys"]
) -> Float[Tensor, "*batch"]:
    """Return the Jensen-Shannon divergence of two rows, in nats, after dividing each by its sum.

    JSD(p, q) = H((p + q) / 2) - (H(p) + H(q)) / 2 with the entropy H, between 0 and log 2 (Lin
    1991). The result is 0 for two rows of zeros.
    """
    p, q = (each / each.sum(dim=-1, keepdim=True).clamp(min=TINY) for each in (weights, others))
    both = _entropy((p + q) / 2) - (_entropy(p) + _entropy(q)) / 2
    return both.clamp(0, math.log(2))


def _entropy(shares: Float[Tensor, "*batch keys"]) -> Float[Tensor, "*batch"]:
    return -(shares * shares.clamp(min=TINY).log()).sum(dim=-1)


def _mean_map(weights: Sequence[Tensor]) -> Float[Tensor, "batch rows keys"]:
    return torch.stack([each.mean(dim=1) for each in weights]).mean(dim=0)


def _weights(scores: Tensor, learned: Tensor, valid: Tensor) -> Tensor:
    """Return the softmax of scores over the valid keys, with the learned sum of each row."""
    shares = scores.masked_fill(~valid, torch.finfo(scores.dtype).min).softmax(dim=-1)
    return shares.where(valid, 0.0) * learned.sum(dim=-1, keepdim=True)


def _given(part: str, weights: Sequence[Tensor], site: Site) -> Rewrite:
    """Return a rewrite that puts given weights in place of those of an attention, row after row."""
    come = 0

    def rewrite(own: Tensor, valid: Tensor) -> Tensor:
        nonlocal come
        if site.part != part:
            return own
        first, count = come % weights[site.layer].shape[-2], own.shape[-2]
        come += count
        return weights[site.layer][..., first : first + count, :].to(own.dtype)

    return rewrite


def _moved(outputs: Tensor, learned: Tensor, batch: Batch) -> Float[Tensor, "batch targets"]:
    """Return how far each answer is from the learned one: total variation, or deviations of y."""
    if isinstance(batch, Points):
        return ((outputs - learned).abs() / _deviation(batch)).amax(dim=-1)
    return total_variation(outputs, learned)


def _deviation(batch: Batch) -> Float[Tensor, "1 1 outputs"]:
    """Return the standard deviation of the targets of a regression."""
    return batch.targets.double().std(dim=1, keepdim=True).clamp(min=TINY)


def _by_example(
    values: Float[Tensor, "batch rows"], counts: Bool[Tensor, "batch rows"], batch: Batch
) -> Float[Tensor, " examples"]:
    """Return the mean of each example's rows that count. In regression a point is an example."""
    if isinstance(batch, Points):
        return values[0] * counts[0]
    return (values * counts).sum(dim=-1) / counts.sum(dim=-1).clamp(min=1)

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
"""The first test examples, and the steps of Adam in its AMSGrad form from each start."""


@dataclass(frozen=True)
class Start:
    """Scores from which weights are sought: log w + spread N(0, 1) with the learned weights w.

    If it is not `learned`, u from U(0, 1) takes the place of w. `rate` is Adam's, and `penalty`
    is the cost of an answer for each unit that it is too far.
    """

    learned: bool
    spread: float
    rate: float
    penalty: float

    def scores(self, weights: Tensor, generator: torch.Generator) -> Tensor:
        """Return scores for weights, of which gradients are asked."""
        drawn = torch.rand(weights.shape, generator=generator).to(weights)
        noise = torch.randn(weights.shape, generator=generator).to(weights)
        middle = (weights if self.learned else drawn).clamp(min=TINY).log()
        return (middle + self.spread * noise).requires_grad_()


FAR = Start(learned=False, spread=3.0, rate=0.01, penalty=500.0)
"""That of Jain and Wallace (2019), appendix C."""

CLOSE = Start(learned=True, spread=0.1, rate=0.05, penalty=20.0)
"""Next to the learned weights: the answers are near before the first step."""

STARTS = (FAR, CLOSE, CLOSE)
"""The starts of a search, with draws of their own."""

NEAR = 0.01
"""How far an answer may move: in total variation of each symbol's probabilities, and in regression
as a share of the standard deviation of the targets."""

OTHER = 1e-6
"""Weights at most this far from the learned ones, in nats, are the same weights."""

TENTHS = 10
"""How often `adversarial` says that it goes on, for each start."""

TINY = 1e-30
"""The number in place of 0 in a logarithm and a quotient."""


@dataclass(frozen=True)
class Maps:
    """The learned weights of the main attention, by layer, and which keys each row may attend to.

    `counts` says which rows the answers have.
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

    That is, for each example, the largest

        D = mean over its rows of JSD(w, w')

    under teacher forcing at which d <= NEAR for all its answers, JSD the Jensen-Shannon divergence
    in nats, at most log 2, of the mean map over layers and heads, and d the distance of an answer.
    If the answer is one weighted mean of numbers, as in regression with one head, `farthest` has
    it. Otherwise it is sought: from each start, steps to a larger

        D - penalty mean over its answers of max(0, d - NEAR),

    and of all steps and starts the largest D counts at which every answer of the example was near.
    There may be weights that are farther.

    `distance` is its mean over the examples, 0 for those without other weights, `succeeded` the
    share of examples with others, and `exact` the share of examples whose largest D it is. It
    is that of each example by itself, so no model has such weights (Wiegreffe and Pinter 2019).

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
    """Return how often `adversarial` says that it goes on."""
    return 1 if _is_one_mean(run) else len(STARTS) * TENTHS


def _is_one_mean(run: PreparedRun) -> bool:
    """Return whether an answer is the mean of numbers, weighted by the one row of weights."""
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
    """Return the largest distance that Adam comes by, of each example."""
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
    """Return how far the maps of other seeds are from this run's, on the same test examples.

    `distance` is the mean over runs and examples of the distance of `adversarial`. A map that is as
    far as those of other seeds needs no adversary (Wiegreffe and Pinter 2019).
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
    """Return the weights of a part and the outputs of a model for a batch."""
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
    """Return the Jensen-Shannon divergence of rows, nats, each divided by its sum before.

    JSD(p, q) = H((p + q) / 2) - (H(p) + H(q)) / 2 with the entropy H, between 0 and log 2 (Lin
    1991). It is 0 for a row of zeros.
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
    """Return a rewrite that sets the weights of a part."""
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
    """Return how far each answer is from the learned one."""
    if isinstance(batch, Points):
        return ((outputs - learned).abs() / _deviation(batch)).amax(dim=-1)
    return total_variation(outputs, learned)


def _deviation(batch: Batch) -> Float[Tensor, "1 1 outputs"]:
    """Return the standard deviation of the targets of a regression."""
    return batch.targets.double().std(dim=1, keepdim=True).clamp(min=TINY)


def _by_example(
    values: Float[Tensor, "batch rows"], counts: Bool[Tensor, "batch rows"], batch: Batch
) -> Float[Tensor, " examples"]:
    """Return the mean of the rows that count of each example; each point is an example."""
    if isinstance(batch, Points):
        return values[0] * counts[0]
    return (values * counts).sum(dim=-1) / counts.sum(dim=-1).clamp(min=1)

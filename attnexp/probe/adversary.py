"""Weights as far from the learned ones as possible whose answers stay where they are."""

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnexp.architectures.base import Architecture
from attnexp.batch import Batch, Points
from attnexp.probe.effects import total_variation
from attnexp.probe.passes import facts_of, main_part
from attnexp.probe.rewriting import Rewrite, Site, rewritten
from attnexp.runs.interventions import ADVERSARIAL, SEEDS, Probed
from attnexp.training.prepared import PreparedRun

EXAMPLES, STARTS, STEPS, RATE, PENALTY = 100, 3, 500, 0.01, 500.0
"""The first test examples, and how weights are sought, after Jain and Wallace (2019), appendix C:
Adam in its AMSGrad form at this rate, from starts log u + 3 N(0, 1), u from U(0, 1)."""

NEAR = 0.01
"""How far an answer may move: in total variation of each symbol's probabilities, and in regression
as a share of the standard deviation of the targets."""

TENTHS = 10
"""How often `adversarial` says that it goes on, for each start."""

TINY = 1e-30
"""What a logarithm and a quotient take in place of 0."""


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

    Sought is, for each example, the largest

        D = mean over its rows of JSD(w, w') - 500 mean over its answers of max(0, d - NEAR)

    under teacher forcing, JSD the Jensen-Shannon divergence in nats, at most log 2, of the mean map
    over layers and heads, and d the distance of an answer. Of all steps and starts the largest JSD
    counts at which every answer of the example was near. `distance` is its mean over the examples,
    0 where none was found, and `succeeded` the share of examples where one was. It is sought for
    each example by itself, so no model has such weights (Wiegreffe and Pinter 2019).

    `done` is called after each tenth of the steps of a start.
    """
    batch = run.dataset.test.select(slice(EXAMPLES))
    part = main_part(run.model)
    model = copy.deepcopy(run.model).requires_grad_(requires_grad=False)
    with run.precision.autocast():
        maps, outputs = learned_maps(model, batch, part)
        best = torch.zeros(len(batch))
        found = torch.zeros_like(best, dtype=torch.bool)
        generator = torch.Generator().manual_seed(0)
        for _ in range(STARTS):
            logits = [_start(weights, generator) for weights in maps.weights]
            optimizer = torch.optim.Adam(logits, RATE, amsgrad=True)
            for step in range(STEPS):
                given = [
                    _weights(*each) for each in zip(logits, maps.weights, maps.valid, strict=True)
                ]
                answer = rewritten(model, partial(_given, part, given))(batch, need_weights=True)
                moved = _moved(answer.outputs, outputs, batch)
                distance = _by_example(divergence(_mean_map(given), maps.mean), maps.counts, batch)
                excess = _by_example((moved - NEAR).clamp(min=0), batch.target_mask, batch)
                better = (excess == 0) & (distance > best)
                best, found = distance.detach().where(better, best), found | better
                optimizer.zero_grad()
                (PENALTY * excess - distance).sum().backward()
                optimizer.step()
                if (step + 1) % (STEPS // TENTHS) == 0:
                    done(ADVERSARIAL)
    numbers = {"distance": float(best.mean()), "succeeded": float(found.double().mean())}
    return Probed("test", "teacher", ADVERSARIAL, numbers)


@torch.no_grad()
def between_seeds(run: PreparedRun, others: Sequence[Architecture]) -> Probed:
    """Return how far the maps of other seeds are from this run's, on the same test examples.

    `distance` is the mean over runs and examples of what `adversarial` measures. A map that is as
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

    outputs = rewritten(model, keep)(batch, need_weights=True).outputs
    weights, valid = (
        [torch.cat([each[i] for each in seen[layer]], dim=-2) for layer in sorted(seen)]
        for i in range(2)
    )
    return Maps(weights, valid, facts_of(model, batch)[part].counts), outputs


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


def _start(weights: Tensor, generator: torch.Generator) -> Tensor:
    """Return scores from which the adversary starts."""
    uniform = torch.rand(weights.shape, generator=generator).clamp(min=TINY).log()
    start = uniform + 3 * torch.randn(weights.shape, generator=generator)
    return start.to(weights).requires_grad_()


def _weights(scores: Tensor, learned: Tensor, valid: Tensor) -> Tensor:
    """Return the softmax of scores over the valid keys, with the learned sum of each row."""
    shares = scores.masked_fill(~valid, torch.finfo(scores.dtype).min).softmax(dim=-1)
    return shares.where(valid, 0.0) * learned.sum(dim=-1, keepdim=True)


def _given(part: str, weights: Sequence[Tensor], site: Site) -> Rewrite:
    """Return what puts weights in the place of those of a part, whatever these are."""
    come = 0

    def rewrite(own: Tensor, valid: Tensor) -> Tensor:
        nonlocal come
        if site.part != part:
            return own
        first, come = come, come + own.shape[-2]
        return weights[site.layer][..., first:come, :].to(own.dtype)

    return rewrite


def _moved(outputs: Tensor, learned: Tensor, batch: Batch) -> Float[Tensor, "batch targets"]:
    """Return how far each answer is from the learned one."""
    if isinstance(batch, Points):
        deviation = batch.targets.double().std(dim=1, keepdim=True).clamp(min=TINY)
        return ((outputs - learned).abs() / deviation).amax(dim=-1)
    return total_variation(outputs, learned)


def _by_example(
    values: Float[Tensor, "batch rows"], counts: Bool[Tensor, "batch rows"], batch: Batch
) -> Float[Tensor, " examples"]:
    """Return the mean of the rows that count of each example; each point is an example."""
    if isinstance(batch, Points):
        return values[0] * counts[0]
    return (values * counts).sum(dim=-1) / counts.sum(dim=-1).clamp(min=1)

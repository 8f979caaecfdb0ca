"""Where the weights go at a query to which the answer is zero."""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnexp.attention.multihead import MultiHead
from attnexp.core.masks import causal_mask
from attnexp.normalizers.base import NormalizerFactory
from attnexp.normalizers.relu import Relu
from attnexp.normalizers.softmax import Softmax
from attnexp.normalizers.softmax_one import SoftmaxOne
from attnexp.scores.scaled_dot import ScaledDot

NORMALIZERS: dict[str, NormalizerFactory] = {
    "softmax": Softmax,
    "softmax_one": SoftmaxOne,
    "relu": Relu,
}
"""What turns scores into weights: rows sum to 1 in the first alone."""

LENGTH, VECTOR, EXAMPLES = 16, 16, 128
"""Symbols of a sequence, numbers of a symbol, and sequences of a step."""

CPU = torch.device("cpu")

MARKS = 3
"""The kinds of symbols, one number each that is 1 or 0: the first, a trigger, and all others."""

TRIGGERS = 0.5
"""The share of symbols that are triggers."""

RATE = 3e-3
"""The learning rate of Adam."""


def sinks_are_necessary(
    seed: int, normalizers: Sequence[str], heads: Sequence[int], steps: int, every: int
) -> Iterator[tuple[str, float, float]]:
    """Train causal attention on trigger and mean, and yield its weight on the sink by the step.

    The task of Ran-Milo (2026): symbols are vectors from N(0, I); the first one is zero, and of the
    others a half are triggers. Each symbol has a mark of its kind. At a trigger the answer is the
    mean of the vectors behind the first symbol up to the trigger, elsewhere it is zero. The layer
    is `MultiHead` alone, with scaled dot products, and has no skip connection; it trains for
    `steps` portions of new sequences.

    The curve of a normalizer is the mean weight on the first symbol, over the heads, where zero is
    due, behind the first symbol itself; with several heads its name has their number.
    `error, CURVE` is the squared error at triggers after all steps, over that of the answer zero: 1
    has learned nothing.
    """
    for name in normalizers:
        for number in heads:
            curve = name if number == 1 else f"{name}, {number} heads"
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                layer = MultiHead(
                    ScaledDot,
                    VECTOR + MARKS,
                    context_dim=VECTOR,
                    heads=number,
                    head_dim=VECTOR,
                    normalizer=NORMALIZERS[name],
                )
            generator = torch.Generator().manual_seed(seed)
            held_out = draw(4 * EXAMPLES, generator)
            optimizer = torch.optim.Adam(layer.parameters(), lr=RATE)
            for step in range(1, steps + 1):
                symbols, _, targets = draw(EXAMPLES, generator)
                answers, _ = layer(symbols, symbols, symbols, causal_mask(LENGTH, CPU))
                loss = (answers - targets).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                if step % every == 0:
                    yield curve, step, measured(layer, *held_out)[0]
            yield f"error, {curve}", steps, measured(layer, *held_out)[1]


def draw(
    examples: int, generator: torch.Generator
) -> tuple[
    Float[Tensor, "examples length features"],
    Bool[Tensor, "examples length"],
    Float[Tensor, "examples length vector"],
]:
    """Return symbols with their marks, where the triggers are, and the answers."""
    vectors = torch.randn(examples, LENGTH, VECTOR, generator=generator)
    vectors[:, 0] = 0.0
    trigger = torch.rand(examples, LENGTH, generator=generator) < TRIGGERS
    trigger[:, 0] = False
    first = (torch.arange(LENGTH) == 0).expand_as(trigger)
    marks = torch.stack([first, trigger, ~(first | trigger)], dim=-1).float()
    means = vectors.cumsum(dim=1) / torch.arange(LENGTH).clamp(min=1).unsqueeze(-1)
    return torch.cat([vectors, marks], dim=-1), trigger, means * trigger.unsqueeze(-1)


@torch.no_grad()
def measured(
    layer: MultiHead,
    symbols: Float[Tensor, "examples length features"],
    trigger: Bool[Tensor, "examples length"],
    targets: Float[Tensor, "examples length vector"],
) -> tuple[float, float]:
    """Return the weight on the first symbol where zero is due, and the error at the trigger."""
    answers, weights = layer(symbols, symbols, symbols, causal_mask(LENGTH, CPU))
    zero_is_due = ~trigger & (torch.arange(LENGTH) > 0)
    first = weights[..., 0].mean(dim=1)[zero_is_due].mean()
    error = (answers - targets)[trigger].square().mean() / targets[trigger].square().mean()
    return float(first), float(error)

"""How far the symbols of a sequence stay apart in a stack of attention layers."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnexp.architectures.transformer import FeedForward
from attnexp.attention.multihead import MultiHead
from attnexp.scores.scaled_dot import ScaledDot

Step = Callable[[Tensor], Tensor]
"""One layer of a stack."""

ALONE = "attention alone"
XAVIER = "attention alone, Xavier"

ROUNDING = 1e-13
"""The residual below which there is nothing but rounding."""

RATED = 2
"""The number of layers after which a rate is taken."""


def rank_collapse(
    seed: int, depth: int, width: int, heads: int, symbols: int
) -> Iterator[tuple[str, float, float]]:
    """Yield the residual |X - 1 m'|/|X| after each layer of stacks with random weights.

    m is the mean of the symbols, and the norm that of Frobenius: 0 if all symbols are one, a matrix
    of rank 1. There are four stacks: attention alone, X <- MultiHead(X), with PyTorch's initial
    weights of variance 1 / (3 width) and with those of Xavier, of variance 1 / width; with skip
    connections, X <- X + MultiHead(X); and with feed-forward layers behind these.

    The numbers that begin with `rate` are log r(3) / log r(2) of the residual r after 2 and 3
    layers, as long as r(2) is above rounding. It is 3 if r(3) is proportional to r(2)^3, as in the
    doubly exponential bound, and 3/2 if each layer takes away the same share, as plain averaging
    does.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        first = torch.randn(1, symbols, width, dtype=torch.float64)
        attention = partial(MultiHead, ScaledDot, width, heads=heads)
        layers = [attention().double().requires_grad_(False) for _ in range(depth)]
        inner = [
            FeedForward(width, 4 * width, dropout=0.0).double().requires_grad_(False)
            for _ in range(depth)
        ]
        wider = [attention().double().requires_grad_(False) for _ in range(depth)]
        for layer in wider:
            for matrix in layer.parameters():
                nn.init.xavier_uniform_(matrix)
    stacks: dict[str, Sequence[Step]] = {
        ALONE: [partial(_attended, layer) for layer in layers],
        XAVIER: [partial(_attended, layer) for layer in wider],
        "with skip": [partial(_skipped, layer) for layer in layers],
        "with skip and feed-forward": [
            partial(_fed, layer, feed) for layer, feed in zip(layers, inner, strict=True)
        ],
    }
    for name, steps in stacks.items():
        x = first
        residuals = [residual(x)]
        for step in steps:
            x = step(x)
            residuals.append(residual(x))
        for layer_number, each in enumerate(residuals):
            yield name, layer_number, each
        if name in (ALONE, XAVIER) and depth > RATED and residuals[RATED] > ROUNDING:
            rate = math.log(residuals[RATED + 1]) / math.log(residuals[RATED])
            yield f"rate, {name}", RATED, rate


def residual(x: Float[Tensor, "batch symbols width"]) -> float:
    """Return |X - 1 m'|/|X|, m the mean over the symbols."""
    return float((x - x.mean(dim=-2, keepdim=True)).norm() / x.norm())


def _attended(
    attention: nn.Module, x: Float[Tensor, "batch symbols width"]
) -> Float[Tensor, "batch symbols width"]:
    """Return what self-attention gives for each symbol."""
    context: Tensor = attention(x, x, x)[0]
    return context


def _skipped(
    attention: nn.Module, x: Float[Tensor, "batch symbols width"]
) -> Float[Tensor, "batch symbols width"]:
    """Return X + MultiHead(X)."""
    return x + _attended(attention, x)


def _fed(
    attention: nn.Module, inner: nn.Module, x: Float[Tensor, "batch symbols width"]
) -> Float[Tensor, "batch symbols width"]:
    """Return what the feed-forward layer gives behind attention with a skip connection."""
    fed: Tensor = inner(_skipped(attention, x))
    return fed

"""How far the symbols of a sequence stay apart in a stack of attention layers."""

from collections.abc import Iterator
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnexp.architectures.transformer import FeedForward
from attnexp.attention.multihead import MultiHead
from attnexp.scores.scaled_dot import ScaledDot


def rank_collapse(
    seed: int, depth: int, width: int, heads: int, symbols: int
) -> Iterator[tuple[str, float, float]]:
    """Yield the residual |X - 1 m'|/|X| after each layer of stacks with random weights.

    m is the mean of the symbols, and the norm that of Frobenius: 0 where all symbols are one, a
    matrix of rank 1. There are three stacks: attention alone, X <- MultiHead(X); with skip
    connections, X <- X + MultiHead(X); and with feed-forward layers behind these.
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
    alone = with_skip = with_both = first
    for layer in range(depth + 1):
        yield "attention alone", layer, residual(alone)
        yield "with skip", layer, residual(with_skip)
        yield "with skip and feed-forward", layer, residual(with_both)
        if layer < depth:
            alone = _attended(layers[layer], alone)
            with_skip = with_skip + _attended(layers[layer], with_skip)
            with_both = inner[layer](with_both + _attended(layers[layer], with_both))


def residual(x: Float[Tensor, "batch symbols width"]) -> float:
    """Return |X - 1 m'|/|X|, m the mean over the symbols."""
    return float((x - x.mean(dim=-2, keepdim=True)).norm() / x.norm())


def _attended(
    attention: nn.Module, x: Float[Tensor, "batch symbols width"]
) -> Float[Tensor, "batch symbols width"]:
    """Return what self-attention gives for each symbol."""
    context: Tensor = attention(x, x, x)[0]
    return context

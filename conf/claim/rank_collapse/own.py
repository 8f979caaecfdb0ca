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

RATED = 3
"""The number of layers after which a rate is taken."""


def rank_collapse(
    seed: int, depth: int, width: int, heads: int, symbols: int
) -> Iterator[tuple[str, float, float]]:
    """Yield the residual |X - 1 m'|/|X| after each layer of stacks with random weights.

    m is the mean of the symbols, and the norm that of Frobenius: 0 if all symbols are one, a matrix
    of rank 1. There are four stacks: attention alone, X <- MultiHead(X), with PyTorch's initial
    weights of variance 1 / (3 width) and with those of Xavier, of variance 1 / width; with skip
    connections, X <- X + MultiHead(X); and with feed-forward layers behind these.

    Of attention alone, mean and deviations are carried apart (`apart`): their sum rounds at 1e-16
    of the mean, and the deviations are smaller than that after three layers. They are 0 below
    1e-308, after six layers.

    The numbers that begin with `rate` are log r(4) / log r(3) of the residual r after 3 and 4
    layers. It is 3 if r(4) is proportional to r(3)^3, as in the doubly exponential bound, and 4/3
    if each layer takes away the same share, as plain averaging does.
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
    for name, alone in {ALONE: layers, XAVIER: wider}.items():
        mean, rest = _parted(first)
        residuals = [of_parts(mean, rest)]
        for layer in alone:
            mean, rest = apart(layer, mean, rest)
            residuals.append(of_parts(mean, rest))
        for layer_number, each in enumerate(residuals):
            yield name, layer_number, each
        if depth > RATED and residuals[RATED + 1] > 0:
            rate = math.log(residuals[RATED + 1]) / math.log(residuals[RATED])
            yield f"rate, {name}", RATED, rate
    stacks: dict[str, Sequence[Step]] = {
        "with skip": [partial(_skipped, layer) for layer in layers],
        "with skip and feed-forward": [
            partial(_fed, layer, feed) for layer, feed in zip(layers, inner, strict=True)
        ],
    }
    for name, steps in stacks.items():
        x = first
        yield name, 0, of_parts(*_parted(x))
        for layer_number, step in enumerate(steps, start=1):
            x = step(x)
            yield name, layer_number, of_parts(*_parted(x))


def of_parts(
    mean: Float[Tensor, "batch 1 width"], rest: Float[Tensor, "batch symbols width"]
) -> float:
    """Return |E|/|X| of X = 1 m' + E, whose square is |E|^2 + n |m|^2."""
    largest = rest.abs().max().clamp(min=torch.finfo(rest.dtype).tiny)
    deviation = float((rest / largest).norm()) * float(largest)  # squares of 1e-155 are 0
    return deviation / math.hypot(deviation, float(mean.norm()) * math.sqrt(rest.shape[-2]))


def apart(
    layer: MultiHead,
    mean: Float[Tensor, "batch 1 width"],
    rest: Float[Tensor, "batch symbols width"],
) -> tuple[Float[Tensor, "batch 1 width"], Float[Tensor, "batch symbols width"]]:
    """Return m and E of the context of X = 1 m' + E, each to full precision.

    Of the scores (m + e_i)' M (m + e_j) the softmax over j knows c_j = m' M e_j and b_ij = e_i' M
    e_j. With p = softmax(c), its weights are p_j (1 + u_ij), u_ij = (f_ij - p'f_i) / (1 + p'f_i)
    and f = e^b - 1. The part of p is the same for all symbols, and goes to the mean; the deviations
    are those of sum_j p_j u_ij V e_j.
    """
    heads = layer.heads
    queries, keys, values = (
        matrix(rest).unflatten(-1, (heads, -1)).transpose(-3, -2)
        for matrix in (layer.W_q, layer.W_k, layer.W_v)
    )
    of_mean = layer.W_q(mean).unflatten(-1, (heads, -1)).transpose(-3, -2)
    scale = math.sqrt(queries.shape[-1])
    p = (of_mean @ keys.mT / scale).softmax(dim=-1)
    f = (queries @ keys.mT / scale).expm1()
    expected = (p * f).sum(dim=-1, keepdim=True)
    u = (f - expected) / (1 + expected)
    common, unlike = (
        layer.W_o(heads_of.transpose(-3, -2).flatten(-2))
        for heads_of in (p @ values, (p * u) @ values)
    )
    shift, deviations = _parted(unlike)
    return layer.W_o(layer.W_v(mean)) + common + shift, deviations


def _parted(
    x: Float[Tensor, "batch symbols width"],
) -> tuple[Float[Tensor, "batch 1 width"], Float[Tensor, "batch symbols width"]]:
    """Return the mean over the symbols, and what is left."""
    mean = x.mean(dim=-2, keepdim=True)
    return mean, x - mean


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

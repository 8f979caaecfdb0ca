"""How many patterns an associative memory can store, by how it weighs them."""

import math
from collections.abc import Callable, Iterator, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from attnexp.attention.pooling import AttentionPooling
from attnexp.scores.dot import Dot
from attnexp.scores.squared_dot import SquaredDot

Memory = Callable[..., tuple[Tensor, Tensor | None]]
"""Maps queries, keys and values to contexts and weights."""

TRIALS = 200
"""Patterns that are asked for, for each number of patterns."""

RECALLED = 0.9
"""The share of them that must come back whole."""

GROWTH = 2**0.5
"""The factor between two numbers of patterns that are tried."""


def associative_capacity(
    seed: int, dimensions: Sequence[int], most: int
) -> Iterator[tuple[str, float, float]]:
    """Yield the largest number of random patterns that are recalled, by their dimension d.

    Patterns are rows of -1 and 1. A query is a pattern with one of its signs turned round, and the
    answer the signs of one weighted sum of all patterns: by q·k itself (`dot products`, Hopfield
    1982), by (q·k)^2 (`squares`, Krotov and Hopfield 2016) and by exp(q·k), the softmax
    (`exponential`, Demircigil et al. 2017 and Ramsauer et al. 2021). At the capacity 90% of the
    patterns asked for come back whole; up to `most` are tried, from two on by a factor of
    sqrt(2). The curves that begin with `bits` have log2 of the last capacity over that of the
    first, by dimension, at the largest d.
    """
    generator = torch.Generator().manual_seed(seed)
    memories: dict[str, Callable[[int], Memory]] = {
        "dot products": lambda d: by_dot_products,
        "squares": lambda d: AttentionPooling(SquaredDot(d, d), d),
        "exponential": lambda d: AttentionPooling(Dot(d, d), d),
    }
    for name, memory_of in memories.items():
        found = []
        for d in dimensions:
            memory, capacity, count = memory_of(d), 1.0, 2.0
            while count <= most and _recalls(memory, round(count), d, generator):
                capacity, count = float(round(count)), count * GROWTH
            found.append(capacity)
            yield name, d, capacity
        bits = math.log2(found[-1] / found[0]) / (dimensions[-1] - dimensions[0])
        yield f"bits a dimension, {name}", dimensions[-1], bits


def _recalls(memory: Memory, count: int, d: int, generator: torch.Generator) -> bool:
    """Return whether enough of `count` patterns of dimension d come back."""
    patterns = 2.0 * torch.randint(2, (1, count, d), generator=generator) - 1
    asked = torch.randint(count, (TRIALS,), generator=generator)
    wanted = patterns[:, asked]
    turned = torch.randint(d, (1, TRIALS, 1), generator=generator)
    queries = wanted.scatter(2, turned, -wanted.gather(2, turned))
    answer, _ = memory(queries, patterns, patterns)
    return float((answer.sign() == wanted).all(dim=-1).double().mean()) >= RECALLED


def by_dot_products(
    queries: Float[Tensor, "1 queries d"],
    keys: Float[Tensor, "1 keys d"],
    values: Float[Tensor, "1 keys d"],
) -> tuple[Float[Tensor, "1 queries d"], None]:
    """Return sum_i (q·k_i) v_i, and no weights: they may be negative, as no normalizer's are."""
    return queries @ (keys.mT @ values), None

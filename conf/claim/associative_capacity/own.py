"""How many patterns an associative memory can store, by how it weighs them."""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import count, takewhile
from statistics import linear_regression

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

GROWTH = 0.5
"""The bits between two numbers of patterns that are tried: they grow by a factor of sqrt(2)."""


def associative_capacity(
    seed: int, dimensions: Sequence[int], most: int
) -> Iterator[tuple[str, float, float]]:
    """Yield the largest number of random patterns that are recalled, by their dimension d.

    Patterns are rows of -1 and 1. A query is a pattern with one of its signs turned round, and the
    answer the signs of one weighted sum of all patterns: by q·k itself (`dot products`, Hopfield
    1982), by (q·k)^2 (`squares`, Krotov and Hopfield 2016) and by exp(q·k), the softmax
    (`exponential`, Demircigil et al. 2017 and Ramsauer et al. 2021). At the capacity 90% of the
    patterns asked for come back whole; up to `most` are tried, from two on by a factor of sqrt(2).
    A dimension of which `most` patterns come back has no capacity that was measured, and no point.
    The curves that begin with `bits` have the slope of log2 of the capacity by dimension, by least
    squares over all dimensions that were measured, at the largest d.
    """
    generator = torch.Generator().manual_seed(seed)
    memories: dict[str, Callable[[int], Memory]] = {
        "dot products": lambda d: by_dot_products,
        "squares": lambda d: AttentionPooling(SquaredDot(d, d), d),
        "exponential": lambda d: AttentionPooling(Dot(d, d), d),
    }
    for name, memory_of in memories.items():
        found = {}
        for d in dimensions:
            memory = memory_of(d)
            tried = (round(2 ** (1 + GROWTH * step)) for step in count())
            capacity = 1
            for patterns in takewhile(lambda number: number <= most, tried):
                if not _recalls(memory, patterns, d, generator):
                    found[d] = capacity
                    yield name, d, float(capacity)
                    break
                capacity = patterns
        if len(found) > 1:
            slope, _ = linear_regression(list(found), [math.log2(each) for each in found.values()])
            yield f"bits a dimension, {name}", dimensions[-1], slope


def _recalls(memory: Memory, number: int, d: int, generator: torch.Generator) -> bool:
    """Return whether enough of `number` patterns of dimension d come back."""
    patterns = 2.0 * torch.randint(2, (1, number, d), generator=generator) - 1
    asked = torch.randint(number, (TRIALS,), generator=generator)
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

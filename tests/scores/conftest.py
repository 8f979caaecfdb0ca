"""Oracles and examples for scores."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

QUERIES, KEYS, DIM = 3, 5, 7
"""Unequal primes, so that swapped axes cannot pass."""

Formula = Callable[[list[float], list[float]], float]


@pytest.fixture
def vectors() -> Callable[..., tuple[Tensor, Tensor]]:
    """Random queries and keys in float64, with the leading axes asked for."""

    def draw(*batch: int, query_dim: int = DIM, key_dim: int = DIM) -> tuple[Tensor, Tensor]:
        generator = torch.Generator().manual_seed(3)
        queries = torch.randn(*batch, QUERIES, query_dim, generator=generator, dtype=torch.float64)
        keys = torch.randn(*batch, KEYS, key_dim, generator=generator, dtype=torch.float64)
        return queries, keys

    return draw


@pytest.fixture
def pairwise() -> Callable[[Formula, Tensor, Tensor], Tensor]:
    """A score of one query and one key, looped over all pairs."""

    def loop(one: Formula, queries: Tensor, keys: Tensor) -> Tensor:
        rows = [[one(query, key) for key in keys.tolist()] for query in queries.tolist()]
        return torch.tensor(rows, dtype=torch.float64)

    return loop

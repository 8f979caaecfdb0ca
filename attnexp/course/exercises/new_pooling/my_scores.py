"""Attention pooling by a kernel with a heavy tail. Fill in `compare`."""

import torch
from torch import Tensor, nn

from attnexp.scores.base import Score, require_equal_dims


class Heavy(Score):
    """a(q, k) = log K(q, k), with a learned width w."""

    def __init__(self, query_dim: int, key_dim: int, initial_width: float = 1.0) -> None:
        super().__init__(query_dim, key_dim)
        require_equal_dims("heavy", query_dim, key_dim)
        self.width = nn.Parameter(torch.tensor(float(initial_width)))

    def compare(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Return log K for each query and key: until it is filled in, the kernel is 1."""
        squared = (queries.unsqueeze(-2) - keys.unsqueeze(-3)).square().mean(dim=-1)
        return 0 * self.width * squared

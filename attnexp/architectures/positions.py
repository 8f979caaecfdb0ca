"""Position vectors, which give a transformer the order of its symbols."""

import math
from abc import ABC, abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnexp.scores.base import require_positive


class Positions(nn.Module, ABC):
    """Maps each position, counted from 0, to a vector.

    A subclass takes the size of a vector and the number of positions that will be needed.
    """

    @abstractmethod
    def forward(self, start: int, stop: int) -> Float[Tensor, "length dim"]:
        """Return the vectors of the positions from `start` up to but not including `stop`."""


class Sinusoidal(Positions):
    """p_i = (sin(i w_1), cos(i w_1), sin(i w_2), cos(i w_2), ...), with w_k = 10000^(-2(k-1)/dim).

    Vaswani et al. (2017), section 3.5. It has no parameters and no longest position, so `longest`
    is not used. Raises ValueError for an odd dim.
    """

    rates: Tensor

    def __init__(self, dim: int, longest: int) -> None:
        super().__init__()
        if dim % 2:
            raise ValueError(f"sinusoidal positions need an even dim, got {dim}")
        rates = torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))
        self.register_buffer("rates", rates, persistent=False)

    def forward(self, start: int, stop: int) -> Float[Tensor, "length dim"]:
        positions = torch.arange(start, stop, device=self.rates.device)
        angles = positions.unsqueeze(-1) * self.rates
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


class Learned(Positions):
    """p_i = row i of a learned table of `longest` rows.

    Gehring et al. (2017), section 3.1. Raises ValueError for a position beyond the table.
    """

    def __init__(self, dim: int, longest: int) -> None:
        super().__init__()
        require_positive("longest", longest)
        self.table = nn.Embedding(longest, dim)

    def forward(self, start: int, stop: int) -> Float[Tensor, "length dim"]:
        longest = self.table.num_embeddings
        if stop > longest:
            raise ValueError(
                f"learned positions reach sequences of at most {longest} symbols, got one of "
                f"{stop}; sinusoidal positions have no limit"
            )
        return self.table.weight[start:stop]


KINDS: dict[str, type[Positions]] = {"sinusoidal": Sinusoidal, "learned": Learned}


def positions_named(name: str) -> type[Positions]:
    """Return the class of a kind of positions. Raises ValueError for an unknown name."""
    if name not in KINDS:
        raise ValueError(f"positions must be one of {', '.join(KINDS)}, got {name!r}")
    return KINDS[name]

"""Noisy samples of a curve, for attention pooling as regression."""

import math
from abc import abstractmethod
from dataclasses import InitVar, dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from attnexp.core.batch import Points, RegressionSpec
from attnexp.core.masks import LeaveOneOut
from attnexp.data.base import Dataset
from attnexp.data.memory import require_memory

BYTES_A_POINT = 64
"""The memory, in bytes, that a point takes while the data are made."""


@dataclass(eq=False, repr=False)
class Curve(Dataset):
    """y = f(x) + e with x ~ U(low, high), sorted, and e ~ N(0, noise^2).

    The training points are keys and values. In `train` they are also the queries, and the mask
    hides each point from itself: leave-one-out. In `test` the queries are low, low + step, ...
    below high, and the targets are the truth without noise.

    With `num_test` there are that many test points, evenly spaced, and `step` has no effect.

    Raises ValueError for fewer than 2 training points, more points than the memory that is
    available can hold, fewer than 1 test point, a negative noise, a step that is not positive, and
    an empty range.
    """

    generator: InitVar[torch.Generator]
    num_train: int = 50
    noise: float = 0.5
    low: float = 0.0
    high: float = 5.0
    step: float = 0.1
    num_test: int | None = None
    spec: RegressionSpec = field(init=False)

    def __post_init__(self, generator: torch.Generator) -> None:
        if self.num_train < 2:
            raise ValueError(
                "num_train must be at least 2 (each point is hidden from itself), got "
                f"{self.num_train}"
            )
        if self.noise < 0:
            raise ValueError(f"noise must be 0 or more, got {self.noise}")
        if self.step <= 0:
            raise ValueError(f"step must be greater than 0, got {self.step}")
        if self.num_test is not None and self.num_test < 1:
            raise ValueError(
                f"num_test must be at least 1, or null for a step, got {self.num_test}"
            )
        if self.low >= self.high:
            raise ValueError(f"low must be less than high, got low {self.low} and high {self.high}")
        trained, low, width = self.num_train, self.low, self.high - self.low
        count = self.num_test or max(1, math.ceil(width / self.step - 1e-9))
        points = f"{trained:,} training points and {count:,} test points"
        require_memory(points, BYTES_A_POINT * (trained + count))
        x = torch.rand(trained, generator=generator).mul(width).add(low).sort().values
        y = self.truth(x) + self.noise * torch.randn(trained, generator=generator)
        spacing = self.step if self.num_test is None else width / count
        x_test = low + spacing * torch.arange(count)
        self.spec = RegressionSpec(x_dim=1, y_dim=1)
        keys, values, queries = (each[:, None] for each in (x, y, x_test))
        self.train = Points.of_rows(
            keys, values, keys, values, LeaveOneOut(torch.arange(trained), trained)
        )
        self.validation = None
        self.test = Points.of_rows(queries, self.truth(x_test)[:, None], keys, values, mask=None)

    @abstractmethod
    def truth(self, x: Float[Tensor, " points"]) -> Float[Tensor, " points"]:
        """Return f(x), without noise."""

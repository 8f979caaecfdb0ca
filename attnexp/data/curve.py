"""Noisy samples of a curve, for attention pooling as regression."""

import math
from abc import abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor

from attnexp.core.batch import Points, RegressionSpec
from attnexp.core.masks import LeaveOneOut
from attnexp.data.base import Dataset
from attnexp.data.memory import require_memory

BYTES_A_POINT = 64
"""Memory that a point takes while the data are made, in bytes."""


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

    spec: RegressionSpec

    def __init__(
        self,
        generator: torch.Generator,
        num_train: int = 50,
        noise: float = 0.5,
        low: float = 0.0,
        high: float = 5.0,
        step: float = 0.1,
        num_test: int | None = None,
    ) -> None:
        if num_train < 2:
            raise ValueError(
                f"num_train must be at least 2 (each point is hidden from itself), got {num_train}"
            )
        if noise < 0:
            raise ValueError(f"noise must be 0 or more, got {noise}")
        if step <= 0:
            raise ValueError(f"step must be greater than 0, got {step}")
        if num_test is not None and num_test < 1:
            raise ValueError(f"num_test must be at least 1, or null for a step, got {num_test}")
        if low >= high:
            raise ValueError(f"low must be less than high, got low {low} and high {high}")
        count = num_test or max(1, math.ceil((high - low) / step - 1e-9))
        points = f"{num_train:,} training points and {count:,} test points"
        require_memory(points, BYTES_A_POINT * (num_train + count))
        x = torch.rand(num_train, generator=generator).mul(high - low).add(low).sort().values
        y = self.truth(x) + noise * torch.randn(num_train, generator=generator)
        spacing = step if num_test is None else (high - low) / num_test
        x_test = low + spacing * torch.arange(count)
        self.spec = RegressionSpec(x_dim=1, y_dim=1)
        keys, values, queries = (each[:, None] for each in (x, y, x_test))
        self.train = Points.of_rows(
            keys, values, keys, values, LeaveOneOut(torch.arange(num_train), num_train)
        )
        self.validation = None
        self.test = Points.of_rows(queries, self.truth(x_test)[:, None], keys, values, mask=None)

    @abstractmethod
    def truth(self, x: Float[Tensor, " points"]) -> Float[Tensor, " points"]:
        """Return f(x), without noise."""

"""Noisy samples of a curve, for attention pooling as regression."""

import math
from abc import abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor

from attnexp.batch import Batch, RegressionSpec
from attnexp.data.base import Dataset
from attnexp.data.memory import available_memory

BYTES_A_PAIR = 14
"""Peak memory of a leave-one-out training step, in bytes for each pair of training points.

The mask, and the float32 matrices that forward and backward hold together. Measured at 2,000 and
4,000 points with one head. `boxcar` and `epanechnikov` take more, and `additive` needs 12 bytes for
each of its hidden units: this is the least that any score needs.
"""


class Curve(Dataset):
    """y = f(x) + e with x ~ U(low, high), sorted, and e ~ N(0, noise^2).

    The training points are keys and values. In `train` they are also the queries, and the mask
    hides each point from itself: leave-one-out. In `test` the queries are low, low + step, ...
    below high, and the targets are the truth without noise.

    Raises ValueError for fewer than 2 training points or more than the memory that is available
    has room for, a negative noise, a step that is not positive, or an empty range.
    """

    spec: RegressionSpec

    def __init__(
        self,
        generator: torch.Generator,
        num_train: int,
        noise: float,
        low: float,
        high: float,
        step: float,
    ) -> None:
        if num_train < 2:
            raise ValueError(
                f"num_train must be at least 2 (each point is hidden from itself), got {num_train}"
            )
        needed, available = BYTES_A_PAIR * num_train**2, available_memory()
        if needed > available:
            raise ValueError(
                f"data.num_train must be at most {math.isqrt(available // BYTES_A_PAIR)}, because "
                "leave-one-out compares every training point with every other: "
                f"{num_train} need about {needed / 1e9:,.1f} GB of memory, and "
                f"{available / 1e9:,.1f} GB are available"
            )
        if noise < 0:
            raise ValueError(f"noise must be 0 or more, got {noise}")
        if step <= 0:
            raise ValueError(f"step must be greater than 0, got {step}")
        if low >= high:
            raise ValueError(f"low must be less than high, got low {low} and high {high}")
        x = torch.rand(num_train, generator=generator).mul(high - low).add(low).sort().values
        y = self.truth(x) + noise * torch.randn(num_train, generator=generator)
        count = math.ceil((high - low) / step - 1e-9)
        x_test = low + step * torch.arange(count)
        self.spec = RegressionSpec(x_dim=1, y_dim=1)
        self.train = self._batch(x, y, x, y, mask=~torch.eye(num_train, dtype=torch.bool))
        self.validation = None
        self.test = self._batch(
            x_test, self.truth(x_test), x, y, mask=torch.ones(count, num_train, dtype=torch.bool)
        )

    @abstractmethod
    def truth(self, x: Float[Tensor, " points"]) -> Float[Tensor, " points"]:
        """Return f(x), without noise."""

    @staticmethod
    def _batch(
        queries: Float[Tensor, " queries"],
        targets: Float[Tensor, " queries"],
        keys: Float[Tensor, " keys"],
        values: Float[Tensor, " keys"],
        mask: Tensor,
    ) -> Batch:
        queries, targets, keys, values = (
            tensor[None, :, None] for tensor in (queries, targets, keys, values)
        )
        return Batch(
            queries, keys, values, targets, mask[None], torch.ones_like(targets[..., 0]).bool()
        )

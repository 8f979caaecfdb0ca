"""A noisy curve with a jump. What is missing stands in `truth`."""

import torch
from torch import Tensor

from attnexp.data.curve import Curve


class Jump(Curve):
    """y = sin(2x) + 2 [x >= 3] + e, with x ~ U(low, high) and e ~ N(0, noise^2)."""

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
        super().__init__(generator, num_train, noise, low, high, step, num_test)

    def truth(self, x: Tensor) -> Tensor:
        """Return the curve without noise: until it is filled in, a line."""
        return 0 * x

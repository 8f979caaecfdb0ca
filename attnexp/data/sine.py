"""The curve of the course's chapter on attention pooling."""

import torch
from jaxtyping import Float
from torch import Tensor

from attnexp.data.curve import Curve


class Sine(Curve):
    """y = 2 sin(x) + x^0.8 + e, with x ~ U(0, 5) and e ~ N(0, 0.5^2).

    Dive into Deep Learning, release 0.17, section 10.2.1: 50 training points, tested at
    x = 0, 0.1, ..., 4.9. x^0.8 needs x >= 0, so a negative `low` is refused. See `Curve`.
    """

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
        if low < 0:
            raise ValueError(f"low must be 0 or more, because of x^0.8, got {low}")
        super().__init__(generator, num_train, noise, low, high, step, num_test)

    def truth(self, x: Float[Tensor, " points"]) -> Float[Tensor, " points"]:
        return 2 * x.sin() + x**0.8

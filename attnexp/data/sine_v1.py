"""The curve of the course's later release."""

import torch
from jaxtyping import Float
from torch import Tensor

from attnexp.data.curve import Curve


class SineV1(Curve):
    """y = 2 sin(x) + x + e, with x ~ U(0, 5) and e ~ N(0, 1).

    Dive into Deep Learning, release 1.0, section 11.2.2: 40 training points, tested at
    x = 0, 0.1, ..., 4.9. See `Curve`.
    """

    def __init__(
        self,
        generator: torch.Generator,
        num_train: int = 40,
        noise: float = 1.0,
        low: float = 0.0,
        high: float = 5.0,
        step: float = 0.1,
        num_test: int | None = None,
    ) -> None:
        super().__init__(generator, num_train, noise, low, high, step, num_test)

    def truth(self, x: Float[Tensor, " points"]) -> Float[Tensor, " points"]:
        return 2 * x.sin() + x

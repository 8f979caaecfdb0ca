"""The curve of the course's chapter on attention pooling."""

from jaxtyping import Float
from torch import Tensor

from attnexp.data.curve import Curve


class Sine(Curve):
    """y = 2 sin(x) + x^0.8 + e, with x ~ U(0, 5) and e ~ N(0, 0.5^2).

    Dive into Deep Learning, release 0.17, section 10.2.1: 50 training points, tested at
    x = 0, 0.1, ..., 4.9. x^0.8 needs x >= 0, so a negative `low` raises ValueError.
    See `Curve`.
    """

    def truth(self, x: Float[Tensor, " points"]) -> Float[Tensor, " points"]:
        if (x < 0).any():
            raise ValueError(f"low must be 0 or more, because x^0.8 has no value at {x.min():g}")
        return 2 * x.sin() + x**0.8

"""The curve of the course's later release."""

from jaxtyping import Float
from torch import Tensor

from attnexp.data.curve import Curve


class SineV1(Curve):
    """y = 2 sin(x) + x + e, with x ~ U(0, 5) and e ~ N(0, 1).

    Dive into Deep Learning, release 1.0, section 11.2.2: 40 training points, tested at
    x = 0, 0.1, ..., 4.9. conf/data/sine_v1.yaml has its sizes. See `Curve`.
    """

    def truth(self, x: Float[Tensor, " points"]) -> Float[Tensor, " points"]:
        return 2 * x.sin() + x

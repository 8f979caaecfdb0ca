"""A noisy curve with a jump. Fill in `truth`."""

from torch import Tensor

from attnexp.data.curve import Curve


class Jump(Curve):
    """y = sin(2x) + 2 [x >= 3] + e, with x ~ U(low, high) and e ~ N(0, noise^2)."""

    def truth(self, x: Tensor) -> Tensor:
        """Return the curve without noise: until it is filled in, a line."""
        return 0 * x

"""Learned positions."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from attnexp.architectures.positions.base import Positions
from attnexp.scores.base import require_positive


class Learned(Positions):
    """x_i + p_i with p_i = row i of a learned table of `longest` rows, from N(0, 1) at the start.

    Gehring et al. (2017), section 3.1.
    """

    def __init__(self, dim: int, heads: int, longest: int) -> None:
        super().__init__(dim, heads, longest)
        require_positive("longest", longest)
        self.table = nn.Embedding(longest, dim)

    def require_reach(self, length: int) -> None:
        if length > self.longest:
            raise ValueError(
                f"learned positions reach sequences of at most {self.longest} symbols, got one of "
                f"{length}; rotary and most other positions have no limit"
            )

    def add(
        self, x: Float[Tensor, "batch length dim"], places: Int[Tensor, "*examples length"]
    ) -> Float[Tensor, "batch length dim"]:
        return x + self.table(places)

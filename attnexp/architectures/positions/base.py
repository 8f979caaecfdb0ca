"""The contract of positions."""

from collections.abc import Callable
from typing import NamedTuple

from jaxtyping import Float, Int
from torch import Tensor, nn

from attnexp.attention.multihead import Bias, Turn


class Order(NamedTuple):
    """Holds the changes that positions make to the self-attention of some symbols."""

    turn: Turn | None
    bias: Bias | None


class Positions(nn.Module):
    """Tells a stack of attention layers the position of each symbol.

    There are three ways, and a subclass uses one of them:

    - `add` changes the vectors of the symbols before the first layer;
    - `turn` changes the queries and keys of every self-attention, after W_q and W_k;
    - `bias` is added to the scores of every self-attention, before they are normalized. It may
      depend on the queries of each head, after W_q.

    Attention from a decoder to an encoder is neither turned nor biased: places in the target and in
    the source are counted separately, so that there is no distance between them. Those queries and
    keys have their positions from the layers below.

    The surrounding model sets `dim`, the features of a symbol, `heads`, and `longest`, the number
    of symbols that it will need. All other arguments of a subclass are hyperparameters and come
    from its YAML file.
    """

    def __init__(self, dim: int, heads: int, longest: int) -> None:
        super().__init__()
        self.longest = longest

    def require_reach(self, length: int) -> None:
        """Raise ValueError for a sequence of more symbols than there are positions."""

    def add(
        self, x: Float[Tensor, "batch length dim"], places: Int[Tensor, "*examples length"]
    ) -> Float[Tensor, "batch length dim"]:
        """Return the vectors of symbols with their positions; by default unchanged."""
        return x

    def turn(self, places: Int[Tensor, "*examples length"]) -> Turn | None:
        """Return the map of queries or keys (batch, heads, length, head_dim) at places, or None."""
        return None

    def bias(
        self, queries: Int[Tensor, "*examples queries"], keys: Int[Tensor, "*examples keys"]
    ) -> Bias | None:
        """Return the bias of the score of each query and key, or a function of queries, or None."""
        return None

    def order(
        self, queries: Int[Tensor, "*examples queries"], keys: Int[Tensor, "*examples keys"]
    ) -> Order:
        """Return the turn and the bias of attention from places `queries` to places `keys`."""
        return Order(self.turn(queries), self.bias(queries, keys))


PositionsFactory = Callable[..., Positions]
"""Builds positions when called with `dim`, `heads` and `longest`."""

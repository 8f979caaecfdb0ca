"""The contract of positions."""

from collections.abc import Callable
from typing import NamedTuple

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnexp.attention.multihead import Bias, MultiHead, Turn
from attnexp.scores.base import require_positive


class Order(NamedTuple):
    """Holds the changes that places make to the self-attention of some symbols.

    `near` is false for keys that are hidden from a query because they are too far away.
    """

    turn: Turn | None
    bias: Bias | None
    near: Bool[Tensor, "*examples queries keys"] | None = None


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

    @property
    def has_bias(self) -> bool:
        """Whether the positions are a bias of the scores."""
        return type(self).bias is not Positions.bias

    def order(
        self,
        queries: Int[Tensor, "*examples queries"],
        keys: Int[Tensor, "*examples keys"],
        window: int | None = None,
    ) -> Order:
        """Return the changes to attention from places `queries` to places `keys`.

        With a `window`, a query sees the key at its own place and those less than `window` places
        away; if it does not look ahead, these are the last `window`.
        """
        near = None
        if window is not None:
            near = (queries.unsqueeze(-1) - keys.unsqueeze(-2)).abs() < window
        return Order(self.turn(queries), self.bias(queries, keys), near)


def require_order(attention: MultiHead, positions: Positions, window: int | None) -> None:
    """Raise ValueError for a window below 1, and unless an estimator can use bias and window."""
    if window is not None:
        require_positive("window", window)
    estimator = attention.estimator
    name = type(estimator).__name__
    if window is not None and estimator.causal:
        raise ValueError(f"{name} reads all of the past: leave arch.window at null, got {window}")
    if positions.has_bias and estimator.needs_products:
        raise ValueError(
            f"{name} has no scores to which {type(positions).__name__} positions could add a bias: "
            "choose positions=rotary, sinusoidal, learned or none"
        )


PositionsFactory = Callable[..., Positions]
"""Builds positions when called with `dim`, `heads` and `longest`."""

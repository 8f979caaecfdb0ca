"""The contract of a law: from the weights of rows to those that replace them.

A row is a query of a head.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
from torch import Tensor

Weights = Float[Tensor, "batch heads queries keys"]


@dataclass(frozen=True)
class Rows:
    """The weights of rows, and the facts that a law may use.

    - `valid` says which keys each row may attend to.
    - `gold` is the key that each query was made from, -1 where there is none.
    - `random` returns a number from U(0, 1) for each weight. The numbers are the same whenever the
      same rows are asked for in the same repetition.
    - `signed` says that weights may be negative, so that the sum of a row is not its size.
    """

    weights: Weights
    valid: Bool[Tensor, "batch heads queries keys"]
    gold: Int[Tensor, "batch queries"] | None
    random: Callable[[], Weights]
    signed: bool = False

    @property
    def sums(self) -> Float[Tensor, "batch heads queries 1"]:
        """The sum of each row."""
        return self.weights.sum(dim=-1, keepdim=True)

    def shared(self, shares: Weights) -> Weights:
        """Return the sum of each row, divided among the keys in proportion to `shares`.

        A row whose shares sum to 0 stays as it is.
        """
        sums = shares.sum(dim=-1, keepdim=True)
        return (shares * (self.sums / sums.where(sums > 0, 1.0))).where(sums > 0, self.weights)

    def kept(self, there: Bool[Tensor, "batch heads queries keys"]) -> Weights:
        """Return the weights at the keys `there`, scaled to the sum of their row, and 0 elsewhere.

        Signed weights are not scaled.
        """
        left = self.weights.where(there, 0.0)
        return left if self.signed else self.shared(left)

    def largest(self, count: int) -> Bool[Tensor, "batch heads queries keys"]:
        """Return which weights are among the `count` largest of their row in size, or tie."""
        sizes = self.weights.abs()
        least = sizes.topk(min(count, sizes.shape[-1]), dim=-1).values[..., -1:]
        return (sizes >= least) & (sizes > 0)


class Law(ABC):
    """A pure function of the weights of rows. A constructor's arguments are settings of its YAML.

    - `draws`: the law calls `rows.random`. It is applied 100 times and the results are averaged.
    - `needs_gold`: the law reads `rows.gold`. It is refused if the data have no gold keys.
    - `has_unit`: `unit_NAME` is an intervention too, with rows that sum to 1.
    - `keeps_sum`: each row keeps its sum, unless its weights are signed. So if rows do not sum to
      1, a context changes its direction and not its size.
    - `needs_shares`: the law gives the sum of a row to some keys, or divides by the sum. It is
      refused where weights are signed, as their sum may be near 0.
    """

    draws: bool = False
    needs_gold: bool = False
    has_unit: bool = True
    keeps_sum: bool = True
    needs_shares: bool = False

    @abstractmethod
    def replace(self, rows: Rows) -> Weights:
        """Return the weights that take the place of the rows' own, 0 at keys that are not valid."""

"""The base of the scores that are an inner product of projections."""

from typing import final

from jaxtyping import Float
from torch import Tensor

from attnexp.scores.base import Score


class InnerProduct(Score):
    """a(q, k) = q'.k', with the projections q' and k' that a subclass defines."""

    of_products = True

    @final
    def compare(
        self,
        queries: Float[Tensor, "*batch queries projected"],
        keys: Float[Tensor, "*batch keys projected"],
    ) -> Float[Tensor, "*batch queries keys"]:
        return queries @ keys.mT

    @final
    def as_dot_product(
        self,
        queries: Float[Tensor, "*batch queries projected"],
        keys: Float[Tensor, "*batch keys projected"],
    ) -> tuple[Float[Tensor, "*batch queries projected"], Float[Tensor, "*batch keys projected"]]:
        return queries, keys

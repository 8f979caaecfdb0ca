"""The contract of attention: what every architecture builds on."""

from abc import ABC, abstractmethod
from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor, nn

from attnexp.attention.softmax import Mask, ValidLens, as_mask


class Memory(NamedTuple):
    """Projected keys and values, and which of them may be attended to.

    It is made once a sequence and read at every decoding step.
    """

    keys: Float[Tensor, "*batch keys key_dim"]
    values: Float[Tensor, "*batch keys value_dim"]
    mask: Mask | None

    @classmethod
    def of(
        cls,
        keys: Float[Tensor, "*batch keys key_dim"],
        values: Float[Tensor, "*batch keys value_dim"],
        mask: Mask | ValidLens | None,
    ) -> "Memory":
        """A memory in which a key that no query may see holds zeros.

        A weight of zero times NaN is NaN, so that a mask alone would not keep padding out.
        """
        mask = as_mask(mask, keys.shape[-2])
        if mask is not None:
            seen = mask.any(dim=-2).unsqueeze(-1)
            shown = keys.where(seen, 0.0)
            values = shown if values is keys else values.where(seen, 0.0)
            keys = shown
        return cls(keys, values, mask)


class Attention(nn.Module, ABC):
    """Answers queries with weighted averages of values.

    `context_dim` is the size of an answer. Weights have one axis for the heads, also where there is
    one head, and are returned, never stored.
    """

    context_dim: int

    @abstractmethod
    def remember(
        self,
        keys: Float[Tensor, "batch keys key_dim"],
        values: Float[Tensor, "batch keys value_dim"],
        mask: Mask | ValidLens | None = None,
    ) -> Memory:
        """Do what can be done before a query is known. See `masked_softmax` for `mask`."""

    @abstractmethod
    def attend(
        self,
        queries: Float[Tensor, "batch queries query_dim"],
        memory: Memory,
        need_weights: bool = True,
    ) -> tuple[
        Float[Tensor, "batch queries context_dim"],
        Float[Tensor, "batch heads queries keys"] | None,
    ]:
        """The context of every query, and the weights where they are needed.

        Without the weights a score that is a dot product in disguise uses a fused kernel.
        """

    def forward(
        self,
        queries: Float[Tensor, "batch queries query_dim"],
        keys: Float[Tensor, "batch keys key_dim"],
        values: Float[Tensor, "batch keys value_dim"],
        mask: Mask | ValidLens | None = None,
        need_weights: bool = True,
    ) -> tuple[
        Float[Tensor, "batch queries context_dim"],
        Float[Tensor, "batch heads queries keys"] | None,
    ]:
        """`attend` to what `remember` makes of the keys and values."""
        return self.attend(queries, self.remember(keys, values, mask), need_weights)

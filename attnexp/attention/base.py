"""The contract of attention: what every architecture builds on."""

from abc import ABC, abstractmethod
from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor, nn

from attnexp.attention.softmax import Mask, ValidLens, as_mask


class Memory(NamedTuple):
    """Holds projected keys and values, and a mask of those that may be attended to.

    A memory is built once per sequence and read at every decoding step.
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
        """Return a memory with zeros for the keys and values that no query may attend to.

        A weight of zero times NaN is NaN, so a mask alone would not keep padding out.
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

    Such an average is the context of a query, and `context_dim` is its size. The weights have an
    axis for the heads even where there is one head. They are returned and never stored.
    """

    context_dim: int

    @abstractmethod
    def remember(
        self,
        keys: Float[Tensor, "batch keys key_dim"],
        values: Float[Tensor, "batch keys value_dim"],
        mask: Mask | ValidLens | None = None,
    ) -> Memory:
        """Return the projected keys and values. See `masked_softmax` for `mask`."""

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
        """Return the context of every query, and the weights if `need_weights`, else None.

        Without the weights a score that can be written as a dot product uses a fused kernel.
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
        """Return the contexts and weights of `attend` for the memory that `remember` returns."""
        return self.attend(queries, self.remember(keys, values, mask), need_weights)

"""The contract of attention, on which every architecture builds."""

from abc import ABC, abstractmethod
from typing import NamedTuple, cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attnexp.core.masks import Mask, ValidLens, as_mask, seen_keys
from attnexp.estimators.base import Estimator
from attnexp.normalizers.base import Normalizer
from attnexp.scores.base import Score


class Memory(NamedTuple):
    """Holds projected keys and values, and a mask of those that may be attended to.

    `kept` are further numbers of each key for the estimator, see `Estimator.remember`. A memory is
    built once per sequence and read at every decoding step.
    """

    keys: Float[Tensor, "*batch keys key_dim"]
    values: Float[Tensor, "*batch keys value_dim"]
    mask: Mask | None
    kept: Float[Tensor, "*batch keys kept"] | None = None

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
        shown = zero_unless_seen(keys, mask)
        return cls(shown, shown if values is keys else zero_unless_seen(values, mask), mask)

    def followed_by(self, new: "Memory") -> "Memory":
        """Return this memory with new keys and values behind it, for queries that come later.

        They may attend to every key that a query so far may attend to, and to all new ones.
        """
        seen = seen_keys(self.mask)
        mask = None
        if seen is not None:
            mask = F.pad(seen.unsqueeze(-2), (0, new.keys.shape[-2]), value=True)
        return Memory(
            torch.cat([self.keys, new.keys], dim=-2),
            torch.cat([self.values, new.values], dim=-2),
            mask,
            None if new.kept is None else torch.cat([cast(Tensor, self.kept), new.kept], dim=-2),
        )


def zero_unless_seen(
    numbers: Float[Tensor, "*batch keys numbers"], mask: Mask | None
) -> Float[Tensor, "*batch keys numbers"]:
    """Return the numbers of keys, with zeros for the keys that no query may attend to."""
    seen = seen_keys(mask)
    return numbers if seen is None else numbers.where(seen.unsqueeze(-1), 0.0)


class Attention(nn.Module, ABC):
    """Answers queries with sums of values, whose weights depend on queries and keys.

    Such a sum is the context of a query, and `context_dim` is its size. The weights are the
    effective ones of the `estimator`. They have an axis for the heads, also for one head, and are
    returned and never stored.
    """

    context_dim: int
    estimator: Estimator

    @abstractmethod
    def remember(
        self,
        keys: Float[Tensor, "batch keys key_dim"],
        values: Float[Tensor, "batch keys value_dim"],
        mask: Mask | ValidLens | None = None,
    ) -> Memory:
        """Return the projected keys and values. See `Normalizer.forward` for `mask`."""

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

        Without the weights, the softmax of a score that can be written as a dot product uses a
        fused kernel, and large attention goes tile by tile, in memory that grows with queries +
        keys. The weights are those before dropout.
        """

    @abstractmethod
    def reached(
        self, queries: Float[Tensor, "batch queries query_dim"], memory: Memory
    ) -> Bool[Tensor, "batch queries"]:
        """Return whether each query has weight on any key, in any head. It has no gradient."""

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


def may_be_empty(model: nn.Module) -> bool:
    """Return whether a row of the model's weights may sum to zero although keys are allowed.

    It may if a score is compact, if the rows of a normalizer need not sum to 1, or if an estimator
    makes weights of any sign that need not.
    """
    return any(
        (isinstance(module, Score) and module.compact)
        or (isinstance(module, Normalizer) and not module.sums_to_one)
        or (isinstance(module, Estimator) and module.signed and not module.sums_to_one)
        for module in model.modules()
    )


def is_signed(model: nn.Module) -> bool:
    """Return whether the model's weights may be negative."""
    return any(isinstance(module, Estimator) and module.signed for module in model.modules())

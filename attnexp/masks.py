"""The masks of attention: which keys a query may attend to.

A mask is one of None (every query may attend to every key), a boolean tensor, whole numbers called
`valid_lens`, or a structured mask, whose memory does not grow with queries x keys.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

Queries = Int[Tensor, " chosen"] | slice
"""Places of queries."""


class StructuredMask(ABC):
    """A mask that is made for the queries at hand, and is a matrix only where that is small."""

    @abstractmethod
    def select(self, queries: Queries) -> "StructuredMask":
        """Return the mask of some of the queries."""

    @abstractmethod
    def hide(
        self, scores: Float[Tensor, "*batch queries keys"]
    ) -> Float[Tensor, "*batch queries keys"]:
        """Return the scores with minus infinity for the keys that are hidden from a query."""

    @abstractmethod
    def matrix(self) -> Bool[Tensor, "queries keys"]:
        """Return the same mask as a matrix, true where a query may attend to a key."""

    @abstractmethod
    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors that the mask is made of, by name."""

    @abstractmethod
    def with_tensors(self, tensors: Mapping[str, Tensor]) -> "StructuredMask":
        """Return a mask of the same structure that is made of these tensors."""

    def to(self, device: torch.device) -> "StructuredMask":
        """Return the same mask on `device`."""
        return self.with_tensors({name: own.to(device) for name, own in self.tensors().items()})


@dataclass(frozen=True)
class LeaveOneOut(StructuredMask):
    """Hides from each query the one key that was made from the same point.

    `own` is that key's place for each query, and `keys` the number of keys, at least 2.
    """

    own: Int[Tensor, " queries"]
    keys: int

    def select(self, queries: Queries) -> "LeaveOneOut":
        return LeaveOneOut(self.own[queries], self.keys)

    def hide(
        self, scores: Float[Tensor, "*batch queries keys"]
    ) -> Float[Tensor, "*batch queries keys"]:
        place = self.own.unsqueeze(-1).expand(*scores.shape[:-1], 1)
        return scores.scatter(-1, place, -torch.inf)

    def matrix(self) -> Bool[Tensor, "queries keys"]:
        return self._matrix

    @cached_property
    def _matrix(self) -> Bool[Tensor, "queries keys"]:
        return torch.arange(self.keys, device=self.own.device) != self.own.unsqueeze(-1)

    def tensors(self) -> dict[str, Tensor]:
        return {"own": self.own}

    def with_tensors(self, tensors: Mapping[str, Tensor]) -> "LeaveOneOut":
        return LeaveOneOut(tensors["own"], self.keys)


ValidLens = Int[Tensor, " batch"] | Int[Tensor, "batch queries"]
MaskMatrix = Bool[Tensor, "..."]
Mask = MaskMatrix | StructuredMask


def select_queries(mask: Mask | None, queries: Queries) -> Mask | None:
    """Return the mask of some of the queries."""
    if isinstance(mask, StructuredMask):
        return mask.select(queries)
    return mask if mask is None or mask.shape[-2] == 1 else mask[..., queries, :]


def mask_matrix(mask: Mask | None) -> MaskMatrix | None:
    """Return a mask as a boolean tensor, and None for None."""
    return mask.matrix() if isinstance(mask, StructuredMask) else mask


def over_heads(mask: Mask | None) -> Mask | None:
    """Return a mask that all heads share, whose axis is the one before the queries."""
    return mask.unsqueeze(-3) if isinstance(mask, Tensor) else mask


def hide(
    scores: Float[Tensor, "*batch queries keys"], mask: Mask | None
) -> Float[Tensor, "*batch queries keys"]:
    """Return the scores with minus infinity where the mask hides a key."""
    if isinstance(mask, StructuredMask):
        return mask.hide(scores)
    return scores if mask is None else scores.masked_fill(~mask, -torch.inf)


def length_mask(valid_lens: ValidLens, num_keys: int) -> Bool[Tensor, "batch queries_or_1 keys"]:
    """Return a mask that is true at the first `valid_lens` keys, a length per sequence or query.

    Raises ValueError when a length is negative or greater than `num_keys`.
    """
    if valid_lens.numel() and not 0 <= int(valid_lens.min()) <= int(valid_lens.max()) <= num_keys:
        raise ValueError(
            f"valid_lens must lie between 0 and the number of keys, {num_keys}, "
            f"got {valid_lens.tolist()}"
        )
    one_a_query = valid_lens if valid_lens.dim() == 2 else valid_lens.unsqueeze(-1)
    positions = torch.arange(num_keys, device=valid_lens.device)
    return positions < one_a_query.unsqueeze(-1)


def as_mask(mask: Mask | ValidLens | None, num_keys: int) -> Mask | None:
    """Return a mask as it is, the mask of `valid_lens`, or None for None."""
    if mask is None or isinstance(mask, StructuredMask) or mask.dtype == torch.bool:
        return mask
    return length_mask(mask, num_keys)


def fitting_mask(
    mask: MaskMatrix | ValidLens, scores: Float[Tensor, "*batch queries keys"]
) -> MaskMatrix:
    """Return a mask that broadcasts to the scores; lengths get an axis for each of theirs.

    Raises ValueError for valid_lens out of range or of a shape that does not fit.
    """
    if mask.dtype == torch.bool:
        return mask
    leading, queries = scores.shape[:-2], scores.shape[-2]
    fitting = {(*leading[:1],), (*leading[:1], queries)} if leading else {(queries,)}
    if tuple(mask.shape) not in fitting:
        raise ValueError(
            f"valid_lens of shape {tuple(mask.shape)} do not fit scores of shape "
            f"{tuple(scores.shape)}: expected {' or '.join(map(str, sorted(fitting)))}"
        )
    allowed = length_mask(mask, scores.shape[-1])
    if not leading:
        return allowed.squeeze(-2)
    return allowed[(slice(None), *[None] * (len(leading) - 1))]

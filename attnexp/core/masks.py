"""The masks of attention: which keys a query may attend to.

A mask is one of None (every query may attend to every key), a boolean tensor, whole numbers called
`valid_lens`, or a structured mask, whose memory does not grow with queries x keys.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

Queries = Int[Tensor, " chosen"] | slice

ALL = slice(None)


class StructuredMask(ABC):
    """A mask that is made for the queries at hand, and is a matrix only if that is small."""

    triangle: bool = False
    """Whether there are as many queries as keys, and each query sees all keys up to its own."""

    @abstractmethod
    def select(self, queries: Queries, examples: slice = ALL) -> "StructuredMask":
        """Return the mask of some of the queries, of some of the examples of a batch."""

    @abstractmethod
    def hide(
        self, scores: Float[Tensor, "*batch queries keys"]
    ) -> Float[Tensor, "*batch queries keys"]:
        """Return the scores with minus infinity for the keys that are hidden from a query."""

    @property
    @abstractmethod
    def matrix(self) -> Bool[Tensor, "*batch queries keys"]:
        """The same mask as a matrix, true where a query may attend to a key. It is made once."""

    def seen(self) -> Bool[Tensor, "*batch keys"] | None:
        """Return which keys some query may attend to, or None if there is no padding."""
        return None

    @property
    def over_heads(self) -> "StructuredMask":
        """A mask that all heads share, always the same one."""
        return self

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

    `own` is that key's place for each query, -1 where it is not among the keys, and `keys` the
    number of keys, at least 2.
    """

    own: Int[Tensor, " queries"]
    keys: int

    def select(self, queries: Queries, examples: slice = ALL) -> "LeaveOneOut":
        return LeaveOneOut(self.own[queries], self.keys)

    def select_keys(self, keys: Int[Tensor, " chosen"]) -> "LeaveOneOut":
        """Return the mask of some of the keys, whose places ascend."""
        place = torch.searchsorted(keys, self.own).clamp_(max=len(keys) - 1)
        return LeaveOneOut(place.where(keys[place] == self.own, -1), len(keys))

    def hide(
        self, scores: Float[Tensor, "*batch queries keys"]
    ) -> Float[Tensor, "*batch queries keys"]:
        own = self.own.unsqueeze(-1).expand(*scores.shape[:-1], 1)
        place = own.clamp(min=0)
        kept = scores.gather(-1, place).masked_fill(own >= 0, -torch.inf)
        return scores.scatter(-1, place, kept)

    @cached_property
    def matrix(self) -> Bool[Tensor, "queries keys"]:
        return torch.arange(self.keys, device=self.own.device) != self.own.unsqueeze(-1)

    def tensors(self) -> dict[str, Tensor]:
        return {"own": self.own}

    def with_tensors(self, tensors: Mapping[str, Tensor]) -> "LeaveOneOut":
        return LeaveOneOut(tensors["own"], self.keys)


@dataclass(frozen=True)
class FirstKeys(StructuredMask):
    """Lets each query see its first `limit` keys, without those that are padding.

    `limits` are numbers of keys, the same for every example or of each: a length for each query, or
    the query's position plus one, if it must not look ahead. `keys` is the number of keys.
    `shown` is false at keys that no query may attend to. Both may have an axis for the heads.
    """

    limits: Int[Tensor, "*#batch queries"]
    keys: int
    shown: Bool[Tensor, "*#batch keys"] | None = None
    triangle: bool = False

    def select(self, queries: Queries, examples: slice = ALL) -> "FirstKeys":
        shown = self.shown if self.shown is None else _examples(self.shown, examples)
        return FirstKeys(_examples(self.limits, examples)[..., queries], self.keys, shown)

    def hide(
        self, scores: Float[Tensor, "*batch queries keys"]
    ) -> Float[Tensor, "*batch queries keys"]:
        return scores.masked_fill(~self.matrix, -torch.inf)

    @cached_property
    def matrix(self) -> Bool[Tensor, "*batch queries keys"]:
        places = torch.arange(self.keys, device=self.limits.device)
        first = places < self.limits.unsqueeze(-1)
        return first if self.shown is None else first & self.shown.unsqueeze(-2)

    def seen(self) -> Bool[Tensor, "*batch keys"] | None:
        if self.triangle:
            return self.shown
        places = torch.arange(self.keys, device=self.limits.device)
        first = places < self.limits.amax(dim=-1, keepdim=True)
        return first if self.shown is None else first & self.shown

    @cached_property
    def over_heads(self) -> "FirstKeys":
        return self.with_tensors({name: own.unsqueeze(-2) for name, own in self.tensors().items()})

    def tensors(self) -> dict[str, Tensor]:
        own = {"limits": self.limits, "shown": self.shown}
        return {name: tensor for name, tensor in own.items() if tensor is not None}

    def with_tensors(self, tensors: Mapping[str, Tensor]) -> "FirstKeys":
        return FirstKeys(tensors["limits"], self.keys, tensors.get("shown"), self.triangle)


def causal_mask(
    length: int, device: torch.device, shown: Bool[Tensor, "batch length"] | None = None
) -> FirstKeys:
    """Return the mask of a sequence whose symbols see those before them and themselves.

    `shown` is false at padding, which no symbol sees.
    """
    return FirstKeys(torch.arange(1, length + 1, device=device), length, shown, triangle=True)


def _examples(tensor: Shaped[Tensor, "*batch numbers"], examples: slice) -> Tensor:
    """Return the rows of some examples, if each has a row of its own."""
    return tensor if tensor.dim() == 1 or len(tensor) == 1 else tensor[examples]


ValidLens = Int[Tensor, " batch"] | Int[Tensor, "batch queries"]
MaskMatrix = Bool[Tensor, "..."]
Mask = MaskMatrix | StructuredMask


def select_queries(mask: Mask | None, queries: Queries) -> Mask | None:
    """Return the mask of some of the queries."""
    if isinstance(mask, StructuredMask):
        return mask.select(queries)
    return mask if mask is None or mask.shape[-2] == 1 else mask[..., queries, :]


@overload
def mask_matrix(mask: Mask) -> MaskMatrix: ...
@overload
def mask_matrix(mask: None) -> None: ...
@overload
def mask_matrix(mask: Mask | None) -> MaskMatrix | None: ...
def mask_matrix(mask: Mask | None) -> MaskMatrix | None:
    """Return a mask as a boolean tensor, and None for None."""
    return mask.matrix if isinstance(mask, StructuredMask) else mask


def over_heads(mask: Mask | None) -> Mask | None:
    """Return a mask that all heads share, whose axis is the one before the queries."""
    if isinstance(mask, StructuredMask):
        return mask.over_heads
    return mask if mask is None else mask.unsqueeze(-3)


def both(mask: Mask | None, near: MaskMatrix) -> MaskMatrix:
    """Return the mask of the keys that a mask shows and that are near.

    A query that has no such key, as padding far behind the last symbol, has those of the mask.
    """
    if mask is None:
        return near
    shown = mask_matrix(mask)
    inside = shown & near
    return inside | (shown & ~inside.any(dim=-1, keepdim=True))


def seen_keys(mask: Mask | None) -> Bool[Tensor, "*batch keys"] | None:
    """Return which keys some query may attend to, or None if that is all of them."""
    if isinstance(mask, StructuredMask):
        return mask.seen()
    return mask if mask is None else mask.any(dim=-2)


def hide(
    scores: Float[Tensor, "*batch queries keys"], mask: Mask | None
) -> Float[Tensor, "*batch queries keys"]:
    """Return the scores with minus infinity at each hidden key."""
    if isinstance(mask, StructuredMask):
        return mask.hide(scores)
    return scores if mask is None else scores.masked_fill(~mask, -torch.inf)


def require_row_for_each_query(
    mask: Mask | None, queries: Shaped[Tensor, "*batch queries projected"]
) -> None:
    """Raise ValueError for a matrix without an axis for the batch that has a row for each example.

    It would be read as a row for each query, or not fit.
    """
    if not isinstance(mask, Tensor) or mask.dim() >= queries.dim():
        return
    rows, examples, count = mask.shape[-2], len(queries), queries.shape[-2]
    if rows != examples or rows == 1:
        return
    per_example = f"a row for each example is mask.unsqueeze(1), ({rows}, 1, {mask.shape[-1]})"
    if rows == count:
        raise ValueError(
            f"a mask of shape {(rows, mask.shape[-1])} is ambiguous with {examples} examples of "
            f"{count} queries: {per_example}, and a row for each query is mask.unsqueeze(0)"
        )
    raise ValueError(
        f"a mask of shape {(rows, mask.shape[-1])} does not fit {count} queries: {per_example}"
    )


def require_lengths(valid_lens: ValidLens, num_keys: int) -> None:
    """Raise ValueError for anything but whole numbers from 0 to `num_keys`.

    Also raise it for a mask of 0 and 1 for each key, as tokenizers write it, with several ones in
    a row: as lengths they would hide all keys but the first. A row with a single 1 is taken for
    lengths, which a sequence of one symbol may have.
    """
    if valid_lens.is_floating_point():
        raise ValueError(
            "valid_lens must be whole numbers, or a mask of true and false, got "
            f"{str(valid_lens.dtype).removeprefix('torch.')}"
        )
    if valid_lens.numel() and not 0 <= int(valid_lens.min()) <= int(valid_lens.max()) <= num_keys:
        raise ValueError(
            f"valid_lens must lie between 0 and the number of keys, {num_keys}, "
            f"got {valid_lens.tolist()}"
        )
    if valid_lens.dim() == 2 and valid_lens.shape[-1] == num_keys:
        ones = valid_lens == 1
        if bool(((valid_lens == 0) | ones).all() & (ones.sum(dim=-1) > 1).any()):
            raise ValueError(
                f"valid_lens of shape {tuple(valid_lens.shape)} are all 0 or 1, as a mask of the "
                f"{num_keys} keys, and would be read as a length for each query: give the mask as "
                "mask.bool().unsqueeze(1), or lengths as mask.sum(-1) if the ones come first"
            )


def length_mask(valid_lens: ValidLens, num_keys: int) -> Bool[Tensor, "batch queries_or_1 keys"]:
    """Return a mask that is true at the first `valid_lens` keys, a length per sequence or query.

    Raises ValueError as `require_lengths`.
    """
    require_lengths(valid_lens, num_keys)
    one_a_query = valid_lens if valid_lens.dim() == 2 else valid_lens.unsqueeze(-1)
    positions = torch.arange(num_keys, device=valid_lens.device)
    return positions < one_a_query.unsqueeze(-1)


def as_mask(mask: Mask | ValidLens | None, num_keys: int) -> Mask | None:
    """Return a mask as it is, the mask of `valid_lens`, or None for None.

    A length a sequence is one row of a matrix; lengths of each query are structured.
    """
    if mask is None or isinstance(mask, StructuredMask) or mask.dtype == torch.bool:
        return mask
    if mask.dim() == 1:
        return length_mask(mask, num_keys)
    require_lengths(mask, num_keys)
    return FirstKeys(mask, num_keys)


def fitting_mask(
    mask: MaskMatrix | ValidLens, scores: Float[Tensor, "*batch queries keys"]
) -> MaskMatrix:
    """Return a mask that broadcasts to the scores; lengths get an axis for each of theirs.

    Raises ValueError for valid_lens of a shape that does not fit, and as `require_lengths`.
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

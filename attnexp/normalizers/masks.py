"""The masks of attention: which keys a query may attend to."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

ValidLens = Int[Tensor, " batch"] | Int[Tensor, "batch queries"]
Mask = Bool[Tensor, "*mask"]


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
    if mask is None or mask.dtype == torch.bool:
        return mask
    return length_mask(mask, num_keys)


def fitting_mask(mask: Mask | ValidLens, scores: Float[Tensor, "*batch queries keys"]) -> Mask:
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

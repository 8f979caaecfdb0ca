"""Multi-head attention whose keys and values are mixed with those before them."""

from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attnexp.attention.base import Memory
from attnexp.attention.multihead import Bias, MultiHead, Turn
from attnexp.core.masks import seen_keys


class Shifted(MultiHead):
    """k'_j = a k_j + (1 - a) k_(j-1) and v'_j = b v_j + (1 - b) v_(j-1) in place of k_j and v_j.

    KV shifting, Xu et al. (2025, arXiv 2411.19574): a key tells which symbol came before its own,
    so that one layer can find a symbol and copy the next one, which else takes two. The first key
    and value are mixed with 0, and padding is passed over. Each head has its own a and b, sigmoids
    of parameters that are 0 at the start.

    Keys are mixed as the score compares them, after positions have turned them. The weights that
    are returned are those of the values before they are mixed: b w_j + (1 - b) w_(j+1) for the
    weights w of mixed keys. So a key that is hidden, but precedes one that is not, has weight
    (1 - b) w_(j+1).

    Other arguments are those of `MultiHead`.
    """

    mixes_neighbours: ClassVar[bool] = True

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.shares = nn.Parameter(torch.zeros(2, self.heads))

    def attend(
        self,
        queries: Float[Tensor, "batch queries query_dim"],
        memory: Memory,
        need_weights: bool = True,
        turn: Turn | None = None,
        bias: Bias | None = None,
        near: Bool[Tensor, "*batch queries keys"] | None = None,
    ) -> tuple[
        Float[Tensor, "batch queries context_dim"],
        Float[Tensor, "batch heads queries keys"] | None,
    ]:
        of_keys, of_values = self.shares.sigmoid()[..., None, None]
        seen = seen_keys(memory.mask)
        mixed = memory._replace(
            keys=_mixed(memory.keys, of_keys.repeat_interleave(self.maps_a_head, dim=0), seen),
            values=_mixed(memory.values, of_values, seen),
        )
        context, weights = super().attend(queries, mixed, need_weights, turn, bias, near)
        if weights is None:
            return context, None
        backwards = None if seen is None else seen.flip(-1)
        return context, _mixed(weights.mT.flip(-2), of_values, backwards).flip(-2).mT


def _mixed(
    rows: Float[Tensor, "batch heads length features"],
    share: Float[Tensor, "heads 1 1"],
    seen: Bool[Tensor, "*batch length"] | None,
) -> Float[Tensor, "batch heads length features"]:
    """Return each row times a share, and the last row seen before it times the rest.

    Rows that are not seen become zeros. None means that all rows are.
    """
    before = F.pad(rows, (0, 0, 1, 0))
    if seen is None:
        return share * rows + (1 - share) * before[..., :-1, :]
    places = torch.arange(1, rows.shape[-2] + 1, device=rows.device).where(seen, 0)
    last = F.pad(places.cummax(dim=-1).values, (1, 0))[..., :-1, None]
    mixed = share * rows + (1 - share) * before.gather(-2, last.expand_as(rows))
    return mixed.where(seen.unsqueeze(-1), 0.0)

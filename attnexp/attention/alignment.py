"""Measures of how well an attention map agrees with a known alignment.

A model can be perfectly accurate while its map points elsewhere, so the map is scored separately.
Every measure has one value for each layer and head.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attnexp.attention.statistics import entropy

PEAKED = 0.99
"""A row with a weight above this counts as looking at a single key."""


@dataclass(frozen=True)
class Scorecard:
    """Holds the scores of maps against gold, over the queries that have a gold key, for each head.

    - `alignment_accuracy`: share of queries whose largest weight is on the gold key. A row of
      zeros has no largest weight and counts as wrong. A uniform map over n keys gets 1/n.
    - `before`, `after`: the same for the key one before and one after the gold key, because a
      recurrent encoder may carry a symbol into the state of its neighbour.
    - `gold_mass`: mean weight on the gold key.
    - `alignment_error_rate`: 1 - 2 |A and G| / (|A| + |G|), where A links every query to its
      largest weight and G is gold. Och and Ney (2003), section 3, all links sure. Queries without
      gold, such as the end symbol, count in A.
    - `entropy`: mean of -sum w log w, nats, over all queries; `relative_entropy`: mean of the same
      over log n, n the keys that the query may see. 1 is uniform, 0 is one key.
    - `peaked`: share of all queries with a weight above 0.99.
    """

    alignment_accuracy: Float[Tensor, "layers heads"]
    before: Float[Tensor, "layers heads"]
    after: Float[Tensor, "layers heads"]
    gold_mass: Float[Tensor, "layers heads"]
    alignment_error_rate: Float[Tensor, "layers heads"]
    entropy: Float[Tensor, "layers heads"]
    relative_entropy: Float[Tensor, "layers heads"]
    peaked: Float[Tensor, "layers heads"]

    def best(self) -> tuple[int, int]:
        """Return the layer and head with the highest alignment accuracy, the first of equals."""
        heads = self.alignment_accuracy.shape[1]
        return divmod(int(self.alignment_accuracy.argmax()), heads)

    def metrics(self) -> dict[str, float]:
        """Return the values of the best head by name, and with several heads those of each head.

        The latter are named as in `gold_mass.layer1.head2`, counted from 1.
        """
        layer, head = self.best()
        whole = {name: values.tolist() for name, values in vars(self).items()}
        named = {name: rows[layer][head] for name, rows in whole.items()}
        if self.alignment_accuracy.numel() > 1:
            named |= {
                f"{name}.layer{row}.head{column}": value
                for name, rows in whole.items()
                for row, values in enumerate(rows, start=1)
                for column, value in enumerate(values, start=1)
            }
        return named


def scorecard(
    weights: Float[Tensor, "batch layers heads queries keys"],
    alignment: Int[Tensor, "batch queries"],
    mask: Bool[Tensor, "batch #queries keys"],
    target_mask: Bool[Tensor, "batch queries"],
) -> Scorecard:
    """Return the scores of maps against `alignment`, the gold key of each query or -1.

    Queries outside `target_mask` do not count. Raises ValueError where no query has a gold key.
    """
    has_gold = target_mask & (alignment >= 0)
    if not has_gold.any():
        raise ValueError("no query has a gold key: there is no alignment to score")
    rows = weights.permute(1, 2, 0, 3, 4)
    gold = alignment.clamp(min=0)
    top, chosen = rows.max(dim=-1)
    chosen = chosen.masked_fill(top == 0, -2)  # no offset of a gold key reaches -2
    on_gold = rows.gather(-1, gold[..., None].expand(*rows.shape[:-1], 1)).squeeze(-1)
    nats = entropy(rows)
    keys = mask.sum(dim=-1).expand_as(target_mask)
    several = target_mask & (keys > 1)
    hits = (chosen == gold)[..., has_gold]
    links = target_mask.sum() + has_gold.sum()
    return Scorecard(
        alignment_accuracy=_share(hits),
        before=_share((chosen == gold - 1)[..., has_gold]),
        after=_share((chosen == gold + 1)[..., has_gold]),
        gold_mass=on_gold[..., has_gold].mean(dim=-1),
        alignment_error_rate=1 - 2 * hits.sum(dim=-1) / links,
        entropy=nats[..., target_mask].mean(dim=-1),
        relative_entropy=(nats / keys.clamp(min=2).log())[..., several].mean(dim=-1),
        peaked=_share((top > PEAKED)[..., target_mask]),
    )


def _share(hits: Bool[Tensor, "layers heads counted"]) -> Float[Tensor, "layers heads"]:
    return hits.to(torch.float32).mean(dim=-1)

"""Measures of how well an attention map agrees with a known alignment.

A model can be perfectly accurate while its map points elsewhere, so the map is scored separately.
Every measure has one value for each layer and head.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attnexp.attention.statistics import entropy, negative_mass, sink_mass, support

PEAKED = 0.99
"""A row with a weight above this counts as peaked."""


@dataclass(frozen=True)
class Scorecard:
    """Holds the scores of maps against gold, over the queries that have a gold key, for each head.

    - `alignment_accuracy`: share of queries whose largest weight is on the gold key. If several
      keys share the largest weight, each has its share of the query, so a uniform map over n keys
      gets 1/n. A row of zeros has no largest weight and counts as wrong. If each query has one
      largest weight, this is 1 minus the alignment error rate of Och and Ney (2003), section 3.
    - `before`, `after`: the same for the key one before and one after the gold key, because a
      recurrent encoder may carry a symbol into the state of its neighbour.
    - `gold_mass`: mean weight on the gold key.
    - `entropy`: mean of -sum p log p, nats, over all queries, p the weights over their sum;
      `relative_entropy`: mean of the same over log n, over the queries that may see n > 1 keys. 1
      is uniform, 0 is one key.
    - `peaked`: share of all queries with a weight above 0.99.
    - `support`: mean number of keys with a weight above 0, over all queries.
    - `sink_mass`: mean of 1 - sum w over all queries, the weight that is on no key;
      `gold_sink_mass`: the same over the queries that have a gold key.
    - `negative_mass`: mean size of the negative weights of a row, over all queries.

    If weights may be negative there are no entropies, `peaked` and `support`, and if they may not
    be there is no `negative_mass`.
    """

    alignment_accuracy: Float[Tensor, "layers heads"]
    before: Float[Tensor, "layers heads"]
    after: Float[Tensor, "layers heads"]
    gold_mass: Float[Tensor, "layers heads"]
    entropy: Float[Tensor, "layers heads"] | None
    relative_entropy: Float[Tensor, "layers heads"] | None
    peaked: Float[Tensor, "layers heads"] | None
    support: Float[Tensor, "layers heads"] | None
    sink_mass: Float[Tensor, "layers heads"]
    gold_sink_mass: Float[Tensor, "layers heads"]
    negative_mass: Float[Tensor, "layers heads"] | None

    @property
    def numbers(self) -> dict[str, Float[Tensor, "layers heads"]]:
        """The numbers that there are, by name."""
        return {name: values for name, values in vars(self).items() if values is not None}

    def best(self) -> tuple[int, int]:
        """Return the layer and head with the highest alignment accuracy, the first of equal ones.

        The accuracy of a head that was chosen because it is the highest is too high an estimate:
        choose on one set of examples and score on another.
        """
        heads = self.alignment_accuracy.shape[1]
        return divmod(int(self.alignment_accuracy.argmax()), heads)

    def of_head(self, head: tuple[int, int]) -> dict[str, float]:
        """Return the numbers of a layer and head under their names."""
        every = torch.stack([values[head] for values in self.numbers.values()])
        return dict(zip(self.numbers, every.tolist(), strict=True))

    def by_head(self) -> dict[str, float]:
        """Return the numbers of each head, counted from 1, as `gold_mass.layer1.head2`.

        Empty if there is one head, because that is the best one.
        """
        if self.alignment_accuracy.numel() == 1:
            return {}
        return {
            f"{name}.layer{row}.head{column}": value
            for name, values in self.numbers.items()
            for row, heads in enumerate(values.tolist(), start=1)
            for column, value in enumerate(heads, start=1)
        }


def scorecard(
    weights: Float[Tensor, "batch layers heads queries keys"],
    alignment: Int[Tensor, "batch queries"],
    mask: Bool[Tensor, "batch #queries keys"],
    target_mask: Bool[Tensor, "batch queries"],
    signed: bool = False,
) -> Scorecard | None:
    """Return the scores of maps against `alignment`, the gold key of each query or -1.

    Queries outside `target_mask` do not count. `signed` says that weights may be negative. None if
    no query has a gold key.
    """
    has_gold = target_mask & (alignment >= 0)
    if not has_gold.any():
        return None
    rows = weights.permute(1, 2, 0, 3, 4)
    gold = alignment.clamp(min=0)
    top = rows.amax(dim=-1)
    ahead = (rows == top.unsqueeze(-1)) & (rows > 0)
    links = ahead / ahead.sum(dim=-1, keepdim=True).clamp(min=1)
    lost = sink_mass(rows)
    return Scorecard(
        alignment_accuracy=_at(links, gold)[..., has_gold].mean(dim=-1),
        before=_at(links, gold - 1)[..., has_gold].mean(dim=-1),
        after=_at(links, gold + 1)[..., has_gold].mean(dim=-1),
        gold_mass=_at(rows, gold)[..., has_gold].mean(dim=-1),
        sink_mass=lost[..., target_mask].mean(dim=-1),
        gold_sink_mass=lost[..., has_gold].mean(dim=-1),
        **_of_signed(rows, target_mask) if signed else _of_shares(rows, mask, target_mask),
    )


def _of_signed(
    rows: Float[Tensor, "layers heads batch queries keys"], counts: Bool[Tensor, "batch queries"]
) -> dict[str, Tensor | None]:
    """Return the numbers of weights that may be negative."""
    nothing = dict.fromkeys(("entropy", "relative_entropy", "peaked", "support"))
    return {**nothing, "negative_mass": negative_mass(rows)[..., counts].mean(dim=-1)}


def _of_shares(
    rows: Float[Tensor, "layers heads batch queries keys"],
    mask: Bool[Tensor, "batch #queries keys"],
    counts: Bool[Tensor, "batch queries"],
) -> dict[str, Tensor | None]:
    """Return the numbers of weights of which none is negative."""
    nats, keys = entropy(rows), mask.sum(dim=-1).expand_as(counts)
    several = counts & (keys > 1)
    peaked = (rows.amax(dim=-1) > PEAKED)[..., counts]
    return {
        "entropy": nats[..., counts].mean(dim=-1),
        "relative_entropy": (nats / keys.clamp(min=2).log())[..., several].mean(dim=-1),
        "peaked": peaked.to(rows.dtype).mean(dim=-1),
        "support": support(rows)[..., counts].mean(dim=-1),
        "negative_mass": None,
    }


def gold_mass_by_example(
    weights: Float[Tensor, "batch layers heads queries keys"],
    alignment: Int[Tensor, "batch queries"],
    target_mask: Bool[Tensor, "batch queries"],
) -> Float[Tensor, "batch layers heads"]:
    """Return the mean weight on the gold key in each example, NaN if no query has one."""
    has_gold = target_mask & (alignment >= 0)
    on_gold = _at(weights.permute(1, 2, 0, 3, 4), alignment.clamp(min=0)).permute(2, 0, 1, 3)
    counted = on_gold.where(has_gold[:, None, None], 0.0).sum(dim=-1)
    return counted / has_gold.sum(dim=-1)[:, None, None]


def _at(
    rows: Float[Tensor, "layers heads batch queries keys"], keys: Int[Tensor, "batch queries"]
) -> Float[Tensor, "layers heads batch queries"]:
    """Return the entry of each row at its key, or zero if there is no such key."""
    there = (keys >= 0) & (keys < rows.shape[-1])
    index = keys.where(there, 0)[..., None].expand(*rows.shape[:-1], 1)
    return rows.gather(-1, index).squeeze(-1).where(there, 0.0)

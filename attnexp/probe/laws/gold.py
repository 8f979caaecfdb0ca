"""All weight on the key that the answer comes from."""

import torch

from attnexp.probe.laws.base import Law, Rows, Weights


class Gold(Law):
    """w'_i = s at the gold key, and 0 elsewhere, with the sum s of the row.

    A row without a gold key stays as it is.
    """

    needs_gold = True
    needs_shares = True

    def replace(self, rows: Rows) -> Weights:
        if rows.gold is None:
            return rows.weights
        places = rows.gold[:, None, :, None].expand_as(rows.weights[..., :1])
        there = torch.zeros_like(rows.weights).scatter(-1, places.clamp(min=0), 1.0) * rows.valid
        return rows.shared(there.where(places >= 0, 0.0))

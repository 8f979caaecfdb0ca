"""Random weights."""

import torch

from attnexp.probe.laws.base import Law, Rows, Weights


class Random(Law):
    """w' = s p over the valid keys, with the sum s of the row.

    p is drawn from the Dirichlet distribution with all parameters 1.
    """

    draws = True

    def replace(self, rows: Rows) -> Weights:
        exponential = -torch.log1p(-rows.random())
        return rows.shared(exponential.where(rows.valid, 0.0))

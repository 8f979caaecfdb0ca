"""No weight at all."""

import torch

from attnexp.probe.laws.base import Law, Rows, Weights


class Zero(Law):
    """w'_i = 0: the output of a head is 0 before the output projection."""

    has_unit = False
    keeps_sum = False

    def replace(self, rows: Rows) -> Weights:
        return torch.zeros_like(rows.weights)

"""The weights of a row in another order."""

import torch

from attnexp.probe.laws.base import Law, Rows, Weights


class Shuffled(Law):
    """w'_i = w_pi(i), pi a random permutation of the row's valid keys (Jain and Wallace 2019)."""

    draws = True
    has_unit = False

    def replace(self, rows: Rows) -> Weights:
        # valid keys first, in random order, and in the order of keys
        drawn = rows.random().masked_fill(~rows.valid, 2.0).argsort(dim=-1)
        ordered = (~rows.valid).to(torch.uint8).argsort(dim=-1, stable=True)
        moved = rows.weights.gather(-1, drawn)
        return torch.zeros_like(rows.weights).scatter(-1, ordered, moved)

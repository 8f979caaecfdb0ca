"""A part of the way from the learned weights to those of a law."""

import torch

from attnexp.probe.laws.base import Law, Rows, Weights


class Interpolate(Law):
    """w' = (1 - share) w + share law(w), one rung of the ladder from learned weights to a law."""

    def __init__(self, law: Law, share: float) -> None:
        self.law = law
        self.draws, self.needs_gold = law.draws, law.needs_gold
        self.share = share
        self.keeps_sum, self.needs_shares = law.keeps_sum, law.needs_shares

    def replace(self, rows: Rows) -> Weights:
        return torch.lerp(rows.weights, self.law.replace(rows), self.share)

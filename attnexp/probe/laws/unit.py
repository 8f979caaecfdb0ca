"""A law with rows that sum to 1."""

from attnexp.probe.laws.base import Law, Rows, Weights


class Unit(Law):
    """The weights of another law, each row divided by its sum. Rows of zeros stay zeros."""

    keeps_sum = False
    needs_shares = True

    def __init__(self, law: Law) -> None:
        self.law = law
        self.draws, self.needs_gold = law.draws, law.needs_gold

    def replace(self, rows: Rows) -> Weights:
        found = self.law.replace(rows)
        sums = found.sum(dim=-1, keepdim=True)
        return found / sums.where(sums > 0, 1.0)

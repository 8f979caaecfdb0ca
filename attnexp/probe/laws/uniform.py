"""The same weight for each key."""

from attnexp.probe.laws.base import Law, Rows, Weights


class Uniform(Law):
    """w'_i = s / n over the n valid keys, with the sum s of the row."""

    def replace(self, rows: Rows) -> Weights:
        return rows.shared(rows.valid.to(rows.weights.dtype))

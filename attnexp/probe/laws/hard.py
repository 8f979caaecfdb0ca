"""All weight on the largest."""

from attnexp.probe.laws.base import Law, Rows, Weights


class Hard(Law):
    """w'_i = s at the largest weight, and 0 elsewhere, with the sum s of the row.

    Weights that tie for the largest share s.
    """

    needs_shares = True

    def replace(self, rows: Rows) -> Weights:
        return rows.shared(rows.weights.where(rows.largest(1), 0.0))

"""All weights but the largest."""

from attnexp.probe.laws.base import Law, Rows, Weights


class WithoutTopK(Law):
    """w'_i = 0 at the `count` largest, and s w_i / (the sum of the others) elsewhere.

    s is the sum of the row. A row whose other weights are all 0 stays as it is. Signed weights are
    ranked by size, and keep their value elsewhere. Whether the answer is lost is the
    comprehensiveness of DeYoung et al. (2020), ERASER.

    Raises ValueError for a count below 1.
    """

    has_unit = False

    def __init__(self, count: int) -> None:
        if count < 1:
            raise ValueError(f"count must be at least 1, got {count}")
        self.count = count

    def replace(self, rows: Rows) -> Weights:
        return rows.kept(~rows.largest(self.count))

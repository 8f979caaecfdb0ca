"""The largest weights alone."""

from attnexp.probe.laws.base import Law, Rows, Weights


class TopK(Law):
    """w'_i = s w_i / (the sum of the `count` largest) at these keys, and 0 elsewhere.

    s is the sum of the row. Keys that tie with the smallest of the `count` stay too. Signed weights
    are ranked by size, and keep their value at these keys. Whether the answer stays the same is the
    sufficiency of DeYoung et al. (2020), ERASER.

    Raises ValueError for a count below 1.
    """

    has_unit = False

    def __init__(self, count: int) -> None:
        if count < 1:
            raise ValueError(f"count must be at least 1, got {count}")
        self.count = count

    def replace(self, rows: Rows) -> Weights:
        return rows.kept(rows.largest(self.count))

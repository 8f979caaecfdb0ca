"""The largest weights alone."""

from attnexp.probe.laws.base import Law, Rows, Weights


class TopK(Law):
    """w'_i = s w_i / (the sum over the `count` largest) at these, and 0 elsewhere.

    Keys that tie with the last of them stay too. Signed weights are ranked by size, and stay as
    they are at these. Whether the answer stays is the sufficiency of DeYoung et al. (2020), ERASER.
    Raises ValueError for a count below 1.
    """

    has_unit = False

    def __init__(self, count: int) -> None:
        if count < 1:
            raise ValueError(f"count must be at least 1, got {count}")
        self.count = count

    def replace(self, rows: Rows) -> Weights:
        return rows.kept(rows.largest(self.count))

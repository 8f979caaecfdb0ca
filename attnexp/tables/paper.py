"""The parts of a LaTeX table that a paper chooses."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """Label, caption and digits of tables in LaTeX.

    `label` is the label of the first table; further tables add `-2`, `-3` and so on. `caption` is
    the caption of the first table, in LaTeX. `digits` is the number of digits of metrics after the
    decimal point; by default numbers have four significant digits.
    """

    label: str = ""
    caption: str = ""
    digits: int | None = None

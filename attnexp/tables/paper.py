"""The parts of a LaTeX table that a paper chooses."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """Label, caption and digits of tables in LaTeX.

    `label` is that of the first table; the others have it with `-2`, `-3` and so on. `caption` is
    that of the first table, in LaTeX. `digits` are those after the decimal point of the values of
    metrics, by default four significant ones.
    """

    label: str = ""
    caption: str = ""
    digits: int | None = None

"""Which settings tell runs apart."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from attnexp.runs.frame import Frame
from attnexp.runs.key import NEUTRAL

UNTOLD = NEUTRAL | {"experiment"}
"""Choices that tell no runs apart: those that change no number, and `experiment`, which is a way to
write settings down; these are seen themselves."""


def varying(frame: Frame) -> list[str]:
    """The choices and settings that differ between the runs.

    A setting that differs only because its group's choice does, such as the hidden size that
    `additive` alone has, is part of that choice and not counted.
    """
    found = [name for name in frame.choices if name in frame.several and name not in UNTOLD]
    for path in frame.settings:
        group = path.partition(".")[0]
        within = [group] if group in found else []
        if path in frame.several and not depends_only_on(frame.table, path, within):
            found.append(path)
    return found


def depends_only_on(table: pd.DataFrame, column: str, others: Sequence[str]) -> bool:
    """Whether rows that agree in the other columns agree in this one."""
    before = codes(table, others)
    after = before * (len(table) + 1) + codes(table, [column])
    return len(np.unique(after)) == len(np.unique(before))


def codes(table: pd.DataFrame, columns: Sequence[str]) -> NDArray[np.int64]:
    """A whole number for each row, the same for rows that agree in all the columns."""
    number = np.zeros(len(table), dtype=np.int64)
    for column in columns:
        own, _ = pd.factorize(table[column], use_na_sentinel=False)
        number = np.unique(number * (len(table) + 1) + own, return_inverse=True)[1]
    return number.astype(np.int64)

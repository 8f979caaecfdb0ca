"""A row of the table of `make bench`: one question, measured against a named rival in one run.

A benchmark joins the table by a function `rows(quick: bool) -> list[Row]`.
"""

import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
} | {"PYTHONPATH": str(ROOT)}
"""The environment of measured commands: without compiled modules, ours would be compiled anew."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """What a benchmark asks, its rival with its version, and the ratios that were measured.

    There is one ratio for each pair of runs, ours and the rival's in turns. The rival may be a
    unit, such as "1 s". `wanted` is the bound, a least ratio if `more_is_better`, else a most;
    None if there is none.
    """

    asks: str
    rival: str
    ratios: Sequence[float]
    threads: int
    wanted: float | None
    more_is_better: bool = False

    @property
    def ratio(self) -> float:
        """The median."""
        return statistics.median(self.ratios)

    @property
    def low(self) -> float:
        """The ratio below which a tenth of them lie; the smallest of fewer than ten."""
        return sorted(self.ratios)[len(self.ratios) // 10]

    @property
    def high(self) -> float:
        """The ratio above which a tenth of them lie; the largest of fewer than ten."""
        return sorted(self.ratios)[-1 - len(self.ratios) // 10]

    @property
    def met(self) -> bool:
        """Whether the median keeps the bound."""
        if self.wanted is None:
            return True
        return self.ratio >= self.wanted if self.more_is_better else self.ratio <= self.wanted

    @property
    def bound(self) -> str:
        """The bound in words, empty if there is none."""
        if self.wanted is None:
            return ""
        return f"at {'least' if self.more_is_better else 'most'} {self.wanted:g}"

    def cells(self) -> tuple[str, ...]:
        """Return what stands in the table."""
        spread = f"{self.ratio:.3g} ({self.low:.3g} to {self.high:.3g}, {len(self.ratios)} runs)"
        met = "" if self.wanted is None else "yes" if self.met else "no"
        return self.asks, self.rival, spread, str(self.threads), self.bound, met


HEADS = ("what", "rival = 1", "ratio, median (spread)", "threads", "wanted", "met")


def in_turns(
    ours: Callable[[], float], rival: Callable[[], float], repeats: int
) -> list[tuple[float, float]]:
    """Return the seconds of both, in turns, after one turn that does not count."""
    return [(ours(), rival()) for _ in range(repeats + 1)][1:]


def ratios(pairs: Sequence[tuple[float, float]]) -> list[float]:
    """Return ours divided by the rival's, pair by pair."""
    return [ours / rival for ours, rival in pairs]


def processor_seconds(command: Sequence[str], folder: Path) -> float:
    """Return user and system seconds of one process and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def clock_seconds(command: Sequence[str], folder: Path) -> float:
    """Return the wall time of one process."""
    begin = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    return time.perf_counter() - begin

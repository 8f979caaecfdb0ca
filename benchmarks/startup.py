"""Processor time of whole commands against that of importing what they cannot do without.

Every command runs in a process of its own, in turn, so that a machine that changes its pace changes
it for all; the ratio is the median over the turns. User and system time count, waiting does not.

    python benchmarks/startup.py --repeats 5
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from rows import Row, in_turns, processor_seconds, ratios

from attnexp.core.console import plain_table, screen


@dataclass(frozen=True)
class Contest:
    """A command of ours, a rival, and the most that the ratio of their times may be."""

    name: str
    ours: tuple[str, ...]
    rival: str
    bound: float


CONTESTS = (
    Contest("attnexp --help", ("--help",), "import torch", 0.25),
    Contest("attnexp figures=false", ("figures=false", "rerun=true"), "import torch, hydra", 1.5),
    Contest("attnexp", ("rerun=true",), "import torch, hydra", 2.2),
)


def measure(contest: Contest, repeats: int, folder: Path) -> list[tuple[float, float]]:
    """Return the seconds of ours and of the rival, in turns."""
    ours = [sys.executable, "-m", "attnexp", *contest.ours]
    rival = [sys.executable, "-c", contest.rival]
    return in_turns(
        lambda: processor_seconds(ours, folder), lambda: processor_seconds(rival, folder), repeats
    )


def timings(repeats: int) -> Iterator[tuple[Contest, list[tuple[float, float]]]]:
    """Yield each contest with its seconds."""
    with tempfile.TemporaryDirectory() as folder:
        for contest in CONTESTS:
            yield contest, measure(contest, repeats, Path(folder))


def rows(quick: bool) -> list[Row]:
    """Return a row a command."""
    return [
        Row(
            asks=f"processor time of `{contest.name}`",
            rival=f"`{contest.rival}`, PyTorch {version('torch')}",
            ratios=ratios(pairs),
            threads=1,
            wanted=contest.bound,
        )
        for contest, pairs in timings(1 if quick else 5)
    ]


def main() -> int:
    """Print the table; exit with 1 where a bound is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5, help="counted runs of each command")
    repeats = parser.parse_args().repeats
    columns = ["command", "seconds", "rival", "its seconds", "ratio", "bound"]
    table = plain_table(columns, right=["seconds", "its seconds", "ratio", "bound"])
    broken = 0
    for contest, pairs in timings(repeats):
        ours, rival = (statistics.median(times) for times in zip(*pairs, strict=True))
        ratio = statistics.median(ratios(pairs))
        broken += ratio > contest.bound
        figures = (f"{ours:.2f}", contest.rival, f"{rival:.2f}", f"{ratio:.2f}")
        table.add_row(contest.name, *figures, f"{contest.bound:.2f}")
    screen.out.print(table)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

"""Processor time of whole commands beside that of importing what they cannot do without.

Every command runs in a process of its own, in turn, so that a machine that changes its pace changes
it for all; the ratio is that of the medians. User and system time count, waiting does not.

    python benchmarks/startup.py --repeats 5
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass

from attnexp.console import out, plain_table


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


def seconds(command: list[str], folder: str) -> float:
    """User and system seconds of one process and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, env=os.environ)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def measure(contest: Contest, repeats: int, folder: str) -> tuple[float, float]:
    """Median seconds of ours and of the rival, after one run of each that does not count."""
    ours = [sys.executable, "-m", "attnexp", *contest.ours]
    rival = [sys.executable, "-c", contest.rival]
    pairs = [(seconds(ours, folder), seconds(rival, folder)) for _ in range(repeats + 1)][1:]
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)


def main() -> int:
    """Print the table; exit with 1 where a bound is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5, help="counted runs of each command")
    repeats = parser.parse_args().repeats
    columns = ["command", "seconds", "rival", "its seconds", "ratio", "bound"]
    table = plain_table(columns, right=["seconds", "its seconds", "ratio", "bound"])
    broken = 0
    with tempfile.TemporaryDirectory() as folder:
        for contest in CONTESTS:
            ours, rival = measure(contest, repeats, folder)
            broken += ours / rival > contest.bound
            figures = (f"{ours:.2f}", contest.rival, f"{rival:.2f}", f"{ours / rival:.2f}")
            table.add_row(contest.name, *figures, f"{contest.bound:.2f}")
    out.print(table)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

"""All benchmarks of speed as one Markdown table: rivals, ratios and bounds.

Each file of this folder that has a function `rows` is measured in a process of its own, one after
another:

    python benchmarks/table.py [NAME ...] [--quick]

Below the table is a list of the bounds that are missed. `--quick` takes fewer repeats and smaller
sizes, to see that everything runs, and holds nothing to a bound. Exits with 1 where a bound is
missed or a benchmark fails.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from rows import ENVIRONMENT, HEADS, ROOT, Row

from attnexp.runs.origin.provenance import processor

FOLDER = Path(__file__).parent

MEASURE = "import sys, table; table.measure(sys.argv[1], sys.argv[2] == 'quick')"


def names() -> list[str]:
    """Return the benchmarks that have rows."""
    return sorted(path.stem for path in FOLDER.glob("*.py") if "\ndef rows(" in path.read_text())


def measure(name: str, quick: bool) -> None:
    """Print the rows of a benchmark as a last line of JSON."""
    found = [asdict(row) for row in import_module(name).rows(quick)]
    print(f"\n{json.dumps(found)}")


def measured(name: str, quick: bool) -> list[Row] | None:
    """Return the rows of a benchmark, measured in a process of its own; None if it fails."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, name, "quick" if quick else "whole"],
        env=ENVIRONMENT | {"PYTHONPATH": os.pathsep.join([str(FOLDER), str(ROOT)])},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        return None
    rows = json.loads(done.stdout.strip().rpartition("\n")[2])
    return [Row(**row | ({"wanted": None} if quick else {})) for row in rows]


def machine() -> str:
    """Return the processor, its cores, and what runs on it."""
    name = processor() or platform.machine()
    return (
        f"{name}, {os.cpu_count()} cores; {platform.system()}, Python "
        f"{platform.python_version()}, PyTorch {version('torch')}"
    )


def commit() -> str:
    """Return the commit that is measured, and whether files differ from it."""
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--exclude=*"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or "without git"


def line(cells: tuple[str, ...]) -> str:
    """Return a line of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def outcome(found: Sequence[Row], failed: Sequence[str]) -> list[str]:
    """Return the lines below the table: how many bounds are missed, which, and what failed."""
    bounded = [row for row in found if row.wanted is not None]
    missed = [row for row in bounded if not row.met]
    if bounded:
        first = f"{len(missed) or 'None'} of {len(bounded)} bounds missed"
    else:
        first = "Nothing was held to a bound"
    return [
        f"{first}{':' if missed else '.'}",
        *(f"- {row.asks}, against {row.rival}: {row.ratio:.3g}, {row.bound}" for row in missed),
        *(f"{name}.py failed: its bounds are unknown." for name in failed),
    ]


def main() -> int:
    """Print the table as it grows, then the bounds missed; exit with 1 where there are any."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names())}")
    parser.add_argument("--quick", action="store_true", help="to see that everything runs")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in names()]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]}: choose of {', '.join(names())}")
    today = datetime.now(UTC).date().isoformat()
    print(f"{machine()}; {today}, commit {commit()}\n")
    print(line(HEADS))
    print(line(("---",) * len(HEADS)), flush=True)
    found, failed = [], []
    for name in arguments.names or names():
        rows = measured(name, arguments.quick)
        if rows is None:
            failed.append(name)
        for row in rows or ():
            found.append(row)
            print(line(row.cells()), flush=True)
    print("", *outcome(found, failed), sep="\n")
    return 0 if not failed and all(row.met for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())

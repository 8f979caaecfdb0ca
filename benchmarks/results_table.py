"""How long `attnexp results` takes over 10,000 runs, cold and warm, and how much memory.

Writes run folders as a run leaves them, evicts them from the page cache where the system lets us,
and times the command in fresh processes:

    python benchmarks/results_table.py [--runs 10000] [--folder FOLDER]

The folders are made up (their metrics are random); only how they are read is measured.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from rich.table import Table
from rows import ENVIRONMENT, Row

from attnexp.core.console import plain_table, screen
from attnexp.runs.key import RESULTS_VERSION

CONTESTS = (
    ("cold", (), 3.0),
    ("warm", (), 2.0),
    ("warm, --runs", ("--runs",), 2.0),
    ("warm, --by model", ("--by", "model"), 2.0),
    ("warm, --format csv", ("--format", "csv"), None),
    ("warm, --runs --format csv", ("--runs", "--format", "csv"), None),
)
"""What is measured, and the most seconds that it may take."""

WARM = 0.7
"""The most of the time of `import torch` that it may take, warm."""

MEMORY = 200
"""The most MiB that it may take."""

MODELS = ("average", "gaussian", "dot", "scaled_dot", "bilinear", "cosine", "additive", "boxcar")
DATA = ("copy", "reverse", "sort", "recall", "dates")
HEADS = (1, 2, 4, 8)
RATES = (0.001, 0.003, 0.01, 0.03, 0.1)
EPOCHS = 100


def write_runs(outputs: Path, count: int) -> None:
    """Write the first runs of a sweep over models, data, heads, rates and seeds."""
    rng = random.Random(0)
    cells = [(m, d, h, r) for m in MODELS for d in DATA for h in HEADS for r in RATES]
    for i in range(count):
        model, data, heads, rate = cells[i % len(cells)]
        seed = i // len(cells)
        folder = outputs / f"{model}-{data}-rnn-seed{seed}-{i:010x}"
        folder.mkdir(parents=True)
        content = summary(model, data, heads, rate, seed, f"{i:010x}", rng)
        (folder / "summary.json").write_text(json.dumps(content, indent=2) + "\n")
        rows = (
            f"{epoch},{epoch * 8},{rng.random()!r},{rate},{epoch * 0.05!r}\n"
            for epoch in range(1, EPOCHS + 1)
        )
        (folder / "metrics.csv").write_text("epoch,step,loss,lr,seconds\n" + "".join(rows))
        (folder / "attnexp.log").write_text("finished\n")
        (folder / "predictions.csv").write_text("source,target,decoded\n" * 50)
        (folder / "attention.safetensors").write_bytes(bytes(4096))


def summary(
    model: str, data: str, heads: int, rate: float, seed: int, key: str, rng: random.Random
) -> dict[str, object]:
    """A summary.json with the fields of a real one."""
    return {
        "schema": 1,
        "results_version": RESULTS_VERSION,
        "status": "failed" if rng.random() < 0.01 else "finished",
        "key": key,
        "choices": {
            "model": model,
            "data": data,
            "arch": "rnn",
            "train": "seq2seq",
            "schedule": "constant",
            "optim": "adam",
            "task": "seq2seq",
        },
        "config": {
            "model": {"_target_": f"attnexp.scores.{model}.{model.title()}", "hidden_dim": 64},
            "task": {"_target_": "attnexp.tasks.seq2seq.Seq2Seq", "label_smoothing": 0.0},
            "optim": {
                "_target_": "torch.optim.Adam",
                "lr": rate,
                "betas": [0.9, 0.999],
                "eps": 1e-8,
                "weight_decay": 0.0,
            },
            "schedule": {"_target_": "attnexp.training.schedules.Constant"},
            "train": {
                "_target_": "attnexp.training.base.TrainSettings",
                "max_epochs": EPOCHS,
                "batch_size": 128,
                "clip_norm": 1.0,
            },
            "arch": {
                "_target_": "attnexp.architectures.rnn.Rnn",
                "embedding_dim": 32,
                "hidden_dim": 64,
                "layers": 1,
                "dropout": 0.0,
                "heads": heads,
            },
            "data": {
                "_target_": f"attnexp.data.{data}.{data.title()}",
                "num_train": 1000,
                "num_test": 200,
                "min_length": 3,
                "max_length": 10,
                "symbols": 20,
            },
            "device": "auto",
            "seed": seed,
            "figures": True,
            "rerun": False,
            "output_dir": "outputs",
        },
        "metrics": {
            name: rng.random()
            for name in (
                "exact_match",
                "token_accuracy",
                "test_loss",
                "baseline_token_accuracy",
                "alignment_accuracy",
                "gold_mass",
                "entropy",
                "train_loss",
                "steps",
            )
        },
        "primary": "exact_match",
        "better": {
            "exact_match": "higher",
            "token_accuracy": "higher",
            "test_loss": "lower",
            "alignment_accuracy": "higher",
        },
        "notes": [],
        "parameters": 16640,
        "seconds": rng.random() * 30,
        "peak_memory_mb": 300 + rng.random(),
        "device": "cpu",
        "versions": {"attnexp": "0.1.0", "torch": "2.13.0+cpu", "python": "3.11.7"},
        "git": {"commit": "0123456789abcdef0123456789abcdef01234567", "dirty": False},
        "started": "2026-01-01T00:00:00+00:00",
        "ended": "2026-01-01T00:00:30+00:00",
        "error": None,
    }


def evict(outputs: Path) -> None:
    """Ask the system to forget the contents of the files."""
    os.sync()
    if not hasattr(os, "posix_fadvise"):
        return
    for path in outputs.rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


@dataclass(frozen=True)
class Measured:
    """One process: seconds on the clock, seconds of the processor, and most memory, MiB."""

    clock: float
    processor: float
    memory: float


def measure(arguments: Sequence[str], cwd: Path) -> Measured:
    """Run Python in a folder and wait for it."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=cwd,
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
    )
    _, code, usage = os.wait4(process.pid, 0)
    clock = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(code)
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed with status {process.returncode}")
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return Measured(clock, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit)


def rows(quick: bool) -> list[Row]:
    """Return rows of the table of 10,000 runs, warm and cold.

    Its time against the import of PyTorch, its seconds and its memory.
    """
    count, repeats = (200, 1) if quick else (10_000, 5)
    taken: dict[str, list[tuple[Measured, Measured]]] = {"warm": [], "cold": []}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_runs(folder / "outputs", count)
        for _ in range(repeats):
            for state, pairs in taken.items():
                torch = measure(["-c", "import torch"], folder)
                if state == "cold":
                    evict(folder / "outputs")
                pairs.append((measure(["-m", "attnexp", "results"], folder), torch))
    bounds = {name: bound for name, _, bound in CONTESTS}
    found = []
    for state, pairs in taken.items():
        asks = f"`attnexp results` over {count:,} runs, {state}"
        imported = f"`import torch`, PyTorch {version('torch')}"
        share = WARM if state == "warm" else None
        found += [
            Row(asks=words, rival=rival, ratios=ratios, threads=1, wanted=wanted)
            for words, rival, ratios, wanted in (
                (asks, imported, [own.clock / other.clock for own, other in pairs], share),
                (asks, "1 s", [own.clock for own, _ in pairs], bounds[state]),
                (f"most memory of {asks}", "1 MiB", [own.memory for own, _ in pairs], MEMORY),
            )
        ]
    return found


def main() -> int:
    """Make the runs, time the command, print a table; exit with 1 where a bound is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="where the runs are, or are to stay")
    arguments = parser.parse_args()
    columns = ["what", "clock s", "processor s", "memory MiB", "bound s"]
    table = plain_table(columns, right=columns[1:])
    broken = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.folder or Path(scratch)
        outputs = folder / "outputs"
        if not outputs.exists():
            write_runs(outputs, arguments.runs)
        for name, options, bound in CONTESTS:
            taken = []
            for _ in range(arguments.repeats):
                if name.startswith("cold"):
                    evict(outputs)
                taken.append(measure(["-m", "attnexp", "results", *options], folder))
            broken += add(table, name, taken, bound)
        for code in ("import pandas", "import torch"):
            add(table, code, [measure(["-c", code], folder) for _ in taken], None)
    screen.out.print(table)
    return 1 if broken else 0


def add(table: Table, name: str, taken: list[Measured], bound: float | None) -> bool:
    """Add the medians to the table, and return whether a bound is broken."""
    clock = statistics.median(one.clock for one in taken)
    processor = statistics.median(one.processor for one in taken)
    memory = max(one.memory for one in taken)
    limit = "" if bound is None else f"{bound:g}"
    table.add_row(name, f"{clock:.2f}", f"{processor:.2f}", f"{memory:.0f}", limit)
    return bound is not None and (clock > bound or memory > MEMORY)


if __name__ == "__main__":
    sys.exit(main())

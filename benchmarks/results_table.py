"""How long `attnexp results` takes over 10,000 runs, cold and warm, and how much memory.

Writes run folders as a run leaves them, evicts them from the page cache where the system lets us,
and times the command in fresh processes, with and without its cache:

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
from pathlib import Path

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
        (folder / ".hydra").mkdir(parents=True)
        content = summary(model, data, heads, rate, seed, f"{i:010x}", rng)
        (folder / "summary.json").write_text(json.dumps(content, indent=2) + "\n")
        rows = (
            f"{epoch},{epoch * 8},{rng.random()!r},{rate},{epoch * 0.05!r}\n"
            for epoch in range(1, EPOCHS + 1)
        )
        (folder / "metrics.csv").write_text("epoch,step,loss,lr,seconds\n" + "".join(rows))
        overrides = [f"model={model}", f"data={data}", f"arch.heads={heads}", f"optim.lr={rate}"]
        lines = "".join(f"- {line}\n" for line in [*overrides, f"seed={seed}"])
        (folder / ".hydra" / "overrides.yaml").write_text(lines)
        (folder / "attnexp.log").write_text("finished\n")
        (folder / "predictions.csv").write_text("source,target,decoded\n" * 50)
        (folder / "attention.safetensors").write_bytes(bytes(4096))


def summary(
    model: str, data: str, heads: int, rate: float, seed: int, key: str, rng: random.Random
) -> dict[str, object]:
    """A summary.json with the fields of a real one."""
    return {
        "schema": 1,
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
            "schedule": {"_target_": "attnexp.schedules.Constant"},
            "train": {
                "_target_": "attnexp.train.TrainSettings",
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
                "train_loss",
                "accuracy",
                "exact_match",
                "alignment_accuracy",
                "alignment_mass",
                "neighbours",
                "baseline_accuracy",
            )
        },
        "primary": "exact_match",
        "better": {
            "accuracy": "higher",
            "exact_match": "higher",
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


def timed(arguments: list[str], cwd: Path) -> tuple[float, float]:
    """Seconds and MiB of one process."""
    root = str(Path(__file__).resolve().parents[1])
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": root},
        stdout=subprocess.DEVNULL,
    )
    _, code, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if code:
        raise SystemExit(f"{arguments} failed with status {code}")
    return seconds, usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def main() -> None:
    """Make the runs, time the command, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="keep the runs there")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.folder or Path(scratch)
        outputs = folder / "outputs"
        if not outputs.exists():
            write_runs(outputs, arguments.runs)
            time.sleep(3)  # what was written a moment ago is not cached
        results = ["-m", "attnexp", "results"]
        timed(["-c", "import pandas, scipy.special, rich.table"], folder)
        print(f"{arguments.runs} runs, Python {sys.version.split()[0]}")
        for _ in range(arguments.repeats):
            for cache in outputs.glob(".attnexp*"):
                cache.unlink()
            evict(outputs)
            report("cold, no cache", timed(results, folder))
        for label, extra in (
            ("warm", []),
            ("warm, --runs", ["--runs"]),
            ("warm, --by model", ["--by", "model"]),
            ("warm, csv", ["--format", "csv"]),
            ("warm, --runs csv", ["--runs", "--format", "csv"]),
        ):
            found = [timed([*results, *extra], folder) for _ in range(arguments.repeats)]
            report(label, (statistics.median(s for s, _ in found), max(m for _, m in found)))
        report("import pandas", timed(["-c", "import pandas"], folder))
        report("import torch", timed(["-c", "import torch"], folder))


def report(label: str, measured: tuple[float, float]) -> None:
    """One line."""
    print(f"{label:<20}{measured[0]:6.2f} s {measured[1]:7.0f} MiB", flush=True)


if __name__ == "__main__":
    main()

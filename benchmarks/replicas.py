"""Training throughput of replicas in one program, beside the same runs one after another.

    python benchmarks/replicas.py

Each repeat builds the runs anew and trains them once apart and once together, in turns, on one
thread; processor time counts, that of building does not. The reverse runs are cut to a few updates.
"""

import argparse
import itertools
import statistics
import sys
import time
from pathlib import Path

import torch
from hydra import compose, initialize_config_dir
from rows import Row

from attnexp.config import build
from attnexp.config.groups import conf_dir
from attnexp.config.job import Job, identified
from attnexp.config.resolved import register_resolvers
from attnexp.core.console import plain_table, screen
from attnexp.runs.place import Place
from attnexp.training.loop import Training
from attnexp.training.prepared_run import PreparedRun
from attnexp.training.replicas.group import Replicas

FEW_UPDATES = (
    "data.num_train=1024",
    "data.num_validation=64",
    "data.num_test=8",
    "train.max_epochs=1",
)

QUICK_TRIAL = (
    *("data=mqar", "model=scaled_dot", "arch=decoder_only", "positions=rotary"),
    *("arch.heads=2", "arch.dim=32", "arch.ff_dim=64", "schedule=constant"),
    *("data.length=16", "data.vocab_size=33", "data.min_pairs=4", "data.max_pairs=4"),
    *("data.num_train=3200", "data.num_validation=64", "data.num_test=8"),
    *("train.batch_size=32", "train.max_epochs=1"),
)
"""The settings of `conf/trial/mqar.yaml` with `quick`, cut to a hundred updates."""

CASES = {
    "gaussian_learned on sine": (("model=gaussian_learned",), (4, 16, 64), 6.0),
    "additive on reverse": (("data=reverse", "model=additive", *FEW_UPDATES), (16,), 1.8),
    "scaled_dot on reverse, transformer": (
        ("data=reverse", "model=scaled_dot", "arch=transformer", *FEW_UPDATES),
        (16,),
        None,
    ),
    "scaled_dot on mqar, decoder_only, a quick trial": (QUICK_TRIAL, (6,), None),
}
"""The settings, the numbers of runs, and how many times as fast the most of them should be."""


def prepared(words: tuple[str, ...], seeds: int) -> list[PreparedRun]:
    """Return the runs of the seeds, built and not trained."""
    register_resolvers()
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        config = compose("config", [*words], return_hydra_config=True)
    runs = []
    for seed in range(seeds):
        config.seed = seed
        settings, key, code = identified(config)
        runs.append(build.prepare(Job(config, settings, Place(Path(), key, code))))
    return runs


def apart(runs: list[PreparedRun]) -> None:
    """Train the runs one after another."""
    for run in runs:
        for _ in Training(run).epochs():
            pass


def together(runs: list[PreparedRun]) -> None:
    """Train the runs as replicas."""
    for _ in Replicas(runs).fit():
        pass


def measured(words: tuple[str, ...], size: int, repeats: int) -> dict[str, list[float]]:
    """Return the processor seconds a run, `apart` and `together`, in turns."""
    times: dict[str, list[float]] = {"apart": [], "together": []}
    for turn, way in itertools.product(range(repeats + 1), (apart, together)):
        runs = prepared(words, size)
        begin = time.process_time()
        way(runs)
        if turn:  # the first warms up
            times[way.__name__].append((time.process_time() - begin) / size)
    return times


def rows(quick: bool) -> list[Row]:
    """Return a row for each case and number of runs."""
    torch.set_num_threads(1)
    found = []
    for name, (words, sizes, bound) in CASES.items():
        for size in (2,) if quick else sizes:
            times = measured(words, size, 1 if quick else 5)
            found.append(
                Row(
                    asks=f"throughput of {size} replicas, {name}",
                    rival="the same runs one after another",
                    ratios=[one / other for one, other in zip(*times.values(), strict=True)],
                    threads=1,
                    wanted=bound if size == sizes[-1] else None,
                    more_is_better=True,
                )
            )
    return found


def main() -> int:
    """Print the table; exit with 1 where a bound is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5, help="counted repeats of each row")
    parser.add_argument("--case", choices=[*CASES], help="one case alone")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    columns = ["runs", "s a run apart", "together", "times as fast", "spread", "wanted"]
    table = plain_table(["case", *columns], right=columns)
    kept = True
    chosen = [arguments.case] if arguments.case else list(CASES)
    for name, (words, sizes, bound) in ((name, CASES[name]) for name in chosen):
        for size in sizes:
            times = measured(words, size, arguments.repeats)
            ratios = [one / other for one, other in zip(*times.values(), strict=True)]
            ratio = statistics.median(ratios)
            wanted = bound if size == sizes[-1] else None
            kept = kept and (wanted is None or ratio >= wanted)
            table.add_row(
                name,
                str(size),
                *(f"{statistics.median(each):.4f}" for each in times.values()),
                f"{ratio:.2f}",
                f"{min(ratios):.2f} to {max(ratios):.2f}",
                "" if wanted is None else f"{wanted:g}",
            )
    screen.out.print(table)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())

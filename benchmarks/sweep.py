"""Wall time of sweeps: ours beside Hydra's own, and a finished sweep that is issued again.

The same training of 64 seeds, in turn and repeated: under attnexp's sweeper, in one process, in
parallel and as replicas, and under a plain `hydra.main` application with Hydra's basic launcher,
and with its joblib launcher.

    python benchmarks/sweep.py --seeds 64 --repeats 3

With `--epochs 5` the training is so short that what is left is the sweep itself.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from rows import ENVIRONMENT, Row, clock_seconds

from attnexp.config.groups import conf_dir
from attnexp.core.console import plain_table, screen
from attnexp.sweeps.launchers.local import core_count

STOCK = """
from pathlib import Path
import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import OmegaConf
from attnexp.config import build
from attnexp.training import execute
from attnexp.config.job import Job
from attnexp.config.resolved import register_resolvers, resolved
from attnexp.runs.place import Place

register_resolvers()

@hydra.main(version_base="1.3", config_path={conf!r}, config_name="config")
def main(config):
    folder = Path(HydraConfig.get().runtime.output_dir)
    OmegaConf.set_struct(config, False)
    config.merge_with(HydraConfig.instance().cfg)
    job = Job(config, resolved(config), Place(folder, 'key'))
    execute.execute(build.prepare(job), job.folder)

main()
"""

TRAINING = ("model=gaussian_learned", "data=sine", "figures=false")

BASIC = (
    "hydra/sweeper=basic",
    "hydra.sweep.dir=stock",
    "hydra.sweep.subdir=${hydra.job.num}",
)

PARALLEL_BOUND, BATCHED_BOUND = 5.0, 8.0
"""How many times faster than Hydra's basic launcher 64 seeds should be, in parallel on two cores
and batched."""

AGAIN, AGAIN_BOUND = 1000, 3.0
"""Jobs of the sweep that is issued again, and the seconds that it may take."""


def contestants(words: list[str], stock: Path) -> dict[str, list[str]]:
    """The commands for a sweep, by what they are."""
    ours = [sys.executable, "-m", "attnexp", "-m", *words]
    theirs = [sys.executable, str(stock), "-m", *BASIC, *words]
    commands = {
        "attnexp": ours,
        "attnexp, parallel": [*ours, "hydra/launcher=parallel"],
        "attnexp, batched": [*ours, "hydra/launcher=batched", "hydra.launcher.size=64"],
        "Hydra, basic": [*theirs, "hydra/launcher=basic"],
    }
    if find_spec("joblib") is not None:
        commands["Hydra, joblib"] = [*theirs, "hydra/launcher=joblib"]
    return commands


def finished_sweep(folder: Path, jobs: int = AGAIN) -> float:
    """Return the wall time of a finished sweep that is issued again; no run of it has run."""
    script = (
        "import sys\n"
        "import msgspec\n"
        "from attnexp.cli.main import run\n"
        "from attnexp.runs.summary import first_summary\n"
        "from attnexp.sweeps import schedule\n"
        "def write(plan):\n"
        "    for job in plan.jobs:\n"
        "        job.folder.mkdir(parents=True)\n"
        "        opened = first_summary(job.place.key, job.settings, {})\n"
        "        msgspec.structs.replace(opened, status='finished').write(job.folder)\n"
        "schedule.show_plan = write\n"
        "sys.exit(run(sys.argv[1:]))\n"
    )
    words = ["-m", *TRAINING, f"seed=range({jobs})"]
    command = [sys.executable, "-c", script, *words, "--dry-run"]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    return clock_seconds([sys.executable, "-m", "attnexp", *words], folder)


def timings(words: list[str], repeats: int, folder: Path) -> dict[str, list[float]]:
    """Return the wall times of each sweeper, in turns, by what it is."""
    stock = folder / "stock.py"
    stock.write_text(STOCK.format(conf=str(conf_dir())))
    commands = contestants(words, stock)
    times: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(repeats):
        for sweeper, command in commands.items():
            own = folder / f"{sweeper} {turn}"
            own.mkdir()
            times[sweeper].append(clock_seconds(command, own))
    return times


def rows(quick: bool) -> list[Row]:
    """Return rows of a sweep of 64 seeds, and of a finished one that is issued again."""
    seeds, repeats, jobs = (4, 1, 10) if quick else (64, 5, AGAIN)
    with tempfile.TemporaryDirectory() as name:
        times = timings([*TRAINING, f"seed=range({seeds})"], repeats, Path(name))
        again = finished_sweep(Path(name), jobs)
    stock = times["Hydra, basic"]
    return [
        Row(
            asks=f"sweep of {seeds} seeds, {what}",
            rival=f"Hydra's basic launcher, hydra-core {version('hydra-core')}",
            ratios=[theirs / ours for ours, theirs in zip(times[key], stock, strict=True)],
            threads=threads,
            wanted=wanted,
            more_is_better=True,
        )
        for key, what, threads, wanted in (
            ("attnexp", "one at a time", 1, None),
            ("attnexp, parallel", "in parallel", core_count(), PARALLEL_BOUND),
            ("attnexp, batched", "batched", 1, BATCHED_BOUND),
        )
    ] + [
        Row(
            asks=f"{jobs:,} finished jobs issued again",
            rival="1 s",
            ratios=[again],
            threads=1,
            wanted=AGAIN_BOUND,
        )
    ]


def main() -> int:
    """Print the table; exit with 1 where a bound is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3, help="counted runs of each command")
    parser.add_argument("--epochs", type=int, help="of each training, instead of the recipe's")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = [*TRAINING, f"seed=range({arguments.seeds})"]
        if arguments.epochs:
            words.append(f"train.max_epochs={arguments.epochs}")
        times = timings(words, arguments.repeats, folder)
        again = finished_sweep(folder)
    best = statistics.median(times["attnexp"])
    table = plain_table(["sweep", "seconds", "times as long"], right=["seconds", "times as long"])
    for name, measured in times.items():
        middle = statistics.median(measured)
        table.add_row(f"{arguments.seeds} seeds, {name}", f"{middle:.1f}", f"{middle / best:.1f}")
    table.add_row(f"{AGAIN} finished jobs again", f"{again:.1f}", "")
    screen.out.print(table)
    basic = statistics.median(times["Hydra, basic"])
    parallel = basic / statistics.median(times["attnexp, parallel"])
    batched = basic / statistics.median(times["attnexp, batched"])
    bounds = [("in parallel", parallel, PARALLEL_BOUND), ("batched", batched, BATCHED_BOUND)]
    for way, ratio, bound in bounds:
        screen.out.print(
            f"{way}: {ratio:.1f} times as fast as Hydra's basic launcher (wanted: {bound:g})"
        )
    screen.out.print(f"{again:.1f} s for the finished sweep (wanted: at most {AGAIN_BOUND:g})")
    met = all(ratio >= bound for _, ratio, bound in bounds) and again <= AGAIN_BOUND
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())

"""Wall time of `attnexp card --quick` beside the same training jobs under stock Hydra.

A subject and one baseline in three small trials, from nothing. The rival is a plain `hydra.main`
application. It trains the jobs that the card trained, and of those of tuning the ones at the values
that are given and at the chosen one, so not more: each in a process of its own, one after another,
or those of a sweep in one process by Hydra's basic launcher.

    python benchmarks/card.py [--trials sine,reverse] [--seeds 6] [--repeats 1]

The time of the card includes interventions, verdicts and the page, which the rival does not make.
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser
from rows import Row, clock_seconds
from sweep import BASIC, STOCK

from attnexp.cards.card_file import Card, read_card
from attnexp.config.groups import conf_dir
from attnexp.core.console import plain_table, screen
from attnexp.sweeps.launchers.local import core_count
from attnexp.sweeps.tuned.words import FINALS, TUNED_AT

COMPARED = ("model=cosine", "--baseline", "model=scaled_dot")
TRIALS = ("sine", "reverse", "needle")
SEEDS = 6

OURS, APART, BASIC_LAUNCHER = "attnexp card", "Hydra, a process per job", "Hydra, basic launcher"

BOUND = 6.0
"""How many times as fast as a process per job a card should be, on two cores."""


def sweeps(card: Card) -> Iterator[list[str]]:
    """Yield the words of each sweep of a card: that which tunes a row of a trial, and its seeds."""
    for trial in card.trials:
        for row in trial.rows:
            words = [*trial.words, *row.words, "figures=false"]
            tuned = [f"{name}={value}" for name, value in row.tuned.items()]
            if trial.tune:
                yield [*words, *trial.tune, f"seed={TUNED_AT}"]
                yield [*words, *tuned, f"seed={','.join(map(str, FINALS))}"]
            yield [*words, *tuned, f"seed=range(1,{card.seeds + 1})"]


def jobs(sweep: Sequence[str]) -> list[list[str]]:
    """Return the words of each job of a sweep, as Hydra splits them."""
    overrides = OverridesParser.create().parse_overrides([*sweep])
    (found,) = BasicSweeper.split_arguments(overrides, max_batch_size=None)
    return [list(words) for words in found]


def timings(
    trials: Sequence[str], seeds: int, repeats: int, folder: Path
) -> tuple[dict[str, list[float]], int]:
    """Return the wall times of a card and its rivals, in turns, and the number of jobs."""
    stock = folder / "stock.py"
    stock.write_text(STOCK.format(conf=str(conf_dir())))
    words = ["card", "--quick", *COMPARED, "--trials", ",".join(trials), "--seeds", str(seeds)]
    times: dict[str, list[float]] = {OURS: [], APART: [], BASIC_LAUNCHER: []}
    for turn in range(repeats):
        own = folder / str(turn)
        own.mkdir()
        command = [sys.executable, "-m", "attnexp", *words, "--output", "card.html"]
        times[OURS].append(clock_seconds(command, own))
        found = list(sweeps(read_card(own / "card.json")))
        single = [job for sweep in found for job in jobs(sweep)]
        times[APART].append(
            sum(
                clock_seconds([sys.executable, str(stock), *job, f"hydra.run.dir=apart/{i}"], own)
                for i, job in enumerate(single)
            )
        )
        basic = [sys.executable, str(stock), "-m", *BASIC, "hydra/launcher=basic"]
        times[BASIC_LAUNCHER].append(
            sum(
                clock_seconds([*basic, *sweep, f"hydra.sweep.dir=swept/{i}"], own)
                for i, sweep in enumerate(found)
            )
        )
    return times, len(single)


def measured(times: dict[str, list[float]], number: int) -> list[Row]:
    """Return a row for each rival."""
    return [
        Row(
            asks=f"a quick card, {number} jobs",
            rival=f"{rival}, hydra-core {version('hydra-core')}",
            ratios=[theirs / ours for ours, theirs in zip(times[OURS], times[rival], strict=True)],
            threads=core_count(),
            wanted=wanted,
            more_is_better=True,
        )
        for rival, wanted in ((APART, BOUND), (BASIC_LAUNCHER, None))
    ]


def rows(quick: bool) -> list[Row]:
    """Return rows of a card against each rival."""
    trials, seeds = (("sine",), 2) if quick else (TRIALS, SEEDS)
    with tempfile.TemporaryDirectory() as name:
        return measured(*timings(trials, seeds, 1, Path(name)))


def main() -> int:
    """Print the table; exit with 1 where a bound is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=lambda text: text.split(","), default=TRIALS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--repeats", type=int, default=1, help="counted runs of each command")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        times, number = timings(arguments.trials, arguments.seeds, arguments.repeats, Path(name))
    table = plain_table([f"{number} jobs", "seconds"], right=["seconds"])
    for contestant, seconds in times.items():
        table.add_row(contestant, f"{statistics.median(seconds):.1f}")
    screen.out.print(table)
    found = measured(times, number)
    for row in found:
        bound = f" (wanted: {row.bound})" if row.bound else ""
        screen.out.print(f"{row.ratio:.1f} times as fast as {row.rival}{bound}")
    return 0 if all(row.met for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())

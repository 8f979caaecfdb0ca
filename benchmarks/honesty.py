"""Why the tables use Student's interval, and why Holm's method counts all pairs of rows.

    python benchmarks/honesty.py

First: how often an interval of the mean covers the truth. Second: how often a table of rows that
are all equal claims that some row is worse than the best one, when the p-values of the comparisons
with the best are corrected for their own number, and when they are corrected for all pairs.
"""

import argparse
import warnings

import numpy as np
from scipy import stats

from attnexp.console import out, plain_table
from attnexp.tables.significance import compare
from attnexp.tables.statistics import holm, paired_p


def coverage(seeds: int, trials: int, rng: np.random.Generator) -> list[float]:
    """Shares of 95% intervals that hold the mean: Student, percentile and BCa bootstrap."""
    values = rng.normal(size=(trials, seeds))
    student = stats.t.interval(
        0.95, seeds - 1, loc=values.mean(axis=1), scale=stats.sem(values, axis=1)
    )
    covered = [_share(*student)]
    for method in ("percentile", "BCa"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # BCa of three values may be degenerate
            found = stats.bootstrap(
                (values,), np.mean, axis=1, method=method, n_resamples=999, rng=rng
            ).confidence_interval
        covered.append(_share(found.low, found.high))
    return covered


def claims(rows: int, seeds: int, trials: int, rng: np.random.Generator) -> list[float]:
    """Shares of tables of equals with a false claim, by the correction."""
    few = every = 0
    for table in rng.normal(size=(trials, rows, seeds)):
        best = table.mean(axis=1).argmin()
        gaps = [(row - table[best]).tolist() for i, row in enumerate(table) if i != best]
        p = [paired_p(gap, 1.0) for gap in gaps]
        few += bool((holm(p, len(p)) <= 0.05).any())
        values = [{seed: {0: value} for seed, value in enumerate(row)} for row in table.tolist()]
        every += any(verdict.standing == "worse" for verdict in compare(values, "lower"))
    return [few / trials, every / trials]


def _share(low: np.ndarray, high: np.ndarray) -> float:
    return float(np.mean((low <= 0) & (high >= 0)))


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=2000)
    trials = parser.parse_args().trials
    rng = np.random.default_rng(0)
    first = plain_table(["seeds", "Student", "percentile", "BCa"])
    for seeds in (3, 5, 10):
        first.add_row(str(seeds), *(f"{share:.1%}" for share in coverage(seeds, trials, rng)))
    out.print(first)
    second = plain_table(["rows", "seeds", "comparisons with the best", "all pairs"])
    for rows in (2, 4, 10):
        for seeds in (3, 5, 10):
            shares = claims(rows, seeds, trials, rng)
            second.add_row(str(rows), str(seeds), *(f"{share:.1%}" for share in shares))
    out.print(second)


if __name__ == "__main__":
    main()

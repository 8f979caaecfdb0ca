"""How often intervals cover the truth, and how often equal rows are called different.

    python benchmarks/honesty.py
    python benchmarks/honesty.py --trials 4000

Each figure is of simulated tables in which the truth is known; seeds are fixed. `before` is
Student's interval and Student's paired t test for everything, `after` is what the tables do. With
500 tables a rate of 5% is measured to within 2%, which takes about two minutes; 4,000 tables take
eight times as long. The functions return the rates, which tests call with fewer tables.
"""

import argparse
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from attnexp.console import out, plain_table
from attnexp.tables.significance import compare
from attnexp.tables.statistics import (
    PairedP,
    Spread,
    betting_p,
    effect_size,
    holm,
    student_p,
)

Draw = Callable[[np.random.Generator, tuple[int, ...]], NDArray[np.float64]]
"""Values of a shape; in tables the last two numbers are rows and seeds."""

EXAMPLES = 500
"""Test examples of a seed, as in the data sets of sequences."""

LOOKS = (5, 10, 20, 40)
"""The numbers of seeds at which somebody looks who follows the advice to run more."""


@dataclass(frozen=True)
class Equals:
    """Rows of the same mean, and the test that they get. Of shares, higher is better."""

    draw: Draw
    test: PairedP

    @property
    def better(self) -> Literal["lower", "higher"]:
        """The direction in which the rows are read."""
        return "higher" if self.test is betting_p else "lower"

    def tables(self, trials: int, rows: int, seeds: int) -> NDArray[np.float64]:
        """Return tables of rows and seeds."""
        return self.draw(np.random.default_rng(100 * rows + seeds), (trials, rows, seeds))


@dataclass(frozen=True)
class Share:
    """The share of right answers of a seed, which is drawn, and its mean."""

    mean: float
    draw: Draw


def student(differences: Sequence[float], scale: float) -> float:
    """Return the p-value of Student's paired t test, or the sign test's of equal differences."""
    n = len(differences)
    effect = effect_size(differences, scale)
    if math.isinf(effect):
        return 2.0 ** (1 - n)
    return float(2 * stats.t.sf(abs(effect) * math.sqrt(n), n - 1))


def beside(constant: float, draw: Draw) -> Draw:
    """Return tables whose first row is constant and whose others are drawn."""

    def table(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
        values = draw(rng, shape)
        values[:, 0] = constant
        return values

    return table


def jump(likely: float, low: float = 0.4, high: float = 1.0, noise: float = 0.0) -> Draw:
    """Return shares that are `high` with a probability, and else `low`."""

    def values(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
        drawn = np.where(rng.random(shape) < likely, high, low)
        return drawn - noise * rng.random(shape)

    return values


def beta(mean: float, sd: float) -> Draw:
    """Return shares of a beta distribution."""
    size = mean * (1 - mean) / sd**2 - 1
    return lambda rng, shape: rng.beta(mean * size, (1 - mean) * size, shape)


def always(share: float) -> Draw:
    """Return the same share for every seed."""
    return lambda rng, shape: np.full(shape, share)


def lognormal(sigma: float) -> Draw:
    """Return positive values of mean 1."""
    return lambda rng, shape: rng.lognormal(-(sigma**2) / 2, sigma, shape)


NORMAL: Draw = lambda rng, shape: rng.normal(size=shape)  # noqa: E731

EQUALS = {
    "normal": Equals(NORMAL, student_p),
    "normal, correlated within a seed": Equals(
        lambda rng, shape: rng.normal(size=shape) + rng.normal(size=(shape[0], 1, shape[2])),
        student_p,
    ),
    "normal, deviations 0.1 to 10": Equals(
        lambda rng, shape: rng.normal(size=shape) * np.geomspace(0.1, 10, shape[1])[:, None],
        student_p,
    ),
    "lognormal": Equals(lognormal(1), student_p),
    "lognormal against a constant": Equals(beside(1, lognormal(1)), student_p),
    "near-perfect shares": Equals(
        lambda rng, shape: rng.binomial(200, 0.995, size=shape) / 200, betting_p
    ),
    "late jump (1 with 0.8, else 0.4) against 0.88": Equals(beside(0.88, jump(0.8)), betting_p),
    "the same with noise of 0.01": Equals(beside(0.875, jump(0.8, noise=0.01)), betting_p),
    "late jump (1 with 0.95, else 0) against 0.95": Equals(
        beside(0.95, jump(0.95, low=0)), betting_p
    ),
}
"""Tables in which every row has the same mean."""

OUT_OF_REACH = {
    "lognormal, sigma 1.5, against a constant": Equals(beside(1, lognormal(1.5)), student_p),
    "the late jump with noise, as of a metric without bounds": Equals(
        beside(0.875, jump(0.8, noise=0.01)), student_p
    ),
}
"""Tables in which no test holds its level that does not know the distribution or a bound."""

SHARES = {
    "0.5, no spread": Share(0.5, always(0.5)),
    "0.5, spread 0.02": Share(0.5, beta(0.5, 0.02)),
    "0.5, spread 0.2": Share(0.5, beta(0.5, 0.2)),
    "0.9, no spread": Share(0.9, always(0.9)),
    "0.9, spread 0.02": Share(0.9, beta(0.9, 0.02)),
    "0.9, spread 0.15": Share(0.9, beta(0.9, 0.15)),
    "0.99, no spread": Share(0.99, always(0.99)),
    "0.99, spread 0.005": Share(0.99, beta(0.99, 0.005)),
    "0.99, spread 0.03": Share(0.99, beta(0.99, 0.03)),
    "1, no spread": Share(1, always(1)),
    "1 with 0.8, else 0.4": Share(0.88, jump(0.8)),
    "1 with 0.5, else 0": Share(0.5, jump(0.5, low=0)),
    "1 with 0.95, else 0.4": Share(0.97, jump(0.95)),
}
"""Shares of right answers, whose mean an interval should cover."""

UNSEEN = {
    "0.95 with 0.8, else 0.4": Share(0.84, jump(0.8, high=0.95)),
    "0.998 with 0.8, else 0.4": Share(0.8784, jump(0.8, high=0.998)),
    "0.9 with 0.5, else 0.4": Share(0.65, jump(0.5, high=0.9)),
}
"""Shares away from the bounds with a mode that few seeds may not show."""


def false_verdicts(
    equals: Equals, test: PairedP, trials: int, rows: int, looks: Sequence[int]
) -> float:
    """Return the share of tables that call a row worse at any look, though all are equal."""
    claimed = 0
    for table in equals.tables(trials, rows, max(looks)).tolist():
        claimed += any(_worse([row[:n] for row in table], test, equals.better) for n in looks)
    return claimed / trials


def found(draw: Draw, gap: float, test: PairedP, trials: int, rows: int, seeds: int) -> float:
    """Return the share of rows called worse that are worse than the first by a gap."""
    tables = draw(np.random.default_rng(rows + seeds), (trials, rows, seeds))
    tables[:, 1:] += gap
    return sum(_worse(table, test) for table in tables.tolist()) / (trials * (rows - 1))


def share_coverage(share: Share, seeds: int, trials: int) -> tuple[float, float, float]:
    """Return the shares of 95% intervals that hold the mean, before and after, and their width."""
    rng = np.random.default_rng(seeds)
    drawn = np.clip(share.draw(rng, (trials, seeds)), 0, 1)
    before = after = width = 0.0
    for values in (rng.binomial(EXAMPLES, drawn) / EXAMPLES).tolist():
        plain, own = Spread(values), Spread(values, EXAMPLES)
        before += plain.low - 1e-9 <= share.mean <= plain.high + 1e-9
        after += own.low - 1e-9 <= share.mean <= own.high + 1e-9
        width += own.high - own.low
    return before / trials, after / trials, width / trials


def bootstrap_coverage(seeds: int, trials: int, rng: np.random.Generator) -> list[float]:
    """Return the shares of intervals that hold a normal mean: Student, percentile, BCa."""
    values = rng.normal(size=(trials, seeds))
    limits = stats.t.interval(
        0.95, seeds - 1, loc=values.mean(axis=1), scale=stats.sem(values, axis=1)
    )
    covered = [_hold(*limits)]
    for method in ("percentile", "BCa"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # BCa of three values may be degenerate
            interval = stats.bootstrap(
                (values,), np.mean, axis=1, method=method, n_resamples=999, rng=rng
            ).confidence_interval
        covered.append(_hold(interval.low, interval.high))
    return covered


def corrections(rows: int, seeds: int, trials: int, rng: np.random.Generator) -> list[float]:
    """Return the shares of tables of equals with a false claim of the t test, by the correction."""
    few = every = 0
    for table in rng.normal(size=(trials, rows, seeds)):
        best = table.mean(axis=1).argmin()
        gaps = [(row - table[best]).tolist() for i, row in enumerate(table) if i != best]
        p = [student(gap, 1.0) for gap in gaps]
        few += bool((holm(p, len(p)) <= 0.05).any())
        every += _worse(table.tolist(), student) > 0
    return [few / trials, every / trials]


def _worse(
    table: Sequence[Sequence[float]], test: PairedP, better: Literal["lower", "higher"] = "lower"
) -> int:
    values = [{seed: {0: value} for seed, value in enumerate(row)} for row in table]
    return sum(verdict.standing == "worse" for verdict in compare(values, better, test))


def _hold(low: NDArray[np.float64], high: NDArray[np.float64]) -> float:
    return float(np.mean((low <= 0) & (high >= 0)))


def _print_verdicts(trials: int) -> None:
    table = plain_table(["false verdicts, before > after", "rows", "3", "5", "6", "10", "20 seeds"])
    for name, equals in (EQUALS | OUT_OF_REACH).items():
        for rows in (2, 8):
            rates = [
                [false_verdicts(equals, test, trials, rows, [n]) for test in (student, equals.test)]
                for n in (3, 5, 6, 10, 20)
            ]
            table.add_row(name, str(rows), *(f"{a:.3f} > {b:.3f}" for a, b in rates))
    out.print(table)
    table = plain_table(["false verdicts over looks at 5, 10, 20, 40", "before", "after"])
    for name, equals in (EQUALS | OUT_OF_REACH).items():
        rates = [false_verdicts(equals, test, trials, 2, LOOKS) for test in (student, equals.test)]
        table.add_row(name, *(f"{rate:.3f}" for rate in rates))
    out.print(table)


def _print_power(trials: int) -> None:
    table = plain_table(["differences found, before > after", "rows", "5", "10", "20", "40 seeds"])
    cases = [(f"normal, {gap} deviations", NORMAL, gap, student_p) for gap in (1, 2, 4)]
    cases += [
        (f"shares, spread 0.02, gap {gap}", beta(0.05, 0.02), gap, betting_p)
        for gap in (0.1, 0.3, 0.6, 0.85)
    ]
    for name, draw, gap, test in cases:
        for rows in (2, 8):
            rates = [
                [found(draw, gap, each, trials // 5, rows, n) for each in (student, test)]
                for n in (5, 10, 20, 40)
            ]
            table.add_row(name, str(rows), *(f"{a:.2f} > {b:.2f}" for a, b in rates))
    out.print(table)


def _print_coverage(trials: int) -> None:
    table = plain_table(["coverage, before > after (width)", "3", "5", "10 seeds"])
    for name, share in (SHARES | UNSEEN).items():
        rates = [share_coverage(share, n, trials) for n in (3, 5, 10)]
        table.add_row(name, *(f"{a:.3f} > {b:.3f} ({width:.2f})" for a, b, width in rates))
    out.print(table)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=500, help="simulated tables of each figure")
    trials = parser.parse_args().trials
    _print_verdicts(trials)
    _print_power(trials)
    _print_coverage(trials)
    rng = np.random.default_rng(0)
    table = plain_table(["coverage of a normal mean, seeds", "Student", "percentile", "BCa"])
    for seeds in (3, 5, 10):
        covered = bootstrap_coverage(seeds, trials, rng)
        table.add_row(str(seeds), *(f"{share:.1%}" for share in covered))
    out.print(table)
    table = plain_table(["t test, rows", "seeds", "comparisons with the best", "all pairs"])
    for rows in (2, 4, 10):
        for seeds in (3, 5, 10):
            rates = corrections(rows, seeds, trials, rng)
            table.add_row(str(rows), str(seeds), *(f"{rate:.1%}" for rate in rates))
    out.print(table)


if __name__ == "__main__":
    main()

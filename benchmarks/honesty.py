"""How often tables call equal rows different, find real differences, and cover the truth.

    python benchmarks/honesty.py
    python benchmarks/honesty.py --trials 2000

Each figure is of simulated tables in which the truth is known; seeds are fixed. Next to the
verdicts of the tables are those of the paired t test and of the sign test, both corrected for all
pairs of rows by Holm's method. With 400 tables a rate of 5% is measured to within 2%, and one of
half to within 5%. Twenty rows, and eight at twenty seeds, have a quarter as many tables, and
coverage, which takes less, ten times as many. Cards are drawn from the row of a shipped card, which
was measured at 24 seeds, and effects are planted in a quarter as many cards. Tests call the
functions, which return the rates, with fewer tables.
"""

import argparse
from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray
from scipy import stats

from attnexp.cards.card_file import RowResult, TrialResult, read_card
from attnexp.cards.judge import judged
from attnexp.core.console import plain_table, screen
from attnexp.stats.compare import TOLD_APART, Rule, against, compare
from attnexp.stats.intervals import LEVEL, Spread
from attnexp.stats.sequential import pair_tests

Draw = Callable[[np.random.Generator, tuple[int, ...]], NDArray[np.float64]]
"""Values of a shape; in tables the last two numbers are rows and seeds."""

Test = Callable[[NDArray[np.float64]], list[bool]]
"""Which rows of a table (rows, seeds) are called worse; less is better."""

EXAMPLES = 500
"""Test examples of a seed, as in the data sets of sequences."""

LOOKS = (6, 8, 12, 20, 40)
"""The numbers of seeds at which somebody reads a table who adds seeds until there is a verdict."""

SCHEDULES = (LOOKS, tuple(range(6, 41)))
"""The numbers of seeds after each portion: five portions, and one for each seed from six on."""

READ = (12, 20, 40)
"""The looks at which tables are read that know all of them."""

FILE, TESTED = 100, 20
"""Rows of a file, and of the test part of each of its splits."""

CARD, LABEL = Path(__file__).parents[1] / "docs/cards/scaled_dot-quick.json", "scaled_dot"
"""The shipped card from whose row placebo cards are drawn."""

MEASURED = 24
"""The seeds of that row."""

COUNTS = (2, 3, 5, 8)
"""Rows of tables with unlike seeds."""

DRAWN = ((6, 2), (6, 1), (10, 1))
"""Seeds and baselines of placebo cards; two baselines at ten seeds would need 30 seeds."""


@dataclass(frozen=True)
class Mean:
    """Values of a unit, and their mean."""

    unit: str
    mean: float
    draw: Draw


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return standard normal values."""
    return rng.normal(size=shape)


def lognormal(sigma: float) -> Draw:
    """Return positive values of mean 1."""
    return lambda rng, shape: rng.lognormal(-(sigma**2) / 2, sigma, shape)


def beta(mean: float, sd: float) -> Draw:
    """Return shares of right answers among EXAMPLES, for seeds of a beta distribution."""
    size = mean * (1 - mean) / sd**2 - 1
    return lambda rng, shape: (
        rng.binomial(EXAMPLES, rng.beta(mean * size, (1 - mean) * size, shape)) / EXAMPLES
    )


def late_jump(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return errors of seeds of which four in five have learned."""
    return np.where(rng.random(shape) < 0.8, 0.0, 0.6) + 0.01 * rng.random(shape)


def failing(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return shares of which a tenth is that of seeds that have not learned; their mean is 0.9."""
    return np.where(rng.random(shape) < 0.1, 0.1, 1.0) - 0.02 * rng.random(shape)


def constant_first(value: float, draw: Draw) -> Draw:
    """Return tables whose first row is constant and whose others are drawn."""

    def table(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
        values = draw(rng, shape)
        values[..., 0, :] = value
        return values

    return table


EXCHANGEABLE: dict[str, Draw] = {
    "normal": normal,
    "paired": lambda rng, shape: 0.3 * normal(rng, shape) + normal(rng, (shape[0], 1, shape[2])),
    "t, 3 degrees of freedom": lambda rng, shape: rng.standard_t(3, shape),
    "seeds of deviation 0.1 to 10": lambda rng, shape: (
        normal(rng, shape) * np.geomspace(0.1, 10, shape[-1])
    ),
    "lognormal": lognormal(1),
    "lognormal, sigma 1.5": lognormal(1.5),
    "shares near 1": lambda rng, shape: 1 - rng.binomial(200, 0.995, size=shape) / 200,
    "late jump": late_jump,
}
"""Tables in which the results of a seed can be exchanged: the choice makes no difference."""

LOOKED_AT: dict[str, Draw] = {
    "normal": normal,
    "lognormal": lognormal(1),
    "late jump": late_jump,
    "shares of 20 examples": lambda rng, shape: 1 - rng.binomial(20, 0.9, size=shape) / 20,
    "a tenth of seeds fails": lambda rng, shape: 1 - failing(rng, shape),
}
"""Tables that are read again and again."""

SYMMETRIC: dict[str, Draw] = {
    "rows of deviation 0.1 to 10": lambda rng, shape: (
        normal(rng, shape) * np.geomspace(0.1, 10, shape[-2])[:, None]
    ),
}
"""Tables of unlike rows whose differences are symmetric, for which the test of a pair is exact."""

NOT_ITS_NULL: dict[str, Draw] = {
    "lognormal against a constant": constant_first(1, lognormal(1)),
    "late jump against its mean": constant_first(0.125, late_jump),
}
"""Tables of equal means and unlike distributions, of which the test claims nothing."""

MEANS = {
    "normal": Mean("", 0.0, normal),
    "normal, far from 0": Mean("y^2", 1.0, lambda rng, shape: 1 + 0.1 * normal(rng, shape)),
    "lognormal, sigma 0.3": Mean("y^2", 1.0, lognormal(0.3)),
    "lognormal, sigma 1": Mean("y^2", 1.0, lognormal(1)),
    "gamma, shape 4": Mean("nats", 1.0, lambda rng, shape: rng.gamma(4, 0.25, shape)),
    "share 0.5, spread 0.02": Mean("share", 0.5, beta(0.5, 0.02)),
    "share 0.5, spread 0.2": Mean("share", 0.5, beta(0.5, 0.2)),
    "share 0.9, spread 0.02": Mean("share", 0.9, beta(0.9, 0.02)),
    "share 0.9, spread 0.15": Mean("share", 0.9, beta(0.9, 0.15)),
    "share 0.99, spread 0.005": Mean("share", 0.99, beta(0.99, 0.005)),
    "share 0.99, spread 0.03": Mean("share", 0.99, beta(0.99, 0.03)),
    "score of 100, 30 with spread 3": Mean(
        "of 100", 30.0, lambda rng, shape: 30 + 3 * normal(rng, shape)
    ),
}
"""What intervals of a mean are to cover, by the unit of the metric."""

NOT_COVERED = {"share, a tenth of seeds fails": Mean("share", 0.9, failing)}
"""What no interval of a few seeds covers: if none of them failed, none says that one may."""


def by_flips(
    table: NDArray[np.float64], looks: Sequence[int] = (), overlap: float = 0.0
) -> list[bool]:
    """Return the rows that a table of attnexp's calls worse, with the looks so far if it has any.

    `looks` are the numbers of seeds at which somebody looks.
    """
    rows = [{seed: {0: value} for seed, value in enumerate(row)} for row in table.tolist()]
    came = {seed: ((str(bisect(looks, seed)), f"{bisect(looks, seed)}"),) for seed in rows[0]}
    verdicts = compare(rows, Rule("lower", overlap=overlap), [came] * len(rows))
    return [verdict.word == "worse" for verdict in verdicts]


def by_t(table: NDArray[np.float64]) -> list[bool]:
    """Return the rows that paired t tests call worse than the best, Holm's family all pairs."""

    def p_value(differences: NDArray[np.float64]) -> float:
        if np.ptp(differences) == 0:
            return float(differences[0] == 0)
        return float(stats.ttest_1samp(differences, 0).pvalue)

    return _holm(table, p_value)


def by_signs(table: NDArray[np.float64]) -> list[bool]:
    """Return the rows that sign tests call worse than the best, Holm's family all pairs."""

    def p_value(differences: NDArray[np.float64]) -> float:
        n = int(np.count_nonzero(differences))
        return float(stats.binomtest(int((differences > 0).sum()), n).pvalue) if n else 1.0

    return _holm(table, p_value)


def _holm(
    table: NDArray[np.float64], p_value: Callable[[NDArray[np.float64]], float]
) -> list[bool]:
    best = int(table.mean(axis=1).argmin())
    pairs = list(combinations(range(len(table)), 2))
    found = {pair: p_value(table[pair[0]] - table[pair[1]]) for pair in pairs}
    worse = [False] * len(table)
    for rank, pair in enumerate(sorted(pairs, key=found.__getitem__)):
        if found[pair] * (len(pairs) - rank) > LEVEL:
            break
        if best in pair:
            worse[pair[0] if pair[1] == best else pair[1]] = True
    return worse


def false_verdicts(draw: Draw, test: Test, trials: int, rows: int, looks: Sequence[int]) -> float:
    """Return the share of tables that call a row worse at any look, though all are equal.

    A test that knows its looks takes none back, so that it needs to be read at some of them alone.
    """
    tables = draw(np.random.default_rng(100 * rows + max(looks)), (trials, rows, max(looks)))
    return float(np.mean([any(any(test(table[:, :n])) for n in looks) for table in tables]))


def seeds_taken(effect: float, trials: int, most: int = 50) -> tuple[int, int, float]:
    """Return the seeds at which four of five tables of two rows show an effect.

    The first number is of tables that are read once, the second of tables that are read after each
    seed from six on, and the third is the mean at which reading ends these. The effect is in
    standard deviations of the differences.
    """
    rng = np.random.default_rng(round(100 * effect))
    tables = normal(rng, (trials, 2, most)) / np.sqrt(2)
    tables[:, 1] += effect
    once = np.array([[_told(table[:, :n]) for n in range(6, most + 1)] for table in tables])
    each = [_told_at(table) for table in tables]
    first = 6 + int((once.mean(axis=0) >= 0.8).argmax())
    return first, sorted(each)[-(-4 * trials // 5) - 1], float(np.mean(each))


def _told(table: NDArray[np.float64], first: int = 50) -> bool:
    """Return whether a difference is shown, with a look at each seed from the place `first` on."""
    seeds = range(table.shape[1])
    came = {seed: ((f"{max(seed, first):03}", str(max(seed, first))),) for seed in seeds}
    tests = pair_tests(seeds, (table[1] - table[0])[:, None], [(0, 1)], [came, came])
    return bool(tests.apart[0])


def _told_at(table: NDArray[np.float64]) -> int:
    """Return the number of seeds at which reading after each seed ends: all without a verdict."""
    seeds = range(6, table.shape[1] + 1)
    return next((n for n in seeds if _told(table[:, :n], first=5)), table.shape[1])


def suites(
    gap: float,
    differing: int,
    trials: int,
    tasks: int = 10,
    looks: Sequence[int] = (8,),
    luck: float = 0.0,
) -> list[float]:
    """Return the shares of suites of tasks that tell two rows apart: over tasks, by any two tests.

    One row is worse by a gap, in deviations of a seed, in some of the tasks; the results of a task
    have a scale of their own. The tests are that over tasks, at any of the numbers of seeds in
    `looks`, and Wilcoxon's over the mean differences at the last (Demsar 2006). `luck` is the
    deviation of what a seed of a row has in all tasks.
    """
    rng = np.random.default_rng(round(100 * gap) + differing)
    found = np.zeros(2)
    for _ in range(trials):
        scale = np.exp(normal(rng, (tasks, 1, 1)))
        values = normal(rng, (tasks, 2, looks[-1])) + luck * normal(rng, (2, looks[-1]))
        values[:differing, 1] += gap
        values *= scale
        p = stats.wilcoxon(values[:, 0].mean(axis=1) - values[:, 1].mean(axis=1)).pvalue
        found += (any(_told_over_tasks(values[:, :, :n]) for n in looks), p <= LEVEL)
    return (found / trials).tolist()


def _told_over_tasks(values: NDArray[np.float64]) -> bool:
    """Return whether two rows are told apart; values are of shape (tasks, rows, seeds)."""
    rows = [
        {task: dict(enumerate(own[row].tolist())) for task, own in enumerate(values)}
        for row in (0, 1)
    ]
    return any(own.word == "worse" for own in compare(rows, Rule("lower", ahead_by=0.0)))


def power(
    draw: Draw, gap: float, test: Test, trials: int, rows: int, seeds: int, worse: int
) -> float:
    """Return the share of the last `worse` rows, worse by a gap than the others, called worse."""
    tables = draw(np.random.default_rng(rows + seeds), (trials, rows, seeds))
    tables[:, -worse:] += gap
    return float(np.mean([test(table)[-worse:] for table in tables]))


def coverage(mean: Mean, seeds: int, trials: int) -> float:
    """Return the share of 95% intervals that hold the mean."""
    drawn = mean.draw(np.random.default_rng(seeds), (trials, seeds))
    spreads = (Spread(values, mean.unit, EXAMPLES) for values in drawn.tolist())
    ends = (spread.interval for spread in spreads)
    return float(np.mean([low <= mean.mean <= high for low, high in ends]))


DIFFERENCES = {
    "normal": Mean("", 0.0, normal),
    "lognormal, sigma 0.5": Mean("", 1.0, lognormal(0.5)),
    "lognormal, sigma 1": Mean("", 1.0, lognormal(1)),
    "between two lognormal rows": Mean(
        "", 0.0, lambda rng, shape: lognormal(1)(rng, shape) - lognormal(1)(rng, shape)
    ),
}
"""Differences of two rows by seed, and their mean."""


def difference_coverage(mean: Mean, seeds: int, trials: int) -> float:
    """Return the share of intervals of the difference of two rows that hold its mean."""
    rng = np.random.default_rng(seeds)
    held = 0
    for _ in range(trials):
        values = mean.draw(rng, (seeds,)).tolist()
        row = {seed: {0: value} for seed, value in enumerate(values)}
        zero = {seed: {0: 0.0} for seed in row}
        (found,) = against(zero, [row], Rule("lower"))
        assert found.difference is not None
        held += found.difference.low <= mean.mean <= found.difference.high
    return held / trials


def false_equals(margin: float, seeds: int, trials: int) -> float:
    """Return the share of tables that call two rows equal of which one fails on a tenth of seeds.

    The other row never fails; the means differ by 0.09, more than the margin.
    """
    rng = np.random.default_rng(seeds)
    rule = Rule("higher", equal_within=margin)
    found = 0
    for _ in range(trials):
        rows = 1 - 0.02 * rng.random(seeds), failing(rng, (seeds,))
        values = [{seed: {0: value} for seed, value in enumerate(row.tolist())} for row in rows]
        found += any(verdict.word == "equal" for verdict in compare(values, rule))
    return found / trials


def false_verdicts_of_diverged(counted: bool, seeds: int, trials: int) -> float:
    """Return the share of tables that call a row worse than one whose worst runs diverge.

    Both rows are lognormal with sigma 1; the second diverges where it is in its worst tenth. Such
    a run is left out, or `counted` as the worst of the table.
    """
    rng = np.random.default_rng(seeds)
    worst_tenth = float(np.exp(stats.norm.ppf(0.9)))
    found = 0
    for _ in range(trials):
        first, second = np.exp(normal(rng, (2, seeds)))
        worst = float(max(first.max(), second[second <= worst_tenth].max(initial=0.0)))
        rows: list[dict[int, dict[int, float]]] = [{}, {}]
        for seed in range(seeds):
            rows[0][seed] = {0: float(first[seed])}
            if second[seed] <= worst_tenth:
                rows[1][seed] = {0: float(second[seed])}
            elif counted:
                rows[1][seed] = {0: worst}
        found += compare(rows, Rule("lower"))[0].word == "worse"
    return found / trials


def windows(rng: np.random.Generator, rows: int) -> NDArray[np.bool_]:
    """Return which rows have which seeds: ten in a row from any of the first six on."""
    starts = rng.integers(0, 6, rows)
    return np.array([[start <= seed < start + 10 for seed in range(15)] for start in starts])


def scattered(rng: np.random.Generator, rows: int) -> NDArray[np.bool_]:
    """Return which rows have which seeds: ten of fifteen each."""
    return rng.permuted(np.tile(np.arange(15) < 10, (rows, 1)), axis=1)


def cut_short(rng: np.random.Generator, rows: int) -> NDArray[np.bool_]:
    """Return which rows have which seeds: the first seven to twelve."""
    return np.arange(12) < rng.integers(7, 13, rows)[:, None]


def chained(rng: np.random.Generator, rows: int) -> NDArray[np.bool_]:
    """Return which rows have which seeds: fourteen each, half of them shared with the next row."""
    return np.array(
        [[0 <= seed - 7 * row < 14 for seed in range(7 * rows + 7)] for row in range(rows)]
    )


UNLIKE = {each.__name__: each for each in (windows, scattered, cut_short, chained)}
"""Which rows have which seeds, if these are unlike."""


KINDS = ("a row is worse than an equal or a better one", "a circle", "another row is best")
"""What tables say of rows with unlike seeds; the first two are false verdicts."""


def unlike_verdicts(
    draw: Draw, unlike: str, rows: int, gap: float, trials: int
) -> tuple[float, ...]:
    """Return the shares of tables with each of KINDS, if the first row is better by a gap.

    Without a gap all rows are equal, and any may be the best.
    """
    rng = np.random.default_rng(rows)
    found = np.zeros(len(KINDS))
    for _ in range(trials):
        there = UNLIKE[unlike](rng, rows)
        values = draw(rng, (1, *there.shape))[0]
        values[0] -= gap
        table = [
            {seed: {0: float(own[seed])} for seed in np.flatnonzero(has).tolist()}
            for own, has in zip(values, there, strict=True)
        ]
        words = [verdict.word for verdict in compare(table, Rule("lower"))]
        worse = [word == "worse" for word in words]
        others = any(worse[1:]) and (not gap or words[0] != "best")
        found += (worse[0] or others, "best" not in words, gap > 0 and words[0] != "best")
    return tuple((found / trials).tolist())


def _print_unlike(trials: int) -> None:
    for gap in (0.0, 1.0):
        table = plain_table([f"unlike seeds, one row better by {gap}", "seeds", *map(str, COUNTS)])
        for name, draw in (EXCHANGEABLE | SYMMETRIC).items():
            for unlike in UNLIKE:
                rates = [unlike_verdicts(draw, unlike, rows, gap, trials) for rows in COUNTS]
                cells = (" / ".join(f"{rate:.3f}" for rate in own) for own in rates)
                table.add_row(name, unlike, *cells)
        screen.out.print(table)
    screen.out.print(" / ".join(KINDS))


def splits(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return test errors over splits of a file, one file per table, of rows that are equally good.

    The error of a model on a row of the file is exponential with mean 1, however it was trained.
    """
    trials, rows, seeds = shape
    errors = rng.exponential(size=(trials, rows, FILE))
    found = np.empty(shape)
    for trial in range(trials):
        for seed in range(seeds):
            found[trial, :, seed] = errors[trial][:, rng.permutation(FILE)[:TESTED]].mean(axis=1)
    return found


def split_coverage(seeds: int, trials: int, corrected: bool) -> float:
    """Return the share of intervals over splits that hold the error on new rows."""
    overlap = TESTED / (FILE - TESTED) if corrected else 0.0
    drawn = splits(np.random.default_rng(seeds), (trials, 1, seeds))[:, 0]
    ends = (Spread(values, "y^2", overlap=overlap).interval for values in drawn.tolist())
    return float(np.mean([low <= 1.0 <= high for low, high in ends]))


def _print_failures(trials: int) -> None:
    table = plain_table(["called equal, one row fails on a tenth of seeds", "6", "10", "20 seeds"])
    for margin in (0.02, 0.05):
        rates = (false_equals(margin, seeds, trials) for seeds in (6, 10, 20))
        table.add_row(f"margin {margin}, difference 0.09", *(f"{rate:.3f}" for rate in rates))
    screen.out.print(table)
    table = plain_table(["called worse than a row whose worst runs diverge", "6", "10", "20 seeds"])
    for name, counted in {"left out": False, "counted as worst": True}.items():
        rates = (false_verdicts_of_diverged(counted, seeds, trials) for seeds in (6, 10, 20))
        table.add_row(name, *(f"{rate:.3f}" for rate in rates))
    screen.out.print(table)


@dataclass(frozen=True)
class Scale:
    """Mean and deviation of a row over all seeds, and the ends and the direction of its metric.

    `middle` is the deviation of a normal row with the same quartiles: a few seeds far away do not
    change it. `best` is infinite if there is none; `up` is 1 if higher is better, else -1.
    """

    mean: float
    sd: float
    middle: float
    chance: float
    best: float
    ends: tuple[float, float]
    up: float


Effect = Callable[[np.random.Generator, NDArray[np.float64], Scale], NDArray[np.float64]]
"""Values by seed with an effect, from those without."""


def shifted(deviations: float) -> Effect:
    """Return an effect that makes each seed better by some deviations, within the ends."""
    return lambda rng, values, row: np.clip(values + deviations * row.up * row.sd, *row.ends)


def moved(deviations: float) -> Effect:
    """Return `shifted` by deviations as the quartiles say."""
    return lambda rng, values, row: np.clip(values + deviations * row.middle, *row.ends)


def not_learned(share: float) -> Effect:
    """Return an effect by which a share of the seeds is at chance."""
    return lambda rng, values, row: np.where(
        rng.permutation(len(values)) < round(share * len(values)), row.chance, values
    )


WORSE: dict[str, Effect] = {
    "half a deviation worse": shifted(-0.5),
    "one deviation worse": shifted(-1),
    "two deviations worse": shifted(-2),
    "a tenth of the right answers lost": lambda rng, values, row: values * (1 - 0.1 * row.up),
    "half of the way to chance": lambda rng, values, row: (values + row.chance) / 2,
    "one seed in six does not learn": not_learned(1 / 6),
    "one seed in three does not learn": not_learned(1 / 3),
    "no seed learns": not_learned(1),
}

BETTER: dict[str, Effect] = {
    "two deviations better": shifted(2),
    "half of the errors gone": lambda rng, values, row: (
        (values + row.best) / 2 if np.isfinite(row.best) else values
    ),
}

EFFECTS = WORSE | BETTER

CONTROL: dict[str, Effect] = {
    "twice the deviation, the same mean": lambda rng, values, row: 2 * values - row.mean
}
"""A change of the subject that no verdict should find; values may be beyond the ends."""

PARTS = ("one trial", "a third", "all trials")
"""The trials in which an effect is planted, of those whose values it changes."""


def all_values(trial: TrialResult) -> NDArray[np.float64]:
    """Return the values of the first row of a trial, in the order of its seeds."""
    numbers = trial.rows[0].numbers.get(trial.metric, {})
    return np.array([numbers[seed] for seed in sorted(numbers)])


def scale(trial: TrialResult) -> Scale:
    """Return the scale of the first row of a trial; unknown chance is 0, or twice the error."""
    values = all_values(trial)
    sample = trial.sample(trial.rows[0], trial.metric)
    up = 1.0 if trial.better == "higher" else -1.0
    mean = float(values.mean())
    chance = (1 - up) * mean if trial.chance is None else trial.chance
    low, high = np.quantile(values, [0.25, 0.75])
    sd, middle = float(values.std(ddof=1)), float(high - low) / 1.349
    return Scale(mean, sd, middle, chance, sample.best, sample.range, up)


def measured(path: Path, label: str) -> list[TrialResult]:
    """Return the trials of a card in which a row has a value at each of 24 seeds, with it alone."""
    own = (
        replace(trial, rows=[row])
        for trial in read_card(path).trials
        for row in trial.rows
        if row.label == label
    )
    return [trial for trial in own if len(all_values(trial)) == MEASURED]


def placebo(
    trials: Sequence[TrialResult], seeds: int, baselines: int, rng: np.random.Generator
) -> list[TrialResult]:
    """Return a card whose rows are one row: each has other seeds, the same in all trials."""
    drawn = rng.permutation(MEASURED)[: seeds * (1 + baselines)].reshape(-1, seeds)
    return [
        replace(trial, rows=[_row(trial, all_values(trial)[i]) for i in drawn]) for trial in trials
    ]


def _row(trial: TrialResult, values: NDArray[np.float64]) -> RowResult:
    return RowResult("", [], {trial.metric: dict(enumerate(values.tolist(), 1))})


def with_effect(
    trial: TrialResult, effect: Effect, row: Scale, rng: np.random.Generator
) -> TrialResult:
    """Return a trial with an effect on its subject."""
    subject = _row(trial, effect(rng, all_values(trial), row))
    return replace(trial, rows=[subject, *trial.rows[1:]])


def placebo_verdicts(
    trials: Sequence[TrialResult], seeds: int, baselines: int, cards: int, tuned: float = 0.0
) -> tuple[float, float]:
    """Return the shares of placebo cards with a difference, and with one that holds.

    In each trial the subject is better or worse by `tuned` times the deviation that its quartiles
    say, as by a rate that was chosen at few seeds.
    """
    rng = np.random.default_rng(seeds)
    scales = [scale(trial) for trial in trials]
    words, holds = 0, 0
    for _ in range(cards):
        moves = rng.choice([-tuned, tuned], len(trials))
        card = [
            with_effect(trial, moved(move), row, rng)
            for trial, move, row in zip(
                placebo(trials, seeds, baselines, rng), moves, scales, strict=True
            )
        ]
        found = [verdict for own in judged(card) for verdict in own]
        words += any(verdict.word in TOLD_APART for verdict in found)
        holds += any(verdict.holds for verdict in found)
    return words / cards, holds / cards


def planted(
    trials: Sequence[TrialResult], name: str, part: str, seeds: int, baselines: int, cards: int
) -> tuple[float, float]:
    """Return the shares of cards that find an effect, and that find one in another trial.

    It is found if a verdict in its direction holds in a trial in which it was planted.
    """
    effect = (EFFECTS | CONTROL)[name]
    words = TOLD_APART if name in CONTROL else ("better",) if name in BETTER else ("worse",)
    rng = np.random.default_rng(seeds)
    scales = [scale(trial) for trial in trials]
    places = [i for i, trial in enumerate(trials) if _changes(effect, trial, scales[i], rng)]
    count = {"one trial": 1, "a third": max(1, len(places) // 3)}.get(part, len(places))
    hits, elsewhere = 0, 0
    for _ in range(cards):
        card = placebo(trials, seeds, baselines, rng)
        there = rng.permutation(places)[:count].tolist()
        for i in there:
            card[i] = with_effect(card[i], effect, scales[i], rng)
        found = [(i, verdict) for i, own in enumerate(judged(card)) for verdict in own]
        holding = [(i, verdict.word) for i, verdict in found if verdict.holds]
        hits += any(i in there and word in words for i, word in holding)
        elsewhere += any(i not in there for i, _ in holding)
    return hits / cards, elsewhere / cards


def _changes(effect: Effect, trial: TrialResult, row: Scale, rng: np.random.Generator) -> bool:
    values = all_values(trial)
    return bool((effect(rng, values, row) != values).any())


def _print_cards(path: Path, trials: int) -> None:
    if not path.exists():
        screen.out.print(
            f"{path.name}, a card of {MEASURED} seeds, is not in {path.parent}: no placebos"
        )
        return
    row = measured(path, LABEL)
    heads = [f"{LABEL} next to itself, {len(row)} trials", "any + or -", "any !"]
    table = plain_table(heads)
    for name, tuned in {
        "as measured": 0.0,
        "tuned: moved by 0.4 of the quartiles' deviation": 0.4,
    }.items():
        for seeds, baselines in DRAWN:
            rates = placebo_verdicts(row, seeds, baselines, trials, tuned)
            own = f"{name}, {seeds} seeds, baselines: {baselines}"
            table.add_row(own, *(f"{rate:.3f}" for rate in rates))
    screen.out.print(table)
    for seeds, baselines in DRAWN:
        _print_effects(row, seeds, baselines, max(1, trials // 4))


def _print_effects(row: Sequence[TrialResult], seeds: int, baselines: int, cards: int) -> None:
    heads = [f"found / elsewhere: {seeds} seeds, baselines: {baselines}", *PARTS]
    table = plain_table(heads)
    rates = {
        name: [planted(row, name, part, seeds, baselines, cards) for part in PARTS]
        for name in EFFECTS | CONTROL
    }
    for name, own in rates.items():
        table.add_row(name, *(f"{hit:.2f} / {other:.2f}" for hit, other in own))
    found = np.sum([[hit for hit, _ in rates[name]] for name in EFFECTS], axis=0)
    table.add_row(f"found of {len(EFFECTS)}", *(f"{number:.1f}" for number in found))
    screen.out.print(table)


TESTS: dict[str, Test] = {"flips": by_flips, "t": by_t, "signs": by_signs}


def _print_verdicts(trials: int) -> None:
    table = plain_table(["false verdicts: flips / t / signs", "rows", "6", "8", "10 seeds"])
    for name, draw in (EXCHANGEABLE | SYMMETRIC | NOT_ITS_NULL).items():
        for rows in (2, 8, 20):
            cells = []
            for seeds in (6, 8, 10):
                own = trials if rows < 20 else max(1, trials // 4)
                tests = TESTS if rows < 20 else {"flips": by_flips}
                rates = [false_verdicts(draw, test, own, rows, [seeds]) for test in tests.values()]
                cells.append(" / ".join(f"{rate:.3f}" for rate in rates))
            table.add_row(name, str(rows), *cells)
    screen.out.print(table)


def _print_looks(trials: int) -> None:
    heads = [
        "false verdicts over looks",
        "rows",
        "one, at 40",
        "5",
        "35",
        "5, each as the only one",
    ]
    table = plain_table(heads)
    for name, draw in LOOKED_AT.items():
        for rows in (2, 4, 8):
            own = trials if rows < 8 else max(1, trials // 4)
            known = [partial(by_flips, looks=looks) for looks in SCHEDULES]
            rates = [false_verdicts(draw, by_flips, own, rows, LOOKS[-1:])]
            rates += [false_verdicts(draw, test, own, rows, READ) for test in known]
            rates.append(false_verdicts(draw, by_flips, own, rows, LOOKS))
            table.add_row(name, str(rows), *(f"{rate:.3f}" for rate in rates))
    screen.out.print(table)


SUITES = (
    (0.0, 0, "equal rows"),
    (1.0, 3, "1 deviation in three tasks of ten"),
    (2.0, 3, "2 deviations in three"),
    (1.0, 5, "1 deviation in five"),
    (0.5, 10, "half a deviation in all"),
    (1.0, 10, "1 deviation in all"),
)
"""The difference of two rows, in how many tasks it is, and both in words."""


def _print_suites(trials: int) -> None:
    table = plain_table(["told apart over ten tasks of eight seeds", "flips", "Wilcoxon"])
    for gap, differing, words in SUITES:
        table.add_row(words, *(f"{rate:.3f}" for rate in suites(gap, differing, trials)))
    told = {
        "equal rows, looked at with 2, 3, 4, 5, 6, 8, 10, 12, 16 and 20 seeds": suites(
            0.0, 0, trials, looks=(2, 3, 4, 5, 6, 8, 10, 12, 16, 20)
        ),
        "equal rows, with luck of half a deviation that tasks share": suites(
            0.0, 0, trials, luck=0.5
        ),
    }
    for words, rates in told.items():
        table.add_row(words, *(f"{rate:.3f}" for rate in rates))
    screen.out.print(table)


def _print_power(trials: int) -> None:
    table = plain_table(["seeds of 80% power", "read once", "after each seed", "its mean end"])
    for effect in (0.8, 1.0, 1.3):
        once, each, end = seeds_taken(effect, max(1, trials // 2))
        table.add_row(f"{effect} deviations", str(once), str(each), f"{end:.1f}")
    screen.out.print(table)
    heads = ["power: flips / t / signs", "rows", "worse", "6", "8", "10", "20 seeds"]
    table = plain_table(heads)
    cases: list[tuple[str, Draw, float]] = [
        (f"normal, {gap} deviations", normal, gap) for gap in (1.0, 2.0, 4.0)
    ]
    cases.append(("shares .95 and .85, spread 0.02", beta(0.05, 0.02), 0.1))
    for name, draw, gap in cases:
        for rows, worse in ((2, 1), (8, 7), (8, 1), (20, 1)):
            cells = []
            for seeds in (6, 8, 10, 20):
                slow = rows == 20 or (rows == 8 and seeds == 20)
                own = max(1, trials // 4) if slow else trials
                rates = (power(draw, gap, t, own, rows, seeds, worse) for t in TESTS.values())
                cells.append(" / ".join(f"{rate:.2f}" for rate in rates))
            table.add_row(name, str(rows), str(worse), *cells)
    screen.out.print(table)


def _print_coverage(trials: int) -> None:
    table = plain_table(["coverage of the mean", "unit", "3", "5", "10", "20 seeds"])
    for name, mean in (MEANS | NOT_COVERED).items():
        rates = [coverage(mean, seeds, 10 * trials) for seeds in (3, 5, 10, 20)]
        table.add_row(name, mean.unit, *(f"{rate:.3f}" for rate in rates))
    screen.out.print(table)
    table = plain_table(["coverage of a mean difference", "6", "10", "20 seeds"])
    for name, mean in DIFFERENCES.items():
        rates = [difference_coverage(mean, seeds, trials) for seeds in (6, 10, 20)]
        table.add_row(name, *(f"{rate:.3f}" for rate in rates))
    screen.out.print(table)
    table = plain_table(
        ["over splits of a file", "coverage, Student", "corrected", "false verdicts"]
    )
    overlap = TESTED / (FILE - TESTED)
    for seeds in (10, 40):
        rates = [split_coverage(seeds, 4 * trials, corrected) for corrected in (False, True)]
        test: Test = lambda rows: by_flips(rows, overlap=overlap)  # noqa: E731
        rates.append(false_verdicts(splits, test, trials, 2, [seeds]))
        table.add_row(f"{seeds} splits", *(f"{rate:.3f}" for rate in rates))
    screen.out.print(table)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=400, help="simulated tables of each figure")
    trials = parser.parse_args().trials
    _print_verdicts(trials)
    _print_looks(trials)
    _print_unlike(trials)
    _print_suites(trials)
    _print_power(trials)
    _print_coverage(trials)
    _print_failures(trials)
    _print_cards(CARD, trials)


if __name__ == "__main__":
    main()

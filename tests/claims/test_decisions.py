"""Decisions of claims, on runs whose truth is known."""

import numpy as np
import pytest

from attnexp.claims.claim import read_claim
from attnexp.claims.direction import Direction
from attnexp.claims.moved import Moved
from attnexp.claims.rate import Rate, errors_of, slope_of
from attnexp.claims.same_minimum import SameMinimum, minima
from attnexp.errors import RequestError
from attnexp.runs import files
from attnexp.runs.folder import load_run
from attnexp.runs.interventions import LEARNED, Probed, write_probed

X = np.linspace(0, 5, 51)
RATE = {"expected": -0.8, "tolerance": 0.05, "low": 1, "high": 4, "shown": {"whole": [0, 5]}}


@pytest.fixture
def curve_of(write_run):
    """Writes a run whose squared error is one number inside 1 to 4, and another at the ends."""

    def write(size, seed, error, ends, width=1.0):
        settings = {"seed": seed, "data.num_train": size, "model.width": width}
        folder = write_run(f"{size}-{width}-{seed}", settings)
        inside = (X >= 0.999) & (X <= 4.001)
        off = np.sqrt(np.where(inside, error, ends))
        rows = [
            {"x": float(x), "truth": 0.0, "prediction": float(o)}
            for x, o in zip(X, off, strict=True)
        ]
        files.write_rows(folder / files.PREDICTIONS, rows)
        return load_run(folder)

    return write


@pytest.fixture
def falling(curve_of):
    def runs(slope, seeds=10, noise=0.01):
        rng = np.random.default_rng(0)
        return [
            curve_of(size, seed, size**slope * np.exp(rng.normal(0, noise)), size**-0.5)
            for seed in range(seeds)
            for size in (100, 1000, 10000)
        ]

    return runs


def test_a_rate_that_is_within_tolerance_is_reproduced(falling):
    verdict = Rate(**RATE).decide(falling(-0.8))
    assert verdict.word == "reproduced"
    assert "the slope is -0.8" in verdict.because
    assert "over 10 seeds, where -0.8 is claimed" in verdict.because
    ((name, text),) = verdict.shown
    assert name == "whole"
    assert text.startswith("-0.")


def test_another_rate_is_not(falling):
    assert Rate(**RATE).decide(falling(-0.6)).word == "not reproduced"


def test_few_or_noisy_seeds_cannot_tell(falling):
    runs = falling(-0.8, noise=1.0)
    few = Rate(**RATE).decide([run for run in runs if run.seed == 0])
    assert (few.word, few.more_seeds) == ("cannot tell", 2)
    noisy = Rate(**RATE).decide(runs)
    assert noisy.word == "cannot tell"
    assert noisy.more_seeds > 10
    assert noisy.text == f"cannot tell: {noisy.more_seeds} more seeds"


def test_the_best_width_of_each_size_counts(curve_of):
    runs = [
        curve_of(size, seed, error, 1.0, width)
        for seed in (0, 1)
        for size, width, error in [(10, 1.0, 1.0), (10, 2.0, 2.0), (100, 1.0, 5.0), (100, 2.0, 0.1)]
    ]
    slope, reach, seeds = slope_of(errors_of(runs, 1, 4))
    assert (slope, reach, seeds) == (pytest.approx(-1.0), pytest.approx(0.0, abs=1e-12), 2)


def test_the_interval_of_a_slope_covers_it():
    """Errors of seeds from the exponential distribution, whose logarithm is far from normal."""
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(300):
        table = {n: n**-0.8 * rng.exponential(size=20) for n in (100, 1000, 10000)}
        errors = {1.0: {n: dict(enumerate(values.tolist())) for n, values in table.items()}}
        slope, reach, _ = slope_of(errors)
        held += abs(slope + 0.8) <= reach
    assert held / 300 > 0.9


def test_points_of_a_step_are_a_part_of_those_that_were_tested(curve_of):
    run = curve_of(10, 0, 1.0, 3.0)
    (by_size,) = errors_of([run], 0, 4, 1.0).values()  # x = 0, 1, 2, 3, 4
    assert by_size[10][0] == pytest.approx((3 + 4 * 1) / 5)
    with pytest.raises(RequestError, match="was not tested on 7 <= x <= 8"):
        errors_of([run], 7, 8)


def test_a_rate_is_refused_where_there_is_no_curve(write_run):
    with pytest.raises(RequestError, match="has no predictions of a curve"):
        Rate(**RATE).decide([load_run(write_run("one"))])


@pytest.fixture
def searched(write_run):
    """Runs of a grid with given errors by width, and a learned one."""

    def write(learned, grid):
        runs = []
        for seed, (own, errors) in enumerate(zip(learned, grid, strict=True)):
            fields = {"choices": {"model": "learned"}, "metrics": {"loo_mse": own}}
            runs.append(load_run(write_run(f"l{seed}", {"seed": seed}, **fields)))
            for width, error in enumerate(errors, start=1):
                fields = {"choices": {"model": "grid"}, "metrics": {"loo_mse": error}}
                settings = {"seed": seed, "model.width": float(width)}
                runs.append(load_run(write_run(f"g{seed}-{width}", settings, **fields)))
        return SameMinimum("loo_mse", "learned", "grid", 0.001).decide(runs)

    return write


ONE, TWO = [3.0, 1.0, 2.0], [3.0, 1.0, 2.0, 1.5, 4.0]


def test_minima_are_places_lower_than_their_neighbours():
    assert minima(dict(enumerate(ONE))) == 1
    assert minima(dict(enumerate(TWO))) == 2
    assert minima({1.0: 1.0, 2.0: 2.0}) == 1


@pytest.mark.parametrize(
    ("learned", "grid", "word"),
    [
        ([0.9995, 1.0005], [ONE, ONE], "reproduced"),
        ([1.0, 1.5], [ONE, TWO], "reproduced"),  # in the other of two minima
        ([1.0, 1.5], [ONE, ONE], "cannot tell"),
        ([1.5, 1.0, 1.5], [ONE] * 3, "not reproduced"),
        ([1.0], [ONE], "cannot tell"),
    ],
)
def test_a_minimum_is_the_same_or_not(searched, learned, grid, word):
    assert searched(learned, grid).word == word


@pytest.fixture
def probed(write_run):
    def write(*values):
        runs = []
        for seed, value in enumerate(values):
            folder = write_run(f"p{seed}", {"seed": seed})
            rows = [
                Probed("test", "teacher", LEARNED, {"exact_match": 1.0}),
                Probed("test", "teacher", "shuffled", {"total_variation": value}),
            ]
            write_probed(folder, rows)
            runs.append(load_run(folder))
        shown = {"learned": ["exact_match"], "hard": ["exact_match"]}
        return Moved("shuffled", "total_variation", 0.1, shown).decide(runs)

    return write


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ([0.01, 0.02, 0.03], "reproduced"),
        ([0.5, 0.6, 0.7], "not reproduced"),
        ([0.05, 0.1, 0.2], "cannot tell"),
        ([0.5, 0.6], "cannot tell"),
    ],
)
def test_answers_move_or_not(probed, values, word):
    verdict = probed(*values)
    assert verdict.word == word
    assert dict(verdict.shown) == {"learned: exact_match": "1", "hard: exact_match": "skip"}


@pytest.fixture
def two_rows(write_run):
    def write(first, second, says="better", metric="test_mse"):
        runs = []
        for model, values in (("a", first), ("b", second)):
            for seed, value in enumerate(values):
                fields = {"choices": {"model": model}, "metrics": {"test_mse": value}}
                runs.append(load_run(write_run(f"{model}{seed}", {"seed": seed}, **fields)))
        return Direction(metric, "model=a", "model=b", says, 0.05).decide(runs)

    return write


LOW = [0.1, 0.2, 0.15, 0.12, 0.18, 0.11]
HIGH = [value + gap for value, gap in zip(LOW, [1.0, 1.1, 0.9, 1.2, 1.0, 0.95], strict=True)]
NEAR = [value + gap for value, gap in zip(LOW, [0.01, -0.01, 0.02, -0.01, 0.0, 0.01], strict=True)]
FAR = [value + gap for value, gap in zip(LOW, [0.3, -0.3, 0.4, -0.1, 0.2, 0.3], strict=True)]


@pytest.mark.parametrize(
    ("first", "second", "says", "word"),
    [
        (LOW, HIGH, "better", "reproduced"),
        (HIGH, LOW, "better", "not reproduced"),
        (LOW, NEAR, "better", "not reproduced"),
        (LOW, FAR, "better", "cannot tell"),
        (LOW[:3], HIGH[:3], "better", "cannot tell"),
        (LOW, HIGH[:1], "better", "cannot tell"),
        (LOW, NEAR, "equal", "reproduced"),
        (LOW, HIGH, "equal", "not reproduced"),
        (HIGH, LOW, "equal", "not reproduced"),
        (LOW, FAR, "equal", "cannot tell"),
    ],
)
def test_a_direction_is_decided_as_in_the_tables(two_rows, first, second, says, word):
    assert two_rows(first, second, says).word == word


def test_a_direction_names_the_seeds_that_it_lacks(two_rows):
    verdict = two_rows(LOW[:3], HIGH[:3])
    assert verdict.more_seeds == 3
    assert "worse on 3 of 3 seeds" in verdict.because


def test_a_part_of_the_runs_cannot_tell(write_run):
    claim = read_claim("sigmoid_bias")
    runs = [load_run(write_run("one", {"normalizer.bias": None}))]
    verdict = claim.verdict(runs)
    assert verdict.word == "cannot tell"
    assert verdict.text == "cannot tell"


def test_a_direction_takes_a_metric_that_ranks_and_rows(two_rows):
    with pytest.raises(RequestError, match="steps does not rank"):
        two_rows(LOW, HIGH, metric="steps")
    with pytest.raises(ValueError, match="says must be better or equal, got worse"):
        Direction("test_mse", "model=a", "model=b", "worse", 0.1)

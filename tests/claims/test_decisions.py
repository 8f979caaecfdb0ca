"""Decisions of claims, on runs whose truth is known."""

from itertools import count
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest
from shipped_claims import own_of

from attnexp.claims.all_of import AllOf
from attnexp.claims.bounded import Bounded
from attnexp.claims.claim import read_claim
from attnexp.claims.direction import Direction
from attnexp.claims.escaped import Escaped
from attnexp.claims.evidence import Evidence, Point
from attnexp.core.errors import RequestError
from attnexp.runs import files
from attnexp.runs.folder import load_run
from attnexp.runs.probed import LEARNED, Probed, write_probed

Rate, errors_of, slope_of = (
    getattr(own_of("nw_rate"), name) for name in ("Rate", "errors_of", "slope_of")
)
SameMinimum, minima = (
    getattr(own_of("learned_width_is_cross_validation"), name) for name in ("SameMinimum", "minima")
)
Stages = own_of("induction_in_stages").Stages

X = np.linspace(0, 5, 51)
RATE: dict[str, Any] = {
    "expected": -0.8,
    "tolerance": 0.05,
    "low": 1,
    "high": 4,
    "shown": {"whole": [0, 5]},
}


@pytest.fixture
def loaded(write_run):
    """Writes a run with these settings and fields, and loads it."""
    numbers = count()
    return lambda settings, **more: load_run(write_run(f"run{next(numbers)}", settings, **more))


@pytest.fixture
def curve_of(loaded):
    """Writes a run whose squared error is one number inside 1 to 4, and another at the ends."""

    def write(size, seed, error, ends, width=1.0):
        run = loaded({"seed": seed, "data.num_train": size, "model.width": width})
        inside = (X >= 0.999) & (X <= 4.001)
        off = np.sqrt(np.where(inside, error, ends))
        rows = [
            {"x": float(x), "truth": 0.0, "prediction": float(o)}
            for x, o in zip(X, off, strict=True)
        ]
        files.write_rows(run.folder / files.PREDICTIONS, rows)
        return run

    return write


@pytest.fixture
def two_widths(curve_of):
    """Runs at two sizes and two widths: the error is least at the first width, then the second."""
    errors = [(10, 1.0, 1.0), (10, 2.0, 2.0), (100, 1.0, 5.0), (100, 2.0, 0.1)]
    return [
        curve_of(size, seed, error, 1.0, width) for seed in (0, 1) for size, width, error in errors
    ]


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
    verdict = Rate(**RATE).decide(Evidence(falling(-0.8)))
    assert verdict.word == "reproduced"
    assert "the slope is -0.8" in verdict.because
    assert "over 10 seeds, where -0.8 is claimed" in verdict.because
    ((name, text),) = verdict.shown
    assert name == "whole"
    assert text.startswith("-0.")


def test_another_rate_is_not(falling):
    assert Rate(**RATE).decide(Evidence(falling(-0.6))).word == "not reproduced"


def test_few_or_noisy_seeds_cannot_tell(falling):
    runs = falling(-0.8, noise=1.0)
    few = Rate(**RATE).decide(Evidence([run for run in runs if run.seed == 0]))
    assert (few.word, few.more_seeds) == ("cannot tell", 5)
    noisy = Rate(**RATE).decide(Evidence(runs))
    assert noisy.word == "cannot tell"
    assert noisy.more_seeds > 10
    assert noisy.text == f"cannot tell: {noisy.more_seeds} more seeds"


def test_the_best_width_of_each_size_counts(two_widths):
    slope, reach, seeds = slope_of(errors_of(two_widths, 1, 4))
    assert slope == pytest.approx(-1.0)
    assert reach == pytest.approx(0.0, abs=1e-12)
    assert seeds == 2


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


def test_a_rate_is_refused_where_there_is_no_curve(loaded):
    with pytest.raises(RequestError, match="has no predictions of a curve"):
        Rate(**RATE).decide(Evidence([loaded({})]))


@pytest.fixture
def searched(loaded):
    """Runs of a grid with given errors by width, and a learned one."""

    def run(model, seed, width, error):
        settings = {"seed": seed, "model.width": float(width)}
        return loaded(settings, choices={"model": model}, metrics={"loo_mse": error})

    def write(learned, grid):
        runs = [run("learned", seed, 1, error) for seed, error in enumerate(learned)]
        for seed, errors in enumerate(grid):
            runs += [run("grid", seed, *point) for point in enumerate(errors, start=1)]
        return SameMinimum("loo_mse", "learned", "grid", 0.001).decide(Evidence(runs))

    return write


ONE, TWO = [3.0, 1.0, 2.0], [3.0, 1.0, 2.0, 1.5, 4.0]


def test_the_curve_of_a_minimum_is_the_grid(loaded):
    fields = {"choices": {"model": "grid"}, "metrics": {"loo_mse": 0.25}}
    runs = [loaded({"seed": 3, "model.width": 2.0}, **fields)]
    runs.append(loaded({"seed": 3}, choices={"model": "learned"}))
    decision = SameMinimum("loo_mse", "learned", "grid", 0.001)
    assert decision.curves(Evidence(runs)) == [Point(3, "grid", 2.0, 0.25)]


def test_minima_are_places_lower_than_their_neighbours():
    assert minima(dict(enumerate(ONE))) == [1.0]
    assert minima(dict(enumerate(TWO))) == [1.0, 1.5]
    assert minima({1.0: 1.0, 2.0: 2.0}) == [1.0]


@pytest.mark.parametrize(
    ("learned", "grid", "word"),
    [
        ([0.9995, 1.0005] * 3, [ONE] * 6, "reproduced"),
        ([1.0] * 6 + [1.5], [ONE] * 6 + [TWO], "reproduced"),  # in the other of two minima
        ([1.0] * 5 + [1.5], [ONE] * 6, "cannot tell"),
        ([1.0] * 19 + [1.5], [ONE] * 20, "reproduced"),  # nearly all of many
        ([1.5] * 5 + [1.0], [ONE] * 6, "cannot tell"),
        ([1.5] * 6, [ONE] * 6, "not reproduced"),
        ([1.0] * 5, [ONE] * 5, "cannot tell"),
        ([1.5] * 20, [TWO] * 20, "cannot tell"),  # no seed decides
        ([1.5005] * 20, [TWO] * 20, "cannot tell"),  # to within the tolerance of a thousandth
        ([2.5] * 20, [TWO] * 20, "not reproduced"),  # two minima, and in neither
        ([1.4] * 20, [TWO] * 20, "not reproduced"),
        ([1.5] * 6 + [2.5] * 6, [TWO] * 12, "not reproduced"),
    ],
)
def test_a_minimum_is_the_same_or_not(searched, learned, grid, word):
    assert searched(learned, grid).word == word


@pytest.fixture
def probed(loaded):
    def write(*values):
        runs = [loaded({"seed": seed}) for seed in range(len(values))]
        for run, value in zip(runs, values, strict=True):
            learned = Probed("test", "teacher", LEARNED, {"exact_match": 1.0})
            shuffled = Probed("test", "teacher", "shuffled", {"total_variation": value})
            write_probed(run.folder, [learned, shuffled])
        return Evidence(runs)

    return write


BOUNDS = [
    ([0.01, 0.02, 0.03] * 2, {"at_most": 0.1}, "reproduced"),
    ([0.5, 0.6, 0.7] * 2, {"at_most": 0.1}, "not reproduced"),
    ([0.05, 0.1, 0.2] * 2, {"at_most": 0.1}, "cannot tell"),
    ([0.5, 0.6, 0.7, 0.5, 0.6], {"at_most": 0.1}, "cannot tell"),
    ([0.5, 0.6, 0.7] * 2, {"at_least": 0.1}, "reproduced"),
    ([0.01, 0.02, 0.03] * 2, {"at_least": 0.1}, "not reproduced"),
    ([0.05, 0.1, 0.2] * 2, {"at_least": 0.1}, "cannot tell"),
    ([0.5] * 6, {"at_least": 0.5}, "reproduced"),
]


@pytest.mark.parametrize(("values", "bound", "word"), BOUNDS)
def test_a_number_is_within_a_bound_or_not(probed, values, bound, word):
    decision = Bounded("probe.shuffled.total_variation", **bound)
    assert decision.decide(probed(*values)).word == word


@pytest.mark.parametrize(("values", "bound", "word"), BOUNDS)
def test_a_computed_number_is_as_good_as_one_of_runs(values, bound, word):
    points = [Point(seed, "weight", 64.0, value) for seed, value in enumerate(values)]
    other = [Point(seed, "weight", 128.0, 9.0) for seed in range(9)]
    decision = Bounded("weight@64", **bound)
    assert decision.decide(Evidence(points=points + other)).word == word


def test_a_bound_says_its_numbers():
    numbers = [0.1, 0.2, 0.3] * 2
    points = [Point(seed, "weight", 64.0, value) for seed, value in enumerate(numbers)]
    verdict = Bounded("weight@64", at_most=0.5).decide(Evidence(points=points))
    # Student's quantile for five degrees of freedom is 2.571, and sd / sqrt(6) = 0.03651
    assert verdict.because == (
        "weight@64 is 0.2 [0.1061, 0.2939] over 6 seeds, and at most 0.5 is claimed, if no "
        "seed fails: up to 39% may"
    )
    same = [Point(seed, "weight", 64.0, 0.25 + seed * 1e-9) for seed in range(6)]
    verdict = Bounded("weight@64", at_most=0.5).decide(Evidence(points=same))
    assert verdict.because == (
        "weight@64 is 0.25, the same for all 6 seeds, and at most 0.5 is claimed, if no "
        "seed fails: up to 39% may"
    )


@pytest.mark.parametrize("seeds", [6, 10, 20])
def test_a_false_bound_is_claimed_only_if_no_seed_fails(seeds):
    """A tenth of seeds fails: their mean of 0.1 is above the bound, and half of claims see none.

    scipy's interval of a share has how many may fail, one-sided at 5%.
    """
    rng = np.random.default_rng(seeds)
    claimed = few = 0
    for _ in range(400):
        failed = rng.random(seeds) < 0.1
        values = np.where(failed, 1.0, rng.normal(0.0, 0.001, seeds)).tolist()
        points = [Point(seed, "y", 0.0, value) for seed, value in enumerate(values)]
        verdict = Bounded("y@0", at_most=0.05).decide(Evidence(points=points))
        if verdict.word != "reproduced":
            continue
        claimed += 1
        assert not failed.any()
        none = binomtest(0, seeds).proportion_ci(0.9).high  # 5% at each end
        assert verdict.because.endswith(f", if no seed fails: up to {none:.0%} may")
        few += none < 0.1
    assert claimed / 400 == pytest.approx(0.9**seeds, abs=0.07)
    assert few == 0  # what is said leaves the true tenth open


def test_a_bound_that_some_seeds_pass_says_nothing_of_failures():
    values = [0.0, 0.1, 0.2, 0.1, 0.0, 0.55] * 4
    points = [Point(seed, "y", 0.0, value) for seed, value in enumerate(values)]
    verdict = Bounded("y@0", at_most=0.5).decide(Evidence(points=points))
    assert verdict.word == "reproduced"
    assert verdict.because.endswith("is claimed")


def test_a_bound_of_a_share_takes_the_interval_of_shares(loaded):
    """Six seeds that learned leave open that another one fails: Student's interval has no width."""
    said = {"better": {"exact_match": "higher"}, "units": {"exact_match": "share"}}
    fields = {"metrics": {"exact_match": 1.0}, **said}
    runs = [loaded({"seed": seed, "data.num_test": 100}, **fields) for seed in range(6)]
    decide = lambda bound: Bounded("exact_match", at_least=bound).decide(Evidence(runs))  # noqa: E731
    assert decide(0.999).word == "cannot tell"
    assert decide(0.8).word == "reproduced"


def test_parts_share_the_level_at_which_a_claim_is_refused():
    """Of many true parts at their bounds some are refused by chance; the whole is in 5% at most."""
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(300):
        points = [
            Point(seed, f"y{part}", 0.0, float(value))
            for part in range(5)
            for seed, value in enumerate(rng.normal(1.0, 1.0, 8))
        ]
        decision = AllOf([Bounded(f"y{part}@0", at_most=1.0) for part in range(5)])
        refused += decision.decide(Evidence(points=points)).word == "not reproduced"
    # five parts at 2.5% each, without sharing, would refuse 12%
    assert refused / 300 < 0.06


@pytest.mark.parametrize("kind", [Bounded, Escaped])
def test_one_bound_is_given(kind):
    names = ["a"] if kind is Bounded else ["a", "first", "second", 0.5]
    with pytest.raises(ValueError, match="give at_most or at_least, got None and None"):
        kind(*names)
    with pytest.raises(ValueError, match="give at_most or at_least, got 1 and 2"):
        kind(*names, at_most=1, at_least=2)


def test_a_detail_of_runs_is_a_number_by_its_place(loaded):
    details = {"exact_match_by_length": {"16": 0.9, "512": 0.4}}
    runs = [loaded({"seed": seed}, details=details) for seed in (0, 1)]
    assert Evidence(runs).sample("exact_match_by_length@512").means == [0.4, 0.4]
    with pytest.raises(RequestError, match="nothing has the number 'exact_match_by_length@7' yet"):
        Evidence(runs).sample("exact_match_by_length@7")
    with pytest.raises(RequestError, match="several runs of seed 0 fit the claim"):
        Evidence([runs[0], runs[0]]).sample("exact_match_by_length@16")
    with pytest.raises(RequestError, match="none of the 2 runs fits seed=9"):
        Evidence(runs).sample("exact_match_by_length@16", "seed=9")


FOUND = {"reproduced": [0.0] * 6, "not reproduced": [2.0] * 6, "cannot tell": [0.0, 2.0] * 3}


@pytest.mark.parametrize(
    ("words", "whole"),
    [
        (["reproduced", "reproduced"], "reproduced"),
        (["reproduced", "not reproduced"], "not reproduced"),
        (["cannot tell", "not reproduced"], "not reproduced"),
        (["cannot tell", "reproduced"], "cannot tell"),
    ],
)
def test_all_parts_have_to_hold(words, whole):
    points = [
        Point(seed, f"y{part}", 0.0, value)
        for part, word in enumerate(words)
        for seed, value in enumerate(FOUND[word])
    ]
    decision = AllOf([Bounded(f"y{part}@0", at_most=1.0) for part in range(2)])
    verdict = decision.decide(Evidence(points=points))
    assert verdict.word == whole
    assert verdict.because.count(" is claimed") == 2
    assert verdict.more_seeds == (6 if "cannot tell" in words else None)
    assert len(decision.curves(Evidence(points=points))) == 12


def test_a_part_without_its_runs_cannot_tell():
    points = [Point(seed, "y0", 0.0, 0.0) for seed in range(6)]
    decision = AllOf([Bounded("y0@0", at_most=1.0), Bounded("y1@0", at_most=1.0)])
    verdict = decision.decide(Evidence(points=points))
    assert verdict.word == "cannot tell"
    assert "nothing has the number 'y1@0' yet" in verdict.because
    with pytest.raises(ValueError, match="parts must be two decisions or more, got 1"):
        AllOf([Bounded("y0@0", at_most=1.0)])


@pytest.fixture
def two_modes(loaded):
    """Runs of two rows of which some seeds learn, at a step of their own."""

    def write(first, second):
        runs = []
        for model, row in (("a", first), ("b", second)):
            for seed, step in enumerate(row):
                metrics = {"token_accuracy": 0.2 if step is None else 1.0}
                run = loaded({"seed": seed}, choices={"model": model}, metrics=metrics)
                steps = [100, 200, 300]
                accuracy = [1.0 if step is not None and at >= step else 0.2 for at in steps]
                rows = [
                    {"epoch": i + 1, "step": at, "val_token_accuracy": each}
                    for i, (at, each) in enumerate(zip(steps, accuracy, strict=True))
                ]
                files.write_rows(run.folder / files.METRICS, rows)
                runs.append(run)
        decision = Escaped("token_accuracy", "model=a", "model=b", 0.5, at_least=0.9)
        return decision.decide(Evidence(runs))

    return write


STUCK = [None] * 6


@pytest.mark.parametrize(
    ("first", "second", "word"),
    [
        ([100, 200, 300, 100, 100, 100], STUCK, "reproduced"),
        (STUCK, [100] * 6, "not reproduced"),
        ([100] * 20, [100] * 20, "not reproduced"),
        ([100] * 3, [None] * 3, "cannot tell"),  # p = 0.05, of too few
        ([100] * 5, [None] * 5, "cannot tell"),
    ],
)
def test_shares_of_seeds_decide(two_modes, first, second, word):
    assert two_modes(first, second).word == word


def test_the_steps_of_escape_are_shown(two_modes):
    verdict = two_modes([100, 200, 300, None], STUCK)
    assert verdict.because == (
        "3 of 4 seeds with model=a have escaped and 0 of 6 seeds with model=b: p = 0.033 by "
        "Fisher's exact test"
    )
    assert dict(verdict.shown) == {
        "step of escape, model=a": "100 to 300, median 200, of 3 seeds",
        "step of escape, model=b": "skip",
    }


@pytest.mark.parametrize(
    ("first", "second", "more"),
    [
        ([100], [None], 5),  # six are the fewest
        ([100] * 3, [None] * 3, 3),
        # two of six and none of six: of nine, three and none have p = 0.1, of eleven, four 0.045
        ([100] * 2 + [None] * 4, [None] * 6, 5),
    ],
)
def test_seeds_that_are_lacking_are_named(two_modes, first, second, more):
    assert two_modes(first, second).more_seeds == more


@pytest.fixture
def staged(loaded):
    def write(*courses):
        runs = [loaded({"seed": seed}) for seed in range(len(courses))]
        for run, course in zip(runs, courses, strict=True):
            rows = [
                {"epoch": i, "step": 25 * i, "val_early": early, "val_late": late}
                for i, (early, late) in enumerate(course, start=1)
            ]
            files.write_rows(run.folder / files.METRICS, rows)
        return Stages("val_early", "val_late", 0.03, "seed >= 0").decide(Evidence(runs))

    return write


WITH = [(0.2, 0.3), (0.02, 0.06), (0.05, 0.01)]
AT_ONCE = [(0.2, 0.3), (0.05, 0.01), (0.05, 0.01)]
BACK = [(0.02, 0.06), (0.05, 0.01), (0.02, 0.06)]
NEVER = [(0.2, 0.3), (0.02, 0.06), (0.02, 0.06)]


@pytest.mark.parametrize(
    ("courses", "word"),
    [
        ([WITH] * 6, "reproduced"),
        ([WITH] * 5, "cannot tell"),
        ([WITH] * 5 + [AT_ONCE], "cannot tell"),
        ([WITH] * 19 + [AT_ONCE], "reproduced"),
        ([BACK, AT_ONCE] * 3, "not reproduced"),
        ([NEVER] * 9 + [WITH], "not reproduced"),
    ],
)
def test_stages_are_there_or_not(staged, courses, word):
    assert staged(*courses).word == word


def test_the_steps_of_stages_are_shown(staged):
    verdict = staged(WITH, WITH, WITH)
    assert dict(verdict.shown)["seed 2"] == "val_early from step 50 on, val_late from 75 on"


def test_columns_that_were_not_logged_decide_nothing(loaded):
    runs = [loaded({"seed": seed}) for seed in range(3)]
    decision = Stages("val_early", "val_late", 0.03, "seed >= 0")
    with pytest.raises(RequestError, match="logged no step and no val_early and no val_late"):
        decision.decide(Evidence(runs))


def test_the_curves_of_a_rate_are_errors_at_the_best_width(two_widths):
    points = Rate(**RATE | {"shown": {}}).curves(Evidence(two_widths))
    assert {(p.seed, p.curve, p.x, round(p.y, 6)) for p in points} == {
        (seed, "1 <= x <= 4", *point) for seed in (0, 1) for point in [(10, 1.0), (100, 0.1)]
    }


@pytest.fixture
def two_rows(loaded):
    def write(first, second, says="better", metric="test_mse"):
        runs = []
        for model, values in (("a", first), ("b", second)):
            for seed, value in enumerate(values):
                fields = {"choices": {"model": model}, "metrics": {"test_mse": value, "steps": 9}}
                runs.append(loaded({"seed": seed}, units={"test_mse": "y^2"}, **fields))
        return Direction(metric, "model=a", "model=b", says, 0.05).decide(Evidence(runs))

    return write


LOW = [0.1, 0.2, 0.15, 0.12, 0.18, 0.11]
HIGH = [value + gap for value, gap in zip(LOW, [1.0, 1.1, 0.9, 1.2, 1.0, 0.95], strict=True)]
NEAR = [value + gap for value, gap in zip(LOW, [0.01, -0.01, 0.02, -0.01, 0.0, 0.01], strict=True)]
ABOVE = [value + gap for value, gap in zip(LOW, [0.01, 0.02, 0.01, 0.03, 0.02, 0.01], strict=True)]
TINY = [1e-5, 2e-5, 1e-5, 3e-5, 2e-5, 1e-5]
SMALL = [2e-3, 1e-3, 3e-3, 2e-3, 1e-3, 2e-3]
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
        (LOW, ABOVE, "equal", "reproduced"),  # higher for every seed, and within the margin
        (TINY, SMALL, "better", "both solve it"),
        (TINY, LOW, "better", "reproduced"),
    ],
)
def test_a_direction_is_decided_as_in_the_tables(two_rows, first, second, says, word):
    assert two_rows(first, second, says).word == word


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [(LOW, NEAR, "equal"), (LOW, NEAR, "better"), (TINY, SMALL, "better")],
)
def test_rows_are_equal_if_no_seed_fails(two_rows, first, second, says):
    assert two_rows(first, second, says).because.endswith(", if no seed fails: up to 39% may")
    assert "fails" not in two_rows(LOW, HIGH, says).because


def test_a_direction_names_the_seeds_that_it_lacks(two_rows):
    verdict = two_rows(LOW[:3], HIGH[:3])
    assert verdict.more_seeds == 3
    assert "worse on 3 of 3 seeds" in verdict.because


def test_a_part_of_the_runs_cannot_tell(loaded):
    run = loaded({"normalizer.bias": None})
    verdict = read_claim("sigmoid_bias").verdict(Evidence([run]))
    assert verdict.word == "cannot tell"
    assert verdict.text == "cannot tell"


def test_a_direction_takes_a_metric_that_ranks_and_rows(two_rows):
    with pytest.raises(RequestError, match="steps does not rank"):
        two_rows(LOW, HIGH, metric="steps")
    with pytest.raises(ValueError, match="says must be better or equal, got worse"):
        Direction("test_mse", "model=a", "model=b", "worse", 0.1)

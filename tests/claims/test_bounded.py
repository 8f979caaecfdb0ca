"""A number is within a bound or not, on values whose truth is known."""

import numpy as np
import pytest
from scipy.stats import binomtest

from attnexp.claims.bounded import Bounded
from attnexp.claims.evidence import Evidence, Point
from attnexp.runs.probed import LEARNED, Probed, write_probed


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
    shared = Bounded("weight@64", at_most=0.5).decide(Evidence(points=points, tests=5))
    assert "0.2 [0.05277, 0.3472] over 6 seeds" in shared.because  # and 4.032 at 1%
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

"""Claims of several parts, and bounds."""

import numpy as np
import pytest

from attnexp.claims.bounded import Bounded
from attnexp.claims.decision import AllOf, Bound
from attnexp.claims.evidence import Evidence, Point


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


@pytest.mark.parametrize("both", [(None, None), (1, 2)])
def test_one_bound_is_given(both):
    with pytest.raises(ValueError, match="give at_most or at_least, got {} and {}".format(*both)):
        Bound(*both)


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

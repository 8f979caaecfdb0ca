"""Which of two rows is better, on rows whose truth is known."""

import pytest

from attnexp.claims.claim import read_claim
from attnexp.claims.direction import Direction
from attnexp.claims.evidence import Evidence
from attnexp.core.errors import RequestError


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
LEVEL, SKEWED = [0.25] * 6, [0.25 - 1 / 64] * 5 + [0.25 + 5 / 64]
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
        (LEVEL, SKEWED, "equal", "cannot tell"),  # of one mean, and outside the margin on one side
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
    assert "over 3 seeds: too few seeds, better on 3" in verdict.because


@pytest.mark.parametrize(
    ("start", "word", "lacking"),
    [(20, "cannot tell", 6), (7, "cannot tell", 5), (1, "reproduced", None)],
)
def test_rows_are_compared_on_the_seeds_that_both_have(loaded, start, word, lacking):
    """Two rows of eight seeds, of which the second is worse by 1 at each seed that they share."""
    runs = [
        loaded(
            {"seed": seed},
            choices={"model": model},
            metrics={"test_mse": value + seed % 3 / 10},
            units={"test_mse": "y^2"},
        )
        for model, seeds in (("a", range(8)), ("b", range(start, start + 8)))
        for seed in seeds
        for value in [9.0 if (model, seed) == ("a", 0) else float(model == "b")]
    ]
    direction = Direction("test_mse", "model=a", "model=b", "better", 0.05)
    verdict = direction.decide(Evidence(runs))
    assert verdict.word == word
    if lacking is not None:
        assert verdict.more_seeds == lacking


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


def test_a_row_is_not_compared_with_itself(loaded):
    runs = [loaded({"seed": seed}, choices={"model": "a", "data": "d"}) for seed in range(6)]
    decision = Direction("test_mse", "model=a", "data=d", "equal", 0.05)
    with pytest.raises(RequestError, match=r"^model=a and data=d name the same runs$"):
        decision.decide(Evidence(runs))


def test_a_margin_is_not_negative():
    with pytest.raises(ValueError, match="equal_within must be at least 0, got -1"):
        Direction("test_mse", "model=a", "model=b", "equal", -1.0)

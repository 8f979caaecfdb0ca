"""Which row has more seeds that learn, on rows of two modes."""

import pytest

from attnexp.claims.escaped import Escaped
from attnexp.claims.evidence import Evidence
from attnexp.runs import files


@pytest.fixture
def two_modes(loaded):
    """Runs of two rows: seeds learn at a step of their own, and below zero forget it at the end."""

    def write(first, second):
        runs = []
        for model, row in (("a", first), ("b", second)):
            for seed, step in enumerate(row):
                metrics = {"token_accuracy": 1.0 if (step or 0) > 0 else 0.2}
                run = loaded({"seed": seed}, choices={"model": model}, metrics=metrics)
                steps = [100, 200, 300]
                accuracy = [1.0 if step is not None and at >= abs(step) else 0.2 for at in steps]
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
    verdict = two_modes([100, 200, 300, None, -100], STUCK)
    assert verdict.because == (
        "3 of 5 seeds with model=a have escaped and 0 of 6 seeds with model=b: one-sided p = 0.061 "
        "by Fisher's exact test"
    )
    assert dict(verdict.shown) == {
        "step of escape, model=a": "100 to 300, median 200, of 3 seeds",
        "step of escape, model=b": "skip",
        "last pass, model=a": "token_accuracy +0.16",  # one of five seeds learns in the last pass
        "last pass, model=b": "token_accuracy +0",
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


def test_a_metric_that_is_not_validated_has_no_steps(loaded):
    runs = [
        loaded({"seed": seed}, choices={"model": model}, metrics={"gold_mass_mean": share})
        for model, share in (("a", 0.9), ("b", 0.1))
        for seed in range(6)
    ]
    for run in runs:
        files.write_rows(run.folder / files.METRICS, [{"epoch": 1, "step": 9, "train_loss": 0.5}])
    verdict = Escaped("gold_mass_mean", "model=a", "model=b", 0.5, at_least=0.5).decide(
        Evidence(runs)
    )
    assert verdict.word == "reproduced"
    assert {text for _, text in verdict.shown} == {"skip"}

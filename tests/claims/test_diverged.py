"""Runs that diverged have the worst value in each decision, as in cards."""

import pytest
from cards.example import row, trial

from attnexp.cards.judge import verdicts
from attnexp.claims.bounded import Bounded
from attnexp.claims.direction import Direction
from attnexp.claims.escaped import Escaped
from attnexp.claims.evidence import Evidence
from attnexp.core.errors import RequestError

SHARE = {"units": {"exact_match": "share"}, "better": {"exact_match": "higher"}}
LOSS = {"better": {"test_loss": "lower"}}


@pytest.fixture
def evidence(loaded):
    """Evidence of two models by their values at seeds 1, 2, ...; None is a run that diverged."""

    def write(metric: str, first, second) -> Evidence:
        declared = SHARE if metric == "exact_match" else LOSS
        runs = []
        for model, values in (("a", first), ("b", second)):
            for seed, value in enumerate(values, 1):
                ended = (
                    {"status": "failed", "error": "TrainingDivergedError: the loss", "metrics": {}}
                    if value is None
                    else {"metrics": {metric: value}, **declared}
                )
                runs.append(loaded({"seed": seed}, choices={"model": model}, **ended))
        return Evidence(runs)

    return write


GOOD, LOST = [0.97, 0.98, 0.99, 0.97, 0.98, 0.96], [None] * 6


@pytest.mark.parametrize(
    ("first", "second", "word"),
    [
        (GOOD, LOST, "reproduced"),
        (LOST, GOOD, "not reproduced"),
        (LOST[:3] + GOOD[3:], GOOD, "cannot tell"),
        (GOOD, [0.01, 0.02, None, 0.0, 0.01, None], "reproduced"),
    ],
)
def test_a_direction_counts_them_as_worst(evidence, first, second, word):
    decision = Direction("exact_match", "model=a", "model=b", "better", 0.01)
    assert decision.decide(evidence("exact_match", first, second)).word == word


def test_a_claim_and_a_card_say_the_same_of_a_row_that_diverged(evidence):
    decision = Direction("exact_match", "model=a", "model=b", "better", 0.01)
    of_claim = decision.decide(evidence("exact_match", GOOD, LOST))
    lost = row("b", diverged=[1, 2, 3, 4, 5, 6])
    (of_card,) = verdicts(trial(row("a", *GOOD), lost))
    assert (of_claim.word, of_card.word) == ("reproduced", "better")
    because = "6 of 6 and 0 of 6 seeds learned, p = 0.0022"
    assert because in of_claim.because
    assert of_card.because == because


def test_runs_that_all_diverged_are_named(evidence):
    claim = evidence("exact_match", LOST, LOST)
    with pytest.raises(RequestError, match=r"^all 12 runs diverged: none has exact_match$"):
        Direction("exact_match", "model=a", "model=b", "better", 0.01).decide(claim)


@pytest.mark.parametrize("lost", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("bound", [{"at_most": 2.4}, {"at_most": 100.0}, {"at_least": 1.0}])
def test_no_bound_on_a_loss_is_shown_by_runs_that_diverged(evidence, lost, bound):
    values = [None] * lost + [2.39, 2.38, 2.37, 2.39, 2.38, 2.39][lost:]
    verdict = Bounded("test_loss", "model=a", **bound).decide(evidence("test_loss", values, []))
    assert verdict.word == "cannot tell"
    assert verdict.because == (
        f"test_loss where model=a has no worst value, and {lost} of 6 seeds diverged"
    )


def test_a_bound_on_a_share_has_its_worst_value(evidence):
    values = [None, None, *GOOD[:4]]
    found = evidence("exact_match", values, [])
    verdict = Bounded("exact_match", "model=a", at_least=0.9).decide(found)
    assert verdict.word == "cannot tell"
    assert (
        Bounded("exact_match", "model=a", at_least=0.9)
        .decide(evidence("exact_match", GOOD, []))
        .word
        == "reproduced"
    )


@pytest.mark.parametrize(
    ("metric", "bound", "values"),
    [
        ("test_loss", {"at_most": 2.4}, [1.0, 2.3, 2.2, 1.5, 1.2, 1.1]),
        ("exact_match", {"at_least": 0.9}, GOOD),
    ],
)
@pytest.mark.parametrize("lost", range(7))
def test_a_seed_that_diverged_has_not_escaped(evidence, metric, bound, values, lost):
    first = values[: 6 - lost] + [None] * lost
    decision = Escaped(metric, "model=a", "model=b", 0.5, **bound)
    verdict = decision.decide(evidence(metric, first, values))
    assert verdict.because.startswith(
        f"{6 - lost} of 6 seeds with model=a have escaped and 6 of 6 seeds with model=b"
    )

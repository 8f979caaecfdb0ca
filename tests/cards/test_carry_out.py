"""The loop over the trials and rows of a card, with sweeps that train nothing."""

import pytest

from attnexp.cards import carry_out
from attnexp.cards.carry_out import make_card
from attnexp.cards.lines import Effort
from attnexp.cards.rows import row_of
from attnexp.cards.trial import Level, Task, Trial
from attnexp.core.errors import RequestError, RunFailedError

EFFORT = Effort("quick", 2, 0.5, "cpu", None)
TASKS = [
    Task(name, "Can it?", Trial("a paper", "test_mse", 0.0, words=["data=sine"]), Level())
    for name in ("first", "second")
]
ROWS = [row_of(["model=gaussian"]), row_of(["model=boxcar"])]


@pytest.fixture
def ends(monkeypatch, tmp_path):
    """Lets sweeps of a model end in an error; returns the models whose sweeps began, in order."""
    monkeypatch.chdir(tmp_path)

    def by_model(errors):
        begun = []

        def run_sweep(words):
            (model,) = (word.removeprefix("model=") for word in words if word[:6] == "model=")
            begun.append(model)
            if model in errors:
                raise errors[model]

        monkeypatch.setattr(carry_out, "run_sweep", run_sweep)
        return begun

    return by_model


def test_a_row_that_took_too_long_is_not_tried_again(ends):
    begun = ends({"gaussian": RunFailedError("stopped after 0.5 minutes")})
    card = make_card(ROWS, TASKS, EFFORT)
    assert begun == ["gaussian", "boxcar", "boxcar"]
    assert (card.subject, card.level, card.seeds, card.device) == ("gaussian", "quick", 2, "cpu")
    why = [[row.why for row in trial.rows] for trial in card.trials]
    assert why == [
        ["stopped after 0.5 minutes", ""],
        ["stopped after 0.5 minutes in first", ""],
    ]
    assert [[row.lost for row in trial.rows] for trial in card.trials] == [[2, 2], [2, 2]]


def test_a_row_that_failed_otherwise_is_tried_in_each_trial(ends):
    begun = ends({"gaussian": RequestError("no such thing")})
    card = make_card(ROWS, TASKS, EFFORT)
    assert begun == ["gaussian", "boxcar"] * 2
    assert [trial.rows[0].why for trial in card.trials] == ["no such thing"] * 2


def test_an_unknown_choice_is_refused_before_anything_runs(ends):
    begun = ends({})
    with pytest.raises(RequestError, match="boxcar"):
        make_card([row_of(["model=boxcr"]), ROWS[1]], TASKS, EFFORT)
    assert begun == []

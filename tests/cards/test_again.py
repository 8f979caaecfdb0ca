"""Rows of a card made anew: which are drawn, and how they compare."""

from typing import Any

import msgspec
import pytest
from cards.example import card, row, trial

from attnexp.cards import again
from attnexp.cards.again import drawn, made_again, surroundings
from attnexp.cards.card_file import Card
from attnexp.cards.numbers import MeasuredRow
from attnexp.cards.rows import row_of
from attnexp.cards.trial import Level, SizedTrial, Trial
from attnexp.core.errors import RunFailedError
from attnexp.runs.origin.provenance import processor, versions

pytestmark = pytest.mark.check

SHARES = (0.5, 0.52, 0.48, 0.51, 0.53, 0.49)

TASK = SizedTrial(
    "reverse",
    "Can it?",
    Trial(
        *("a paper", "exact_match", 0.02, ["data=reverse"]),
        harder=["data.max_length"],
        tune=["optim.lr=0.1,0.2"],
    ),
    Level(),
)


def of(label, *values, **others):
    words = list(row_of([f"model={label}"]).words)
    return msgspec.structs.replace(row(label, *values, **others), words=words)


def whole(*rows, trials=1) -> Card:
    own = rows or (of("dot", *SHARES, tuned={"optim.lr": "0.1"}), of("cosine", lost=6))
    one = trial(*own)
    return card(*(msgspec.structs.replace(one, name=f"t{i}") for i in range(trials)))


def test_rows_are_drawn_among_all_but_those_of_costs():
    found = {tuple((t.name, r.label) for t, r in drawn(whole(trials=7), 3, s)) for s in range(60)}
    assert all(len(set(rows)) == 3 for rows in found)
    assert len(found) > 50
    assert {name for rows in found for name in rows} == {
        (f"t{i}", label) for i in range(7) for label in ("dot", "cosine")
    }
    assert len(drawn(whole(), 9, 1)) == 2
    cost = card(msgspec.structs.replace(trial(of("dot", 1.0)), words=[]))
    assert drawn(cost, 3, 1) == []


def test_another_build_is_said():
    here = msgspec.structs.replace(whole(), versions=versions(), processor=processor() or "")
    assert surroundings(here) == []
    now = versions()["attnexp"]
    other = msgspec.structs.replace(here, versions={"attnexp": "0.0.1"}, results_version=1)
    told = surroundings(other)
    assert told[0].startswith("results version was 1 and is ")
    assert f"attnexp was 0.0.1 and is {now}" in told


@pytest.fixture
def outcome(monkeypatch):
    """Compares a row with other numbers of it, and returns the words that a run is set by."""
    asked: list[Any] = []

    def of_rows(stored, found, task=TASK, tolerance=1e-4):
        def measured(task, row, effort):
            asked.append((task.trial.tune, row.words, effort.minutes))
            return MeasuredRow(found)

        monkeypatch.setattr(again, "measured", measured)
        made = whole(stored)
        one = msgspec.structs.replace(made.trials[0], name="reverse")
        result = made_again(made, (one, stored), [task], 2.0, None, tolerance)
        return str(result), asked[-1]

    return of_rows


def test_numbers_are_compared_seed_by_seed(outcome):
    stored = of("dot", *SHARES, tuned={"optim.lr": "0.1"})
    said, (tune, words, minutes) = outcome(stored, of("dot", *SHARES))
    assert said == "bit-identical"
    assert (tune, minutes) == ([], 2.0)
    assert {"model=dot", "optim.lr=0.1"} <= {*words}
    other = of("dot", *SHARES[:5], 0.5)
    assert outcome(stored, other)[0] == "different: exact_match of seed 6 by 0.01"
    assert outcome(stored, other, tolerance=0.1)[0].startswith("within tolerance: exact_match of")
    assert outcome(stored, of("dot", *SHARES[:5]))[0] == "different: exact_match of seed 6"
    assert outcome(of("dot", diverged=[1]), of("dot"))[0] == "different: the seeds that diverged"


def test_a_row_without_a_result_has_none_again(outcome):
    lost = of("dot", lost=6, why="it failed")
    assert outcome(lost, lost)[0] == "bit-identical"
    assert outcome(lost, of("dot", *SHARES))[0].startswith("different: exact_match of seed 1")
    with pytest.raises(RunFailedError, match="it failed"):
        outcome(of("dot", *SHARES), lost)
    with pytest.raises(RunFailedError, match="stopped after 5 minutes"):
        outcome(lost, of("dot", lost=6, why="stopped after 5 minutes"))


def test_values_that_a_trial_does_not_tune_and_another_metric_are_named(outcome):
    easier = of("dot", *SHARES, tuned={"data.noise": "0"})
    with pytest.raises(RunFailedError, match=r"reverse does not tune data\.noise"):
        outcome(easier, easier)


def test_a_trial_that_has_changed_cannot_be_made(outcome):
    stored = of("dot", *SHARES)
    for task in (
        msgspec_replace(TASK, words=["data=copy"]),
        SizedTrial("sort", "Can it?", TASK.trial, Level()),
    ):
        with pytest.raises(RunFailedError, match=r"^reverse .*, and the card's has data=reverse$"):
            outcome(stored, stored, task=task)


def msgspec_replace(task: SizedTrial, words: list[str]) -> SizedTrial:
    return SizedTrial(
        task.name, task.asks, msgspec.structs.replace(task.trial, words=words), task.level
    )

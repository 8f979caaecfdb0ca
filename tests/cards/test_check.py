"""A card that somebody else made: numbers that cannot be, and the rows that are made anew."""

from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cards.example import card, row, trial
from conftest import ROOT

from attnexp.cards import check
from attnexp.cards.card_file import Card, read_card
from attnexp.cards.check import CheckedCell, certainty, checked, drawn, level_of, require_possible
from attnexp.cards.numbers import NOTHING
from attnexp.cards.rows import row_of
from attnexp.cards.trial import Level, SizedTrial, Trial, read_tasks
from attnexp.core.errors import RequestError

pytestmark = pytest.mark.check

SHARES = (0.5, 0.52, 0.48, 0.51, 0.53, 0.49)
HIGHER = (0.9, 0.91, 0.92, 0.93, 0.94, 0.95)


def stem(path: Path) -> str:
    """The name of a file without its ending."""
    return path.stem


TASK = SizedTrial(
    "reverse",
    "Can it?",
    Trial(
        *("a paper", "exact_match", 0.02, ["data=reverse", "data.num_test=100"]),
        harder=["data.max_length"],
        tune=["optim.lr=0.1,0.2,0.4"],
    ),
    Level(),
)


def of(label, *values, **others):
    """A row of a score that is shipped."""
    words = list(row_of([f"model={label}"]).words)
    return msgspec.structs.replace(row(label, *values, **others), words=words)


def whole(**changes: Any) -> Card:
    rate = {"optim.lr": "0.1"}
    rows = (of("dot", *SHARES, tuned=rate), of("cosine", *HIGHER, tuned=rate))
    fields = {"words": TASK.words, "tune": TASK.trial.tune}
    made = msgspec.structs.replace(trial(*rows), **fields)
    return card(msgspec.structs.replace(made, **changes), subject="dot")


def with_row(**changes: Any) -> Card:
    found = whole()
    rows = [msgspec.structs.replace(found.trials[0].rows[0], **changes), found.trials[0].rows[1]]
    return whole(rows=rows)


def numbers(*values, first=1):
    return {"exact_match": dict(enumerate(values, first))}


SHIPPED = sorted((ROOT / "docs" / "cards").glob("*.json"))


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=pytest.mark.slow) for path in SHIPPED],
    ids=stem,
)
def test_each_card_that_ships_is_possible(path):
    """It has a trial of costs, whose columns are measured and not those of a file."""
    shipped = read_card(path)
    assert "cost" in {trial.name for trial in shipped.trials}
    require_possible(shipped, read_tasks(level_of(shipped)))


def test_a_card_as_it_is_made_is_possible():
    require_possible(whole(), [TASK])
    require_possible(with_row(tuned={"optim.lr": "0.025"}), [TASK])
    require_possible(with_row(numbers=numbers(0.5), diverged=[2, 3], lost=3), [TASK])


@pytest.mark.parametrize(
    ("forged", "why"),
    [
        (whole(name="mine"), "mine is not a trial of --quick"),
        (whole(words=["data=copy"]), "has words"),
        (whole(tune=[]), "has tune"),
        (whole(equal_within=0.5), "has equal_within 0.5, not 0.02"),
        (whole(metric="test_loss"), "has metric test_loss, not exact_match"),
        (whole(better="lower"), "has better lower, not higher"),
        (whole(unit="nats"), "has unit nats, not share"),
        (whole(examples=10**6), "has examples 1000000, not 100"),
        (whole(counted={"entropy": 1.0}), "has counted"),
        (whole(columns=["entropy"]), "has columns"),
        (msgspec.structs.replace(whole(), subject="mine"), "other rows than mine first"),
        (with_row(label="mine"), "other rows than dot first"),
        (with_row(words=["model=cosine", "normalizer=softmax"]), "are the settings of cosine"),
        (card(*whole().trials * 2, subject="dot"), "a trial is there twice"),
        (with_row(diverged=[1]), r"seeds \[1\] cannot have diverged"),
        (with_row(diverged=[7]), r"seeds \[7\] cannot have diverged"),
        (with_row(lost=600), "606 results are there of 6 seeds"),
        (with_row(tuned={}), "the tuned values are not there"),
        (with_row(words=["seed=3"]), "trials set seed"),
        (with_row(numbers=numbers(*SHARES, first=2)), "no seed 7 among 6"),
        (with_row(numbers=numbers(*SHARES[:5], 0.505)), "cannot be 0.505 of 100 examples"),
        (with_row(numbers=numbers(*SHARES[:5], 1.5)), "cannot be 1.5"),
        (with_row(numbers=numbers(*SHARES[:5], float("nan"))), "cannot be nan"),
        (with_row(numbers=numbers(*SHARES[:5])), "5 results are there of 6 seeds"),
        (with_row(tuned={"optim.lr": "0.3"}), "optim.lr=0.3 is not tried"),
        (with_row(tuned={"optim.lr": "3.2"}), "optim.lr=3.2 is not tried"),
        (with_row(tuned={"arch.dim": "8"}), "arch.dim=8 is not tried"),
    ],
)
def test_a_card_that_no_command_makes_is_refused(forged, why):
    with pytest.raises(RequestError, match="no command makes this card: .*" + why):
        require_possible(forged, [TASK])


def test_a_level_that_there_is_not_is_refused():
    assert level_of(whole()) == "quick"
    with pytest.raises(RequestError, match="'huge' is not a choice"):
        level_of(msgspec.structs.replace(whole(), level="huge"))


def many(trials=7):
    return card(*(msgspec.structs.replace(whole().trials[0], name=f"t{i}") for i in range(trials)))


def test_the_rows_that_are_made_anew_are_drawn():
    found = {tuple((t.name, r.label) for t, r in drawn(many(), seed)) for seed in range(60)}
    assert all(len(set(pair)) == 2 for pair in found)
    assert len(found) > 30
    lost = whole(rows=[of("dot", lost=6), of("cosine", *HIGHER)])
    assert [each.label for _, each in drawn(lost, 0)] == ["cosine"]
    cost = whole(words=[])
    assert drawn(cost, 0) == []


def test_the_chance_to_pass_is_that_of_a_draw_without_a_forged_row():
    """Of 14 rows 3 are forged, a fifth: by counting pairs."""
    pairs = list(combinations(range(14), 2))
    share = sum(min(pair) >= 3 for pair in pairs) / len(pairs)
    assert f"if 3 were forged, {share:.0%} of draws" in certainty(many())
    with pytest.raises(RequestError, match="none of its rows can be made anew"):
        certainty(card())
    assert certainty(many()).startswith("2 of 14 rows of trials were made anew")


@pytest.fixture
def made_anew(monkeypatch):
    """Checks the first row of a card, of which these are the numbers now."""

    def made(*values, same_build=False, **others: Any) -> CheckedCell:
        monkeypatch.setattr(check, "is_same_build", lambda _: same_build)
        monkeypatch.setattr(check, "with_products", lambda row, _: row)
        again = of("dot", *values, **others)
        monkeypatch.setattr(check, "measured", lambda *_: (again, NOTHING))
        found = whole()
        one = found.trials[0]
        return checked(found, one, one.rows[0], TASK, 1.0, None)

    return made


def test_with_the_same_build_each_number_must_be_the_same(made_anew):
    assert made_anew(*SHARES, same_build=True).fault == ""
    other = (*SHARES[:5], 0.5)
    assert made_anew(*other, same_build=True).fault == "exact_match of seed 6: not the same now"
    assert made_anew(*other).fault == ""


def test_elsewhere_the_verdict_must_be_the_same_and_the_mean_near(made_anew):
    near = tuple(value + 0.01 for value in SHARES)
    assert made_anew(*near).fault == ""
    far = tuple(value + 0.2 for value in SHARES)
    assert "its mean is outside [" in made_anew(*far).fault
    assert made_anew(*HIGHER).fault == "next to cosine the verdict is equal, not worse"
    assert made_anew(lost=6, why="an error").fault == "it has no result now: an error"

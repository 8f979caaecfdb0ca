"""The file of a card, and cards of several people."""

import json
import re
from itertools import permutations

import msgspec
import pytest
from cards.example import card, row, trial

from attnexp.cards.card_file import merged, read_card, write_card
from attnexp.core.errors import RequestError

ONE = card(trial(row("mine", 0.5, 0.6), row("scaled_dot", 0.7, 0.8)))
OTHER = card(trial(row("yours", 0.9, 0.9), row("scaled_dot", 0.1, 0.1)), subject="yours")
NAMES = ["a.json", "b.json"]


def test_cards_of_two_results_versions_are_not_compared():
    old = msgspec.structs.replace(ONE, results_version=1)
    with pytest.raises(RequestError, match=r"b\.json has results version 1, and a\.json \d"):
        merged([ONE, old], ["a.json", "b.json"])


def test_a_card_is_read_as_it_was_written(tmp_path):
    write_card(tmp_path / "card.json", ONE)
    assert read_card(tmp_path / "card.json") == ONE
    content = json.loads((tmp_path / "card.json").read_text())
    assert content["trials"][0]["rows"][0]["numbers"] == {"exact_match": {"1": 0.5, "2": 0.6}}


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff", b'{"subject": "a"}', b"[" * 9999])
def test_what_is_no_card_is_refused_in_a_sentence(tmp_path, content):
    (tmp_path / "card.json").write_bytes(content)
    with pytest.raises(RequestError, match=r"card\.json is not a card: "):
        read_card(tmp_path / "card.json")


def test_a_trial_without_rows_is_refused_by_name(tmp_path):
    write_card(tmp_path / "card.json", card(trial()))
    with pytest.raises(RequestError, match=r"is not a card: its trial .+ has no rows"):
        read_card(tmp_path / "card.json")


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"numbers": {"exact_match": {1: 1.5}}}, "its trial reverse has exact_match 1.5 at seed 1"),
        ({"numbers": {"exact_match": {3: -1}}}, "its trial reverse has exact_match -1 at seed 3"),
        ({"lost": -1}, "Expected `int` >= 0"),
        ({"seconds": -0.5}, "Expected `float` >= 0.0"),
        ({"label": "scaled_dot"}, "its trial reverse has the row scaled_dot twice"),
    ],
)
def test_a_row_that_no_card_has_is_refused(tmp_path, change, fault):
    mine = msgspec.structs.replace(row("mine", 0.5, 0.6), **change)
    write_card(tmp_path / "card.json", card(trial(mine, row("scaled_dot", 0.7, 0.8))))
    with pytest.raises(RequestError, match=rf"card\.json is not a card: {re.escape(fault)}"):
        read_card(tmp_path / "card.json")


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (card(level="huge"), "Invalid enum value 'huge'"),
        (card(seeds=0), "Expected `int` >= 1"),
        (card(trial(row("mine", 0.5), equal_within=-1.0)), "Expected `float` >= 0.0"),
        (card(trial(row("mine", 0.5)), trial(row("mine", 0.5))), "it has the trial reverse twice"),
    ],
)
def test_a_card_that_cannot_be_is_refused(tmp_path, content, fault):
    write_card(tmp_path / "card.json", content)
    with pytest.raises(RequestError, match=rf"card\.json is not a card: {re.escape(fault)}"):
        read_card(tmp_path / "card.json")


@pytest.mark.parametrize("seconds", [0.0, -1.0])
def test_a_cost_is_more_than_nothing(tmp_path, seconds):
    cost = trial(row("mine", seconds, number="s"), metric="s", unit="")
    write_card(tmp_path / "card.json", card(msgspec.structs.replace(cost, words=[])))
    with pytest.raises(RequestError, match=f"its trial reverse has s {seconds:g} at seed 1"):
        read_card(tmp_path / "card.json")


def test_a_card_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(RequestError, match=r"no\.json cannot be read"):
        read_card(tmp_path / "no.json")


def test_cards_share_their_baselines():
    (found,) = merged([ONE, OTHER], NAMES)
    assert [each.label for each in found.rows] == ["mine", "scaled_dot", "yours"]
    assert found.rows[1].numbers["exact_match"] == {1: 0.7, 2: 0.8}


def test_a_row_counts_as_in_the_card_with_the_most_seeds():
    """Whatever the order of the cards: of no, two and three seeds."""
    lost = msgspec.structs.replace(row("scaled_dot"), lost=6, why="too late")
    cards = [
        card(trial(row("mine"), lost, chance=None, unit=""), subject="mine"),
        card(trial(row("yours", 0.9, 0.9), row("scaled_dot", 0.1, 0.1)), subject="yours"),
        card(trial(row("theirs", 0.9), row("scaled_dot", 0.2, 0.2, 0.3)), subject="theirs"),
    ]
    for own in permutations(cards):
        (found,) = merged(own, ["a.json", "b.json", "c.json"])
        rows = {each.label: each.values("exact_match") for each in found.rows}
        assert rows == {
            "mine": [],
            "yours": [0.9, 0.9],
            "theirs": [0.9],
            "scaled_dot": [0.2, 0.2, 0.3],
        }
        assert (found.chance, found.unit) == (0.0, "share")


def test_subjects_of_one_name_and_other_numbers_are_told_apart():
    again = card(trial(row("mine", 0.9, 0.6), row("scaled_dot", 0.1, 0.1)))
    (found,) = merged([ONE, again, ONE], ["there/a.json", "b.json", "c.json"])
    labels = ["mine (a)", "scaled_dot", "mine (b)", "mine (c)"]
    assert [each.label for each in found.rows] == labels
    assert found.rows[2].numbers["exact_match"] == {1: 0.9, 2: 0.6}
    (found,) = merged([ONE, again], ["x/card.json", "y/card.json"])
    assert [each.label for each in found.rows][::2] == ["mine (x/card.json)", "mine (y/card.json)"]


def test_the_same_card_twice_is_one():
    (found,) = merged([ONE, ONE], NAMES)
    assert [each.label for each in found.rows] == ["mine", "scaled_dot"]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (card(level="full"), r"b\.json is of level full, and a\.json of quick"),
        (
            card(trial(row("yours", 0.9), equal_within=0.5)),
            r"reverse has equal_within 0\.02 in a\.json, and 0\.5 in b\.json",
        ),
        (card(), "no trial is in all of these cards"),
    ],
)
def test_unlike_cards_are_refused_by_name(other, message):
    with pytest.raises(RequestError, match=message):
        merged([ONE, other], NAMES)

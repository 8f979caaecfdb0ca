"""Where a card is written: no trial of the card that is there is lost."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from cards.example import card, row, trial

from attnexp.cards.card_file import read_card, write_card
from attnexp.cards.card_place import INTO, OUTPUT, CardPlace
from attnexp.core.errors import RequestError, RunFailedError

ROWS = [("mine", ("model=mine",)), ("scaled_dot", ("model=scaled_dot",))]


def with_trials(*names, value=0.5, **others):
    whole = trial(row("mine", value), row("scaled_dot", 0.7))
    return card(*(msgspec.structs.replace(whole, name=name) for name in names), **others)


def page(whole):
    return " ".join(each.name for each in whole.trials).encode()


@pytest.fixture
def place(tmp_path):
    return CardPlace(tmp_path / "new" / "a.json", OUTPUT)


def test_eight_at_once_lose_nothing_and_leave_no_lock(place):
    names = [f"t{i}" for i in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: place.add(with_trials(name), page), names))
    there = read_card(place.path)
    assert sorted(each.name for each in there.trials) == names
    assert place.page.read_bytes() == page(there)
    assert sorted(path.name for path in place.path.parent.iterdir()) == ["a.html", "a.json"]


def test_a_trial_that_is_there_is_measured_anew_in_its_place(place):
    place.add(with_trials("a", "b", date="2026-01-01"), page)
    found = place.add(with_trials("a", value=0.9), page)
    assert [each.name for each in found.trials] == ["a", "b"]
    assert [each.rows[0].values("exact_match") for each in found.trials] == [[0.9], [0.5]]
    assert (found.wall_minutes, found.date) == (3.0, "2026-11-25")
    assert place.add(with_trials(), page) == found == read_card(place.path)


@pytest.mark.parametrize("option", ["", OUTPUT, INTO])
@pytest.mark.parametrize(
    ("level", "seeds", "rows", "trials", "why"),
    [
        ("full", 6, ROWS, ["a", "b"], "has level quick, and full is asked for"),
        ("quick", 5, ROWS, ["a", "b"], "has seeds 6, and 5 are asked for"),
        ("quick", 12, ROWS, ["a"], "has seeds 6, and 12 are asked for"),
        ("quick", 6, ROWS[:1], ["a", "b"], "has the rows mine, scaled_dot, and mine are asked for"),
    ],
)
def test_another_card_is_refused_and_not_replaced(option, level, seeds, rows, trials, why):
    with pytest.raises(RequestError, match=why) as refused:
        CardPlace(Path("a.json"), option).require_addable(
            with_trials("a", "b"), level, seeds, rows, trials
        )
    assert "--into" in str(refused.value)


def test_a_card_of_another_results_version_is_not_added_to(place):
    old = msgspec.structs.replace(with_trials("a"), results_version=1)
    write_card_in(place, old)
    with pytest.raises(RequestError, match="has results version 1, and this is"):
        place.add(with_trials("a", "b"), page)
    assert read_card(place.path) == old


def test_more_seeds_of_all_trials_take_the_place_of_fewer(place):
    write_card_in(place, with_trials("a"))
    more = with_trials("a", "b", seeds=12)
    assert place.add(more, page) == more == read_card(place.path)
    with pytest.raises(RequestError, match="has seeds 12, and 6 are asked for"):
        place.add(with_trials("a"), page)
    assert read_card(place.path) == more


def write_card_in(place, whole):
    place.path.parent.mkdir()
    write_card(place.path, whole)


def test_a_page_without_its_card_is_not_replaced(place):
    write_card_in(place, with_trials("a"))
    place.path.unlink()
    place.page.write_text("mine")
    with pytest.raises(RequestError, match=r"a\.html is there without a\.json"):
        place.add(with_trials("a"), page)
    assert place.page.read_text() == "mine"


def test_a_card_that_cannot_be_written_is_named_and_stays(place, monkeypatch):
    write_card_in(place, with_trials("a"))
    before = place.path.read_bytes()

    def full(path, content):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("attnexp.cards.card_file.write_bytes", full)
    with pytest.raises(RunFailedError, match=r"a\.json cannot be written: the disk is full"):
        place.add(with_trials("b"), page)
    assert place.path.read_bytes() == before


def test_outputs_that_cannot_be_written_are_refused_and_nothing_is_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    CardPlace(Path("new") / "a.json", OUTPUT).require_writable()
    assert list(tmp_path.iterdir()) == []
    Path("outputs").touch()
    for place in (CardPlace(Path("outputs/cards/a.json")), CardPlace(Path("a.json"), INTO)):
        with pytest.raises(RequestError, match=r"outputs: .* cannot be written: Not a directory"):
            place.require_writable()
    Path("outputs").unlink()
    Path("outputs").symlink_to("nowhere")
    with pytest.raises(RequestError, match=r"outputs: .* cannot be written"):
        CardPlace(Path("outputs/cards/a.json")).require_writable()
    assert [path.name for path in tmp_path.iterdir()] == ["outputs"]

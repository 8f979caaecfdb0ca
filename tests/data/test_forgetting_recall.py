"""Recall of keys that get new values, read back with a dictionary."""

import math
import re
from typing import Any

import pytest
import torch

from attnexp.data.forgetting_recall import ForgettingRecall
from attnexp.data.text import symbols

SMALL: dict[str, Any] = {
    "num_train": 300,
    "num_validation": 20,
    "num_test": 30,
    "num_pairs": 4,
    "num_updates": 2,
    "length": 28,
    "vocab_size": 21,
}
SETS = ("train", "validation", "test")


def build(**settings: Any) -> ForgettingRecall:
    return ForgettingRecall(torch.Generator().manual_seed(0), **SMALL | settings)


@pytest.mark.parametrize("updates", [0, 2, 4])
def test_each_answer_is_what_was_told_last(updates):
    data = build(num_updates=updates)
    seen, updated = set(), set()
    for name in SETS:
        batch = getattr(data, name)
        for i in range(len(batch)):
            source = symbols(batch.keys[i], data.spec.source_vocab)
            stream = symbols(batch.queries[i], data.spec.target_vocab)
            seen.add(tuple(source))
            assert len(source) + len(stream) == 28
            pairs = list(zip(source[::2], source[1::2], strict=True))
            assert len(pairs) == 4 + updates
            assert len({value for _, value in pairs}) == len(pairs)
            assert len({key for key, _ in pairs[:4]}) == 4
            again = [key for key, _ in pairs[4:]]
            assert len(set(again)) == updates
            assert set(again) <= {key for key, _ in pairs[:4]}
            updated.update([key for key, _ in pairs[:4]].index(key) for key in again)
            last = {}
            for key, value in pairs:
                last[key] = value
            asked = [(place, symbol) for place, symbol in enumerate(stream) if symbol != "."]
            assert {key for _, key in asked} == last.keys()
            assert all(place % 2 == 0 for place, _ in asked)
            assert batch.asked[i].tolist() == [place for place, _ in asked]
            targets = symbols(batch.targets[i], data.spec.target_vocab)
            assert targets == tuple(last[key] for _, key in asked)
            gold = tuple(source[place] for place in batch.alignment[i].tolist())
            assert gold == targets
    assert len(seen) == 350
    assert updated == (set(range(4)) if updates else set())


def test_ten_symbols_are_keys_and_ten_values_and_all_are_told():
    data = build()
    vocab = data.spec.source_vocab[3:]
    assert vocab == (".", *(f"k{i}" for i in range(10)), *map(str, range(10)))
    assert len(data.train.keys.unique()) == 20


def test_the_first_pair_has_a_slot_by_the_power_law():
    """One pair has one draw: its slot has exactly the chances of the formula."""
    one = {"num_pairs": 1, "num_updates": 1, "length": 12, "vocab_size": 1000}
    data = build(**one, power=0.3, num_train=20_000)
    slots = torch.bincount(data.train.asked[:, 0] // 2, minlength=4)
    chances = [i ** (0.3 - 1) for i in range(1, 5)]
    for count, chance in zip(slots.tolist(), chances, strict=True):
        share = chance / sum(chances)
        assert abs(count - 20_000 * share) < 4 * math.sqrt(20_000 * share * (1 - share))


def test_all_sources_can_be_drawn():
    """One pair of one key and an update of it with two values: two sources."""
    few = {"num_pairs": 1, "num_updates": 1, "length": 6, "vocab_size": 6}
    data = build(**few, num_train=10, num_validation=1, num_test=1)
    rows = {tuple(row) for name in SETS for row in getattr(data, name).keys.tolist()}
    assert len(rows) == 12
    with pytest.raises(ValueError, match="make only 12 different examples"):
        build(**few, num_train=11, num_validation=1, num_test=1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_pairs": 0}, "num_pairs must be at least 1, got 0"),
        ({"num_updates": 5}, "num_updates must be within 0 to num_pairs (4), got 5"),
        ({"num_updates": -1}, "num_updates must be within 0 to num_pairs (4), got -1"),
        (
            {"length": 18},
            "length must be even and at least 20, because a pair and its slot take four symbols "
            "and an update two, got 18",
        ),
        (
            {"length": 21},
            "length must be even and at least 20, because a pair and its slot take four symbols "
            "and an update two, got 21",
        ),
        (
            {"vocab_size": 11},
            "vocab_size must be at least 12, because half of the symbols are values and an example "
            "has 6 different ones, got 11",
        ),
        ({"power": -1}, "power must be within 0 to 1, got -1"),
        ({"num_test": 0}, "num_test must be at least 1, got 0"),
    ],
)
def test_settings_that_cannot_work(settings, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        build(**settings)

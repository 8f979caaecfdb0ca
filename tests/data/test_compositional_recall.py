"""Recall with keys of two symbols, read back with a dictionary."""

import itertools
import math
import re
from collections import Counter
from typing import Any

import pytest
import torch

from attnexp.data.compositional_recall import CompositionalRecall, combinations
from attnexp.data.text import symbols

SMALL: dict[str, Any] = {
    "num_train": 300,
    "num_validation": 20,
    "num_test": 30,
    "length": 32,
    "vocab_size": 20,
}
SETS = ("train", "validation", "test")


def build(**settings: Any) -> CompositionalRecall:
    return CompositionalRecall(torch.Generator().manual_seed(0), **SMALL | settings)


@pytest.mark.parametrize(
    ("side", "settings"), [(1, {"vocab_size": 40}), (2, {}), (3, {"length": 57, "vocab_size": 40})]
)
def test_each_answer_is_the_value_of_both_symbols(side, settings):
    data = build(side=side, **settings)
    seen = set()
    for name in SETS:
        batch = getattr(data, name)
        for i in range(len(batch)):
            source = symbols(batch.keys[i], data.spec.source_vocab)
            stream = symbols(batch.queries[i], data.spec.target_vocab)
            assert len(source) + len(stream) == settings.get("length", 32)
            seen.add(tuple(source))
            told = dict(zip(zip(source[::3], source[1::3], strict=True), source[2::3], strict=True))
            firsts, seconds = ({key[part] for key in told} for part in (0, 1))
            assert all(symbol[0] == "a" for symbol in firsts)
            assert all(symbol[0] == "b" for symbol in seconds)
            assert len(firsts) == len(seconds) == side
            assert told.keys() == set(itertools.product(firsts, seconds))
            assert len(set(told.values())) == side**2
            asked = [place for place, symbol in enumerate(stream) if symbol[0] == "b"]
            keys = [(stream[place - 1], stream[place]) for place in asked]
            assert sorted(keys) == sorted(told)
            assert all(place % 3 == 1 for place in asked)
            assert stream.count(".") == len(stream) - 2 * side**2
            assert batch.asked[i].tolist() == asked
            targets = symbols(batch.targets[i], data.spec.target_vocab)
            assert targets == tuple(told[key] for key in keys)
            gold = tuple(source[place] for place in batch.alignment[i].tolist())
            assert gold == targets
    assert len(seen) == 350


def test_six_symbols_are_first_and_six_second_ones_and_seven_values():
    data = build()
    parts = [f"{part}{i}" for part in "ab" for i in range(6)]
    assert data.spec.source_vocab[3:] == (".", *parts, *map(str, range(7)))
    assert len(data.train.keys.unique()) == 19


def test_every_order_of_the_keys_is_as_frequent():
    """Of four keys in an order there are 24; a value at a place is one of seven."""
    data = build(num_train=6_000)
    rows = data.train.keys.view(len(data.train), 4, 3)
    orders = Counter(
        tuple(sorted(range(4), key=[tuple(key[:2]) for key in row].__getitem__))
        for row in rows.tolist()
    )
    assert len(orders) == 24
    for count in orders.values():
        assert abs(count - 250) < 5 * math.sqrt(250)
    for value in rows[:, 0, 2].bincount()[-7:].tolist():
        assert abs(value - 6_000 / 7) < 5 * math.sqrt(6_000 / 7)


def test_all_sources_can_be_drawn_and_no_more():
    """Two of three first symbols, two of three second ones, 4! orders and 4! values."""
    few = {"length": 24, "vocab_size": 11, "num_validation": 1, "num_test": 1}
    with pytest.raises(ValueError, match="make only 5184 different examples"):
        build(**few, num_train=5183)
    data = build(**few, num_train=5182)
    rows = {tuple(row) for name in SETS for row in getattr(data, name).keys.tolist()}
    assert len(rows) == 5184 == math.comb(3, 2) ** 2 * math.factorial(4) ** 2


@pytest.mark.parametrize(("items", "chosen"), [(5, 1), (6, 2), (7, 3), (4, 4)])
def test_combinations_are_those_of_itertools(items, chosen):
    found = combinations(torch.arange(math.comb(items, chosen)), items, chosen)
    assert sorted(map(tuple, found.tolist())) == list(itertools.combinations(range(items), chosen))


def test_the_first_key_has_a_slot_by_the_power_law():
    """One key has one draw: its slot has exactly the chances of the formula."""
    data = build(side=1, length=16, vocab_size=200, power=0.3, num_train=20_000)
    slots = torch.bincount(data.train.asked[:, 0] // 3, minlength=4)
    chances = [i ** (0.3 - 1) for i in range(1, 5)]
    for count, chance in zip(slots.tolist(), chances, strict=True):
        share = chance / sum(chances)
        assert abs(count - 20_000 * share) < 4 * math.sqrt(20_000 * share * (1 - share))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"side": 0}, "side must be at least 1, got 0"),
        (
            {"length": 23},
            "length must be at least 24, because each of 4 keys takes three symbols in the source "
            "and three in the stream, got 23",
        ),
        (
            {"vocab_size": 10},
            "vocab_size must be at least 11, because a third of the symbols are values and an "
            "example has 4 different ones, got 10",
        ),
        (
            {"side": 8, "length": 384, "vocab_size": 6_001},
            "vocab_size must be smaller: 8 of 2,000 symbols make more choices than can be counted, "
            "got 6001",
        ),
        ({"power": 2}, "power must be within 0 to 1, got 2"),
        ({"num_test": 0}, "num_test must be at least 1, got 0"),
    ],
)
def test_settings_that_cannot_work(settings, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        build(**settings)

"""Memorization: one map for all sets, and nothing of it in the sequence."""

import re
from collections import Counter

import pytest
import torch

from attnexp.data.memorization import Memorization
from attnexp.data.sequences import EOS
from attnexp.data.text import symbols

SETS = ("train", "validation", "test")
SMALL = {"num_train": 200, "num_validation": 20, "num_test": 30, "length": 8, "vocab_size": 12}


def build(seed=0, **settings):
    return Memorization(torch.Generator().manual_seed(seed), **SMALL | settings)


def told(data):
    """The map, read off all sets as pairs of the symbol before a placeholder and the answer."""
    pairs = set()
    for name in SETS:
        batch = getattr(data, name)
        for i in range(len(batch)):
            queries = symbols(batch.queries[i], data.spec.target_vocab)
            targets = symbols(batch.targets[i], data.spec.target_vocab)
            for place, target in zip(batch.asked[i].tolist(), targets, strict=True):
                assert queries[place] == "_"
                pairs.add((queries[place - 1], target))
    return pairs


def test_each_key_has_one_value_of_its_own_in_all_sets():
    pairs = told(build())
    assert {key for key, _ in pairs} == {"k0", "k1", "k2", "k3", "k4"}
    assert len({value for _, value in pairs}) == len(pairs) == 5
    assert {value for _, value in pairs} < {"0", "1", "2", "3", "4", "5"}


def test_a_sequence_holds_keys_and_placeholders_alone():
    data = build()
    for name in SETS:
        batch = getattr(data, name)
        assert (batch.keys == EOS).all()
        assert batch.keys.shape[1] == 1
        assert batch.alignment is None
        for row in batch.queries:
            held = list(symbols(row, data.spec.target_vocab))
            assert len(held) == 8
            assert held[1::2] == ["_"] * 4
            assert all(key.startswith("k") for key in held[::2])
        assert batch.asked.tolist() == [[1, 3, 5, 7]] * len(batch)


def test_a_seed_has_its_map():
    maps = [frozenset(told(build(seed))) for seed in range(5)]
    assert len(set(maps)) == 5
    assert maps[0] == told(build(num_test=60, length=10))


def test_keys_are_uniform():
    data = build(num_train=500, length=10)
    counts = Counter(data.train.queries[:, ::2].flatten().tolist())
    assert max(abs(count - 500) for count in counts.values()) < 80


def test_no_list_of_keys_is_in_two_sets_or_twice_in_one():
    rows = torch.cat([getattr(build(), name).queries for name in SETS])
    assert len(rows.unique(dim=0)) == len(rows) == 250


def test_what_is_published_has_127_keys_and_128_values():
    data = build(length=32, vocab_size=256)
    names = data.spec.target_vocab[3:]
    assert len(names) == 256
    assert sum(name.startswith("k") for name in names) == 127
    assert sum(name.isdigit() for name in names) == 128
    assert data.train.targets.shape == (200, 16)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"vocab_size": 2},
            "vocab_size must be at least 3, for a key, a value and the placeholder, got 2",
        ),
        (
            {"length": 7},
            "length must be even and at least 2, because each key is followed by a placeholder, "
            "got 7",
        ),
        (
            {"length": 0},
            "length must be even and at least 2, because each key is followed by a placeholder, "
            "got 0",
        ),
        ({"num_train": 0}, "num_train must be at least 1, got 0"),
        (
            {"num_train": 576},
            "num_train + num_validation + num_test is 626, but lengths 4 to 4 over 5 symbols make "
            "only 625 different examples: ask for fewer examples or allow more",
        ),
    ],
)
def test_settings_that_cannot_work(settings, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        build(**settings)

"""Recall of keys and values of several symbols, read back with a dictionary."""

import re
from itertools import groupby
from typing import Any

import pytest
import torch

from attnexp.data.fuzzy_recall import FuzzyRecall

SMALL: dict[str, Any] = {"num_train": 300, "num_validation": 20, "num_test": 30, "length": 60}
SETS = ("train", "validation", "test")


def build(seed=0, **settings: Any) -> FuzzyRecall:
    return FuzzyRecall(torch.Generator().manual_seed(seed), **SMALL | settings)


def pairs_of(sequence):
    """Key, value and the place of the value of each pair: runs of k-symbols and of others."""
    runs = [tuple(run) for _, run in groupby(sequence, key=lambda symbol: symbol[0] == "k")]
    place = 0
    for key, value in zip(runs[::2], runs[1::2], strict=True):
        place += len(key)
        yield key, value, place
        place += len(value)


@pytest.mark.parametrize(
    "settings",
    [{}, {"key_size": 1, "value_size": 2}, {"key_size": 2, "value_size": 1, "vocab_size": 8}],
)
def test_each_answer_is_what_the_example_told_before(settings, asked_of):
    data = build(**settings)
    most = settings.get("key_size", 3), settings.get("value_size", 3)
    sizes = set()
    for name in SETS:
        batch = getattr(data, name)
        assert batch.queries.shape[1] == 60 - 1
        for queries, due in asked_of(data, batch):
            assert due[-1][0] == len(queries) - 1
            sequence = [*queries, due[-1][1]]  # the last symbol is an answer alone
            assert 60 - 2 * sum(most) < len(sequence) <= 60
            told: dict[tuple[str, ...], tuple[str, ...]] = {}
            expected = []
            for key, value, place in pairs_of(sequence):
                assert len(set(key)) == len(key)
                assert len(set(value)) == len(value)
                sizes.add((len(key), len(value)))
                if key in told:
                    expected += [(place - 1 + i, symbol) for i, symbol in enumerate(told[key])]
                assert told.setdefault(key, value) == value
            assert due == expected
    assert sizes == {(k, v) for k in range(1, most[0] + 1) for v in range(1, most[1] + 1)}


def test_sizes_and_symbols_of_new_pairs_are_uniform(asked_of):
    """The first pair of an example always fits, so that nothing selects it."""
    data = build(num_train=6_000, length=30)
    first = []
    for sequence, _ in asked_of(data, data.train):
        runs = groupby(sequence, key=lambda symbol: symbol[0] == "k")
        first.append([tuple(run) for _, run in runs][:2])
    for part, symbols in ((0, 7), (1, 8)):
        motifs = [pair[part] for pair in first]
        for size in (1, 2, 3):
            own = [motif for motif in motifs if len(motif) == size]
            assert len(own) / 6_000 == pytest.approx(1 / 3, abs=0.03)
            for place in range(size):
                counts = [[m[place] for m in own].count(s) for s in {m[place] for m in own}]
                assert len(counts) == symbols
                assert max(counts) / len(own) == pytest.approx(1 / symbols, abs=0.04)


def test_seven_symbols_are_in_keys_and_eight_in_values():
    vocab = build().spec.target_vocab[3:]
    assert vocab == (*(f"k{i}" for i in range(7)), *map(str, range(8)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"key_size": 0}, "key_size must be at least 1, got 0"),
        ({"value_size": 0}, "value_size must be at least 1, got 0"),
        (
            {"length": 11},
            "length must be at least 12, because a pair of up to 6 symbols must come again, got 11",
        ),
        (
            {"vocab_size": 5},
            "vocab_size must give 3 symbols of keys and 3 of values, because those of a key or a "
            "value are all different, got 5, which gives 2 and 3",
        ),
        ({"num_test": 0}, "num_test must be at least 1, got 0"),
    ],
)
def test_settings_that_cannot_work(settings, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        build(**settings)

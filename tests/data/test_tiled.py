"""Repeated patterns, read symbol by symbol: what was read says the answer, and where it was."""

import re
from collections import Counter
from typing import Any

import pytest
import torch

from attnexp.data.text import symbols
from attnexp.data.tiled import Tiled

SETS = ("train", "validation", "test")
SMALL: dict[str, Any] = {
    "num_train": 300,
    "num_validation": 20,
    "num_test": 40,
    "min_period": 3,
    "max_period": 6,
    "length": 14,
    "vocab_size": 8,
}


def build(**settings: Any) -> Tiled:
    return Tiled(torch.Generator().manual_seed(0), **SMALL | settings)


def examples(data, batch):
    """Source, queries, targets and gold places as lists, without padding."""
    for i in range(len(batch)):
        count = int(batch.target_mask[i].sum())
        assert batch.asked[i, :count].tolist() == list(range(count))
        yield (
            list(symbols(batch.keys[i][batch.mask[i, 0]], data.spec.source_vocab)),
            list(symbols(batch.queries[i][batch.queries[i] != 0], data.spec.target_vocab)),
            list(symbols(batch.targets[i][batch.target_mask[i]], data.spec.target_vocab)),
            batch.alignment[i, :count].tolist(),
        )
        assert (batch.alignment[i, count:] == -1).all()


@pytest.mark.parametrize("name", SETS)
def test_each_answer_followed_the_same_symbol_before(name):
    data = build()
    for source, queries, target, gold in examples(data, getattr(data, name)):
        read = list(source)
        for query, answer, place in zip(queries, target, gold, strict=True):
            previous = max(i for i, symbol in enumerate(read) if symbol == query)
            read.append(query)
            assert answer == read[previous + 1]
            assert place == (previous + 1 if previous + 1 < len(source) else -1)
        assert len(read) + 1 == 14
        assert len(set(source)) == len(source)
        assert [*source, *queries, target[-1]] == (source * 5)[:14]


def test_periods_come_in_equal_shares():
    data = build()
    found = Counter(len(source) for source, *_ in examples(data, data.train))
    assert sorted(found) == [3, 4, 5, 6]
    assert all(count == pytest.approx(75, abs=8) for count in found.values())


def test_symbols_are_uniform():
    data = build(num_train=4_000, min_period=6)
    counts = Counter(symbol for source, *_ in examples(data, data.train) for symbol in source)
    assert sorted(counts) == ["0", "1", "2", "3", "4", "5", "6", "7"]
    assert all(count / 24_000 == pytest.approx(1 / 8, abs=0.01) for count in counts.values())


def test_the_test_set_may_have_other_lengths():
    data = build(test_lengths=[56, 28])
    test = list(examples(data, data.test))
    assert Counter(len(source) + len(queries) + 1 for source, queries, *_ in test) == {
        28: 20,
        56: 20,
    }
    assert (data.spec.max_source, data.spec.test_max_source) == (6, 6)
    assert (data.spec.max_target, data.spec.test_max_target) == (10, 52)


def test_no_pattern_comes_twice():
    data = build(num_train=20, num_validation=2, num_test=2, **FOUR_SYMBOLS)
    rows = {tuple(source) for name in SETS for source, *_ in examples(data, getattr(data, name))}
    assert len(rows) == 24


FOUR_SYMBOLS = {"vocab_size": 4, "min_period": 3, "max_period": 3}


def test_chance_is_a_guess_of_the_symbols_of_the_example():
    data = build(length=9, test_lengths=[8], num_test=40)
    # periods 3, 4, 5, 6 have 4, 3, 2, 1 answers at length 8
    exact = (3**-4 + 4**-3 + 5**-2 + 6**-1) / 4
    token = (4 / 3 + 3 / 4 + 2 / 5 + 1 / 6) / 10
    assert data.chance == pytest.approx({"exact_match": exact, "token_accuracy": token})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_period": 0}, "min_period must be at least 1, got 0"),
        (
            {"min_period": 7},
            "min_period must be at most max_period, got min_period 7 and max_period 6",
        ),
        (
            {"vocab_size": 5},
            "vocab_size must be at least max_period (6), because the symbols of a pattern are all "
            "different, got 5",
        ),
        (
            {"length": 7},
            "lengths must be at least 8, because the first answer comes after 7 symbols, got 7",
        ),
        (
            {"test_lengths": [28, 7]},
            "lengths must be at least 8, because the first answer comes after 7 symbols, got 7",
        ),
        ({"test_lengths": []}, "test_lengths must name at least one length, got none"),
        (
            FOUR_SYMBOLS,
            "num_train + num_validation + num_test is 360, but patterns of 3 to 3 of 4 symbols "
            "make only 24 different examples: ask for fewer examples or allow more",
        ),
    ],
)
def test_settings_that_cannot_work(settings, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        build(**settings)

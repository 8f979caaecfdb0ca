"""The symbol a few places back, looked up in the whole sequence."""

import re
from collections import Counter
from typing import Any

import pytest
import torch

from attnexp.data.nback import NBack
from attnexp.data.text import symbols

SETS = ("train", "validation", "test")
SMALL: dict[str, Any] = {
    "num_train": 300,
    "num_validation": 20,
    "num_test": 30,
    "min_length": 9,
    "max_length": 12,
    "num_answers": 4,
    "vocab_size": 7,
}


def build(**settings: Any) -> NBack:
    return NBack(torch.Generator().manual_seed(0), **SMALL | settings)


def examples(data, batch):
    """Source, queries, targets and gold places as lists, without padding."""
    for i in range(len(batch)):
        assert batch.asked[i].tolist() == list(range(batch.queries.shape[1]))
        yield (
            list(symbols(batch.keys[i][batch.mask[i, 0]], data.spec.source_vocab)),
            list(symbols(batch.queries[i], data.spec.target_vocab)),
            list(symbols(batch.targets[i], data.spec.target_vocab)),
            batch.alignment[i].tolist(),
        )


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_each_answer_is_the_symbol_so_many_places_back(steps):
    data, lengths = build(steps=steps), set()
    for name in SETS:
        for source, queries, target, gold in examples(data, getattr(data, name)):
            whole = source + queries
            assert len(queries) == len(target) == 4
            for answer in range(4):
                back = len(source) + answer - steps
                assert target[answer] == whole[back]
                assert gold[answer] == (back if back < len(source) else -1)
            lengths.add(len(whole))
    assert lengths == {9, 10, 11, 12}


def test_symbols_are_uniform():
    data = build(num_train=4_000)
    counts = Counter(symbol for source, *_ in examples(data, data.train) for symbol in source)
    total = sum(counts.values())
    assert sorted(counts) == ["0", "1", "2", "3", "4", "5", "6"]
    assert all(count / total == pytest.approx(1 / 7, abs=0.01) for count in counts.values())


def test_the_test_set_may_have_other_lengths():
    data = build(test_lengths=[40, 20])
    found = Counter(len(source) + 4 for source, *_ in examples(data, data.test))
    assert found == {20: 15, 40: 15}
    assert (data.spec.max_source, data.spec.test_max_source) == (8, 36)


def test_no_sequence_comes_twice():
    data = build(num_train=50, num_validation=6, num_test=8, **TWO_SYMBOLS)
    rows = {
        tuple(source + queries)
        for name in SETS
        for source, queries, *_ in examples(data, getattr(data, name))
    }
    assert len(rows) == 64


TWO_SYMBOLS = {"vocab_size": 2, "min_length": 6, "max_length": 6}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 0}, "steps must be at least 1, got 0"),
        ({"num_answers": 0}, "num_answers must be at least 1, got 0"),
        (
            {"test_lengths": [5, 20]},
            "lengths must be at least 6, because 4 symbols have answers and 2 come first, got 5",
        ),
        (
            TWO_SYMBOLS,
            "num_train + num_validation + num_test is 350, but lengths 6 to 6 over 2 symbols make "
            "only 64 different examples: ask for fewer examples or allow more",
        ),
    ],
)
def test_settings_that_cannot_work(settings, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        build(**settings)

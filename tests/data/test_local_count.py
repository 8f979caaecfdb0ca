"""Counting in runs, with groupby and a loop as oracles."""

import re
from collections import Counter
from itertools import groupby
from typing import Any

import pytest
import torch

from attnexp.data.local_count import LocalCount
from attnexp.data.text import symbols

SETS = ("train", "validation", "test")
SMALL: dict[str, Any] = {
    "num_train": 300,
    "num_validation": 20,
    "num_test": 30,
    "min_length": 14,
    "max_length": 17,
    "max_repeats": 6,
    "num_answers": 5,
    "vocab_size": 4,
}


def build(**settings: Any) -> LocalCount:
    return LocalCount(torch.Generator().manual_seed(0), **SMALL | settings)


def examples(data, batch):
    """The whole sequence, the number of symbols in its source, and the targets."""
    for i in range(len(batch)):
        assert batch.asked[i].tolist() == list(range(batch.queries.shape[1]))
        source = list(symbols(batch.keys[i][batch.mask[i, 0]], data.spec.source_vocab))
        queries = list(symbols(batch.queries[i], data.spec.target_vocab))
        target = list(symbols(batch.targets[i], data.spec.target_vocab))
        yield source + queries, len(source), target


def test_each_answer_counts_the_equal_symbols_right_in_front():
    data, lengths = build(), set()
    for name in SETS:
        for sequence, told, target in examples(data, getattr(data, name)):
            assert len(target) == len(sequence) - told == 5
            for answer, count in enumerate(target):
                place = told + answer
                before = 0
                while before < place and sequence[place - before - 1] == sequence[place]:
                    before += 1
                assert count == str(before)
            lengths.add(len(sequence))
    assert lengths == {14, 15, 16, 17}
    assert data.train.alignment is None


def test_runs_have_2_to_the_most_repeats_and_uniform_symbols():
    data = build(num_train=3_000, min_length=30, max_length=30)
    first: Counter[int] = Counter()
    change: Counter[tuple[str, str]] = Counter()
    for sequence, *_ in examples(data, data.train):
        runs = [(symbol, len(list(run))) for symbol, run in groupby(sequence)]
        assert all(2 <= count <= 6 for _, count in runs[:-1])
        assert 1 <= runs[-1][1] <= 6
        first[runs[0][1]] += 1
        change[runs[0][0], runs[1][0]] += 1
    assert sorted(first) == [2, 3, 4, 5, 6]
    assert all(count / 3_000 == pytest.approx(1 / 5, abs=0.03) for count in first.values())
    assert len(change) == 4 * 3
    assert all(count / 3_000 == pytest.approx(1 / 12, abs=0.02) for count in change.values())


def test_the_test_set_may_have_other_lengths():
    data = build(test_lengths=[60, 40])
    found = Counter(len(sequence) for sequence, *_ in examples(data, data.test))
    assert found == {40: 15, 60: 15}
    assert (data.spec.max_source, data.spec.test_max_source) == (12, 55)


def test_no_sequence_comes_twice():
    """Two symbols and runs of 2 or 3 make four sequences of length 3."""
    data = build(num_train=2, num_validation=1, num_test=1, **FOUR_SEQUENCES)
    rows = {
        "".join(sequence) for name in SETS for sequence, *_ in examples(data, getattr(data, name))
    }
    assert rows == {"s0s0s0", "s0s0s1", "s1s1s0", "s1s1s1"}


FOUR_SEQUENCES = {
    "min_length": 3,
    "max_length": 3,
    "max_repeats": 3,
    "num_answers": 1,
    "vocab_size": 2,
}


def test_training_and_test_share_no_sequence_of_a_length_that_both_have():
    data = build(num_train=2, num_validation=1, num_test=1, test_lengths=[3], **FOUR_SEQUENCES)
    rows = ["".join(row) for name in SETS for row, *_ in examples(data, getattr(data, name))]
    assert len(set(rows)) == 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_repeats": 1}, "max_repeats must be at least 2, got 1"),
        ({"vocab_size": 1}, "vocab_size must be at least 2, got 1"),
        ({"num_answers": 0}, "num_answers must be at least 1, got 0"),
        ({"num_test": 0}, "num_test must be at least 1, got 0"),
        ({"test_lengths": [5]}, "lengths must be above num_answers (5), got 5"),
        (
            {**FOUR_SEQUENCES, "num_train": 3, "num_validation": 1, "num_test": 1},
            "5 different sequences of length 3 were not found in 100 draws of each: ask for fewer "
            "examples or allow more",
        ),
    ],
)
def test_settings_that_cannot_work(settings, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        build(**settings)

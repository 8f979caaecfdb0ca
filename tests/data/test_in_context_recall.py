"""In-context recall, read back with a dictionary, and the parts that its relatives share."""

import re
from collections import Counter
from typing import Any

import pytest
import torch

from attnexp.data.in_context_recall import InContextRecall
from attnexp.data.repeated_pairs import first_places
from attnexp.data.sequences import EOS

SMALL: dict[str, Any] = {"num_train": 300, "num_validation": 20, "num_test": 30, "length": 24}
SETS = ("train", "validation", "test")


def build(seed=0, **settings: Any) -> InContextRecall:
    return InContextRecall(torch.Generator().manual_seed(seed), **SMALL | settings)


def test_each_answer_is_what_the_example_told_before(asked_of):
    data = build()
    for name in SETS:
        for sequence, due in asked_of(data, getattr(data, name)):
            assert len(sequence) == 24 - 1
            told: dict[str, str] = {}
            expected = []
            for place in range(0, len(sequence), 2):
                key = sequence[place]
                assert key.startswith("k")
                if key in told:
                    expected.append((place, told[key]))
                if place + 1 < len(sequence):
                    value = sequence[place + 1]
                    assert value.isdigit()
                    assert told.setdefault(key, value) == value
            assert due == expected
            assert due[-1][0] == len(sequence) - 1


def test_the_source_is_empty_and_nothing_is_aligned():
    data = build()
    assert (data.train.keys == EOS).all()
    assert data.train.keys.shape == (300, 1)
    assert data.train.alignment is None


def test_half_the_vocabulary_are_keys_and_half_values():
    vocab = build(vocab_size=6).spec.target_vocab
    assert vocab[3:] == ("k0", "k1", "k2", "0", "1", "2")
    assert build(vocab_size=5).spec.target_vocab[3:] == ("k0", "k1", "0", "1", "2")


def test_keys_and_the_values_of_new_keys_are_uniform(asked_of):
    data = build(num_train=4_000, vocab_size=8)
    keys: Counter[str] = Counter()
    values: Counter[str] = Counter()
    for sequence, _ in asked_of(data, data.train):
        keys.update(sequence[:-1:2])
        values.update(dict(zip(sequence[::2], sequence[1::2], strict=False)).values())
    for counts in (keys, values):
        assert len(counts) == 4
        total = sum(counts.values())
        assert all(count / total == pytest.approx(1 / 4, abs=0.02) for count in counts.values())


def test_the_last_key_is_any_of_the_different_ones_before_it(asked_of):
    """Of keys a b b the last is a or b alike, although b was told twice."""
    data = build(num_train=4_000, length=8, vocab_size=40)
    last = [
        sequence[-1] == sequence[0]
        for sequence, _ in asked_of(data, data.train)
        if sequence[0] != sequence[2] == sequence[4]
    ]
    assert len(last) > 100
    assert sum(last) / len(last) == pytest.approx(1 / 2, abs=0.15)


def test_no_example_comes_twice():
    """Two keys and two values make 20 examples of three pairs, so that draws repeat."""
    data = build(num_train=8, num_validation=2, num_test=2, length=6, vocab_size=4)
    rows = torch.cat([getattr(data, name).queries for name in SETS])
    answers = torch.cat([getattr(data, name).targets[:, :1] for name in SETS])
    assert len(torch.cat([rows, answers], dim=1).unique(dim=0)) == 12


def test_first_places_by_hand():
    codes = torch.tensor([[7, 2, 7, 2, 7], [1, 2, 3, 4, 4], [0, 0, 0, 0, 0]])
    expected = [[0, 1, 0, 1, 0], [0, 1, 2, 3, 3], [0, 0, 0, 0, 0]]
    assert first_places(codes).tolist() == expected


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"length": 9},
            "length must be even and at least 4, because pairs of two symbols are stated and told "
            "again, got 9",
        ),
        (
            {"length": 2},
            "length must be even and at least 4, because pairs of two symbols are stated and told "
            "again, got 2",
        ),
        (
            {"vocab_size": 1},
            "vocab_size must be at least 2, because half are keys and half values, got 1",
        ),
        ({"num_train": 0}, "num_train must be at least 1, got 0"),
        (
            {"length": 4, "vocab_size": 4},
            "num_train + num_validation + num_test is 350, but 350 draws found no example beyond "
            "4 different ones: ask for fewer examples or allow more",
        ),
    ],
)
def test_settings_that_cannot_work(settings, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        build(**settings)

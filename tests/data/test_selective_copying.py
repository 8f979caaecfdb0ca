"""Selective copying: the symbols among blanks, their order and their places."""

import re
from collections import Counter

import pytest
import torch

from attnexp.data.selective_copying import SelectiveCopying
from attnexp.data.text import symbols

SETS = ("train", "validation", "test")
SMALL = {
    "num_train": 200,
    "num_validation": 20,
    "num_test": 30,
    "num_symbols": 3,
    "length": 12,
    "vocab_size": 9,
}


def build(**settings):
    return SelectiveCopying(torch.Generator().manual_seed(0), **SMALL | settings)


def examples(data, batch):
    """Source, queries, and the place, target and gold of each answer."""
    for i in range(len(batch)):
        yield (
            list(symbols(batch.keys[i], data.spec.source_vocab)),
            list(symbols(batch.queries[i], data.spec.target_vocab)),
            batch.asked[i].tolist(),
            list(symbols(batch.targets[i], data.spec.target_vocab)),
            batch.alignment[i].tolist(),
        )


def test_the_answers_are_the_symbols_that_are_not_blank_in_order():
    data = build()
    copied = set()
    for name in SETS:
        for source, queries, asked, target, gold in examples(data, getattr(data, name)):
            found = [(place, symbol) for place, symbol in enumerate(source) if symbol != "."]
            assert [symbol for _, symbol in found] == target
            assert [place for place, _ in found] == gold
            assert len(source) + len(queries) == 12
            assert queries == ["|", ".", ".", "."]
            assert asked == [1, 2, 3]
            copied.update(target)
    assert copied == {"0", "1", "2", "3", "4", "5", "6"}


def test_no_string_to_copy_is_in_two_sets_or_twice_in_one():
    data = build(num_train=290)
    rows = torch.cat([getattr(data, name).targets for name in SETS])
    assert len(rows.unique(dim=0)) == len(rows) == 340


def test_every_choice_of_places_is_equally_likely():
    """Two symbols at four places have 4 * 3 / 2 = 6 choices, each with 1/6 of 6,000 draws."""
    data = build(num_symbols=2, length=7, vocab_size=102, num_train=6_000)
    counts = Counter(tuple(gold) for *_, gold in examples(data, data.train))
    assert len(counts) == 6
    assert max(abs(count - 1_000) for count in counts.values()) < 120


def test_what_is_published_has_256_symbols_of_16():
    data = build(num_symbols=16, length=256, vocab_size=16)
    assert data.train.keys.shape[1] == 256 - 16 - 1
    assert data.train.queries.shape[1] == 1 + 16
    assert len(data.spec.target_vocab) == len(("<pad>", "<bos>", "<eos>")) + 16


def test_without_blanks_it_is_copying():
    data = build(length=7)
    assert torch.equal(data.train.keys, data.train.targets)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_symbols": 0}, "num_symbols must be at least 1, got 0"),
        (
            {"vocab_size": 2},
            "vocab_size must be at least 3, because a blank and a separator are among the "
            "symbols, got 2",
        ),
        (
            {"length": 6},
            "length must be at least 7, because 3 symbols to copy take two places each and the "
            "separator takes one, got 6",
        ),
        ({"num_test": 0}, "num_test must be at least 1, got 0"),
        (
            {"num_train": 294},
            "num_train + num_validation + num_test is 344, but lengths 3 to 3 over 7 symbols make "
            "only 343 different examples: ask for fewer examples or allow more",
        ),
    ],
)
def test_settings_that_cannot_work(settings, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        build(**settings)

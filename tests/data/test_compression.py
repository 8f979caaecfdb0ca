"""Compression: random symbols, the symbol behind them, and one query for each."""

import re

import pytest
import torch

from attnexp.data.compression import Compression
from attnexp.data.text import symbols

SETS = ("train", "validation", "test")
SMALL = {"num_train": 200, "num_validation": 20, "num_test": 30, "length": 5, "vocab_size": 6}


def build(**settings):
    return Compression(torch.Generator().manual_seed(0), **SMALL | settings)


def test_all_symbols_before_the_last_are_due_in_order():
    data, content = build(), set()
    for name in SETS:
        batch = getattr(data, name)
        for i in range(len(batch)):
            source = list(symbols(batch.keys[i], data.spec.source_vocab))
            target = list(symbols(batch.targets[i], data.spec.target_vocab))
            assert source == [*target, "#"]
            assert list(symbols(batch.queries[i], data.spec.target_vocab)) == ["#"] * 4
            assert batch.asked[i].tolist() == [0, 1, 2, 3]
            content.update(target)
        assert batch.alignment is None
    assert content == {"0", "1", "2", "3", "4"}


def test_no_source_is_in_two_sets_or_twice_in_one():
    rows = torch.cat([getattr(build(), name).keys for name in SETS])
    assert len(rows.unique(dim=0)) == len(rows) == 250


def test_symbols_are_uniform_at_each_place():
    data = build(num_train=2_000, length=9)
    for place in range(8):
        counts = data.train.targets[:, place].bincount()[3:].tolist()
        assert len(counts) == 5
        assert max(abs(count - 400) for count in counts) < 80


def test_what_is_published_has_32_symbols_of_16():
    data = build(length=32, vocab_size=16)
    assert data.train.keys.shape[1] == 32
    assert data.train.targets.shape[1] == 31
    assert len(data.spec.source_vocab) == len(("<pad>", "<bos>", "<eos>")) + 16


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"vocab_size": 1},
            "vocab_size must be at least 2, because the compression symbol is one of the symbols, "
            "got 1",
        ),
        (
            {"length": 1},
            "length must be at least 2, because the compression symbol follows the others, got 1",
        ),
        ({"num_validation": 0}, "num_validation must be at least 1, got 0"),
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

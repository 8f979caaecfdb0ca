import math
import re
from typing import Any

import pytest
import torch

from attnexp.data.mqar import MultiQueryRecall
from attnexp.data.text import symbols

SMALL: dict[str, Any] = {
    "num_train": 300,
    "num_validation": 20,
    "num_test": 30,
    "min_pairs": 2,
    "max_pairs": 4,
    "length": 20,
    "vocab_size": 20,
}


def build(**settings: Any) -> MultiQueryRecall:
    return MultiQueryRecall(torch.Generator().manual_seed(0), **SMALL | settings)


def examples(data, batch):
    """Pairs, stream, and (place, key, value, gold) of each query, without padding."""
    for i in range(len(batch)):
        told = symbols(batch.keys[i][batch.mask[i, 0]], data.spec.source_vocab)
        stream = symbols(batch.queries[i], data.spec.target_vocab)
        stream = stream[: stream.index("<pad>")] if "<pad>" in stream else stream
        counts = batch.target_mask[i]
        due = zip(
            batch.asked[i][counts].tolist(),
            symbols(batch.targets[i][counts], data.spec.target_vocab),
            batch.alignment[i][counts].tolist(),
            strict=True,
        )
        yield told, stream, list(due)


def test_answers_by_reading_the_stream():
    data, numbers = build(), set()
    for told, stream, due in examples(data, data.train):
        keys, values = told[::2], told[1::2]
        assert len(told) + len(stream) == 20
        assert all(key.startswith("k") for key in keys)
        assert all(value.isdigit() for value in values)
        assert len(set(keys)) == len(set(values)) == len(keys)
        assert [place for place, _, _ in due] == [i for i, s in enumerate(stream) if s != "."]
        assert {stream[place] for place, _, _ in due} == set(keys)
        for place, value, gold in due:
            assert place % 2 == 0
            assert dict(zip(keys, values, strict=True))[stream[place]] == value == told[gold]
        numbers.add(len(keys))
    assert numbers == {2, 3, 4}


def test_what_is_published_has_64_symbols_of_8192():
    data = build(length=64, vocab_size=8192, min_pairs=16, max_pairs=16, num_train=4000)
    symbols_there = data.spec.source_vocab[3:]
    assert len(symbols_there) == 8192
    assert symbols_there.count(".") == 1
    assert sum(symbol.isdigit() for symbol in symbols_there) == 4096
    assert data.train.keys.shape[1] + data.train.queries.shape[1] == 64
    for told in (data.train.keys[:, ::2], data.train.keys[:, 1::2]):
        low, high = told.min(), told.max()
        assert (told.double().mean() - (low + high) / 2).abs() < 30
        assert high - low > 4000


def test_the_first_pair_is_asked_for_in_a_slot_by_the_power_law():
    """One pair has one draw: its slot has exactly the chances of the formula."""
    data = build(min_pairs=1, max_pairs=1, length=14, power=0.3, num_train=20_000, vocab_size=2000)
    slots = torch.bincount(data.train.asked[:, 0] // 2, minlength=6)
    chances = [i ** (0.3 - 1) for i in range(1, 7)]
    for count, chance in zip(slots.tolist(), chances, strict=True):
        share = chance / sum(chances)
        deviation = math.sqrt(20_000 * share * (1 - share))
        assert abs(count - 20_000 * share) < 4 * deviation


def test_earlier_pairs_have_the_first_choice_of_slots():
    data = build(min_pairs=2, max_pairs=2, length=12, power=0, num_train=20_000, vocab_size=2000)
    first = data.train.asked.gather(1, (data.train.alignment == 1).int().argmax(1, keepdim=True))
    share = (first == 0).double().mean()
    expected = 1 / sum(1 / i for i in range(1, 5))
    assert share == pytest.approx(expected, abs=4 * math.sqrt(expected / 20_000))


def test_the_test_set_may_have_other_numbers_of_pairs():
    data = build(test_min_pairs=3, test_max_pairs=5)
    pairs = {name: set(getattr(data, name).target_mask.sum(1).tolist()) for name in SETS}
    assert pairs == {"train": {2, 3, 4}, "validation": {2, 3, 4}, "test": {3, 4, 5}}
    rows = {tuple(told) for name in SETS for told, *_ in examples(data, getattr(data, name))}
    assert len(rows) == 350
    assert (data.spec.max_source, data.spec.test_max_source) == (8, 10)
    assert (data.spec.max_target, data.spec.test_max_target) == (16, 14)


SETS = ("train", "validation", "test")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_pairs": 5}, "min_pairs must be at most max_pairs, got min_pairs 5 and max_pairs 4"),
        (
            {"length": 14},
            "length must be even and at least 16, because 4 pairs and as many slots take four "
            "symbols each, got 14",
        ),
        ({"power": 2}, "power must be within 0 to 1, got 2"),
        (
            {"vocab_size": 8},
            "vocab_size must be at least 9, because an example has 4 different keys, as many "
            "values and a filler, got 8",
        ),
        (
            {"test_max_pairs": 6},
            "length must be even and at least 24, because 6 pairs and as many slots take four "
            "symbols each, got 20",
        ),
    ],
)
def test_settings_that_cannot_work(settings, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        build(**settings)

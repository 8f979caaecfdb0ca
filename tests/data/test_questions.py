"""Data of one question: what is asked, what is right, and where it is."""

import re
from collections import Counter

import pytest
import torch

from attnexp.data.first import First
from attnexp.data.maximum import Maximum
from attnexp.data.stacked_recall import StackedRecall
from attnexp.data.text import symbols
from attnexp.data.trigger import Trigger

SETS = ("train", "validation", "test")
FEW = {"num_train": 200, "num_validation": 20, "num_test": 30}


def build(kind, **settings):
    return kind(torch.Generator().manual_seed(0), **FEW | settings)


def rows(data, batch):
    """Source, queries, targets and gold of each example, without padding."""
    for i in range(len(batch)):
        counts = batch.target_mask[i]
        vocab = data.spec.target_vocab
        yield (
            list(symbols(batch.keys[i][batch.mask[i, 0]], data.spec.source_vocab)),
            list(symbols(batch.queries[i][batch.asked[i][counts]], vocab)),
            list(symbols(batch.targets[i][counts], vocab)),
            batch.alignment[i][counts].tolist(),
        )


def test_the_first_bit_is_marked_and_asked_for():
    data = build(First, min_length=9, max_length=11)
    lengths = set()
    for source, query, target, gold in rows(data, data.train):
        assert query == ["<bos>"]
        assert source[0] == f"^{target[0]}"
        assert set(source[1:]) <= {"0", "1"}
        assert gold == [0]
        lengths.add(len(source))
    assert lengths == {9, 10, 11}


def test_the_first_bit_may_be_tested_at_other_lengths():
    data = build(First, min_length=9, max_length=9, test_min_length=40, test_max_length=40)
    assert {len(source) for source, *_ in rows(data, data.test)} == {40}
    assert data.spec.max_source == 9
    assert data.spec.test_max_source == 40


@pytest.mark.parametrize("settings", [{}, {"test_items": [3, 40]}])
def test_the_largest_item_has_the_answer(settings):
    data = build(Maximum, min_items=2, max_items=6, priorities=4, classes=3, **settings)
    for name in SETS:
        for source, _, target, (gold,) in rows(data, getattr(data, name)):
            kinds = [item[0] for item in source]
            priorities = [int(item[1:]) for item in source]
            assert priorities.count(max(priorities)) == 1
            assert priorities.index(max(priorities)) == gold
            assert target == [kinds[gold]]
            assert set(kinds) <= set("abc")
    tested = {len(source) for source, *_ in rows(data, data.test)}
    assert tested == set(settings.get("test_items", range(2, 7)))


def test_the_largest_item_is_anywhere_and_of_any_size():
    data = build(Maximum, min_items=5, max_items=5, priorities=4, classes=2, num_train=6_000)
    found = list(rows(data, data.train))
    places = Counter(gold for *_, (gold,) in found)
    largest = Counter(max(int(item[1:]) for item in source) for source, *_ in found)
    assert max(abs(places[place] - 1200) for place in range(5)) < 150
    # three largest priorities in equal shares, as far as there are different sets
    assert set(largest) == {1, 2, 3}


def test_each_key_is_asked_for_its_value():
    data = build(StackedRecall, min_pairs=2, max_pairs=4, num_keys=5, num_values=6)
    numbers = Counter()
    for source, queries, targets, gold in rows(data, data.train):
        told = [re.fullmatch(r"(k[0-9])=([0-9])", pair) for pair in source]
        pairs = {match[1]: match[2] for match in told}
        assert len(pairs) == len(source)
        assert len(set(pairs.values())) == len(source)
        assert sorted(queries) == sorted(pairs)
        assert [pairs[key] for key in queries] == targets
        assert [source[place] for place in gold] == [
            f"{key}={value}" for key, value in zip(queries, targets, strict=True)
        ]
        numbers[len(source)] += 1
    assert set(numbers) == {2, 3, 4}
    orders = {tuple(gold) for *_, gold in rows(data, data.train) if len(gold) == 2}
    assert orders == {(0, 1), (1, 0)}


def test_a_trigger_asks_for_the_commonest_symbol():
    data = build(Trigger, min_length=3, max_length=6, vocab_size=4)
    first = Counter()
    for source, queries, targets, gold in rows(data, data.train):
        assert source[0] == "^"
        counts = Counter(source[1:])
        most = max(counts.values())
        answer = min(symbol for symbol, count in counts.items() if count == most)
        assert sorted(queries) == [".", "?"]
        assert dict(zip(queries, targets, strict=True)) == {"?": answer, ".": "-"}
        assert dict(zip(queries, gold, strict=True)) == {"?": -1, ".": 0}
        first[queries[0]] += 1
    assert 70 < first["?"] < 130


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (First, {"min_length": 0}, "min_length must be at least 1, got 0"),
        (First, {"min_length": 3, "max_length": 3}, "make only 8 different examples"),
        (Maximum, {"priorities": 1}, "priorities must be at least 2, got 1"),
        (Maximum, {"classes": 27}, "classes must be within 1 to 26, got 27"),
        (
            Maximum,
            {"test_items": []},
            "test_items must name at least one number of items, got none",
        ),
        (Maximum, {"test_items": [4, 0]}, "test_items must be at least 1, got 0"),
        (Maximum, {"min_items": 9, "max_items": 8}, "min_items must be at most max_items"),
        (StackedRecall, {"num_keys": 7}, r"must be at least max_pairs \(8\).*got 7 and 16"),
        (Trigger, {"vocab_size": 0}, "vocab_size must be at least 1, got 0"),
        (Trigger, {"num_test": 0}, "num_test must be at least 1, got 0"),
    ],
)
def test_bad_settings_are_refused(kind, settings, message):
    with pytest.raises(ValueError, match=message):
        build(kind, **settings)

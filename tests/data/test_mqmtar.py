"""Recall of values of several symbols, read back with a dictionary."""

import re
from collections import Counter
from typing import Any

import pytest
import torch

from attnexp.data.mqmtar import MultiTokenRecall
from attnexp.data.text import symbols

SETS = ("train", "validation", "test")
SMALL: dict[str, Any] = {
    "num_train": 300,
    "num_validation": 20,
    "num_test": 30,
    "min_length": 14,
    "max_length": 21,
    "alphabet": 9,
    "key_size": 2,
    "value_size": 3,
    "num_queries": 2,
}


def build(**settings: Any) -> MultiTokenRecall:
    return MultiTokenRecall(torch.Generator().manual_seed(0), **SMALL | settings)


def examples(data, batch):
    """Context, queries, target and gold of each example as lists, without padding and ends."""
    for i in range(len(batch)):
        source = list(symbols(batch.keys[i][batch.mask[i, 0]], data.spec.source_vocab))
        target = list(symbols(batch.targets[i][batch.target_mask[i]], data.spec.target_vocab))
        assert source.pop() == target.pop() == "<eos>"
        begin = source.index("?")
        gold = batch.alignment[i][batch.target_mask[i]].tolist()[:-1]
        yield source[:begin], source[begin:], target, gold


def told(context):
    """The values by their keys: the words around each colon, up to a space or the beginning."""
    pairs = re.findall(r"(\d+) (\d+) : (\d+) (\d+) (\d+) \.", " ".join(context))
    return [((a, b), (c, d, e)) for a, b, c, d, e in pairs]


def test_each_answer_is_the_value_behind_its_key():
    data, lengths = build(), set()
    for name in SETS:
        for context, queries, target, gold in examples(data, getattr(data, name)):
            pairs = told(context)
            assert len(pairs) == context.count(":") == int(0.8 * len(context) // 7)
            assert len(dict(pairs)) == len({value for _, value in pairs}) == len(pairs)
            assert context.count(".") == len(context) - 6 * len(pairs)
            assert queries[::3] == ["?", "?"]
            expected = [dict(pairs)[tuple(queries[place + 1 : place + 3])] for place in (0, 3)]
            assert target == [symbol for value in expected for symbol in value]
            assert target == [context[place] for place in gold]
            # the key stands in front of the colon in front of the value
            for query, place in ((0, gold[0]), (3, gold[3])):
                assert context[place - 3 : place] == [*queries[query + 1 : query + 3], ":"]
            lengths.add(len(context))
    assert lengths == set(range(14, 22))


def test_words_queries_and_spaces_are_uniform():
    data = build(num_train=6_000, min_length=16, max_length=16, key_size=1, value_size=1)
    seen: Counter[tuple[str, Any]] = Counter()
    for context, queries, _, gold in examples(data, data.train):
        assert context.count(":") == 3
        # the three pairs stand among 16 - 3 * 4 = 4 more spaces: (3 + 4 over 3) = 35 arrangements
        seen["gaps", tuple(place for place, symbol in enumerate(context) if symbol == ":")] += 1
        seen["key", queries[1]] += 1
        seen["value", context[gold[0]]] += 1
        colons = [place for place, symbol in enumerate(context) if symbol == ":"]
        seen["pair", colons.index(gold[1] - 1)] += 1
    for what, kinds in (("gaps", 35), ("key", 9), ("value", 9), ("pair", 3)):
        counts = [count for (kind, _), count in seen.items() if kind == what]
        assert len(counts) == kinds
        mean = 6_000 / kinds
        assert max(abs(count - mean) for count in counts) < 4.5 * mean**0.5


def test_what_is_published_has_up_to_eight_pairs_of_256_symbols():
    data = MultiTokenRecall(torch.Generator().manual_seed(0), 200, 10, 10)
    assert len(data.spec.source_vocab) == len(("<pad>", "<bos>", "<eos>")) + 3 + 256
    colons = {int(0.8 * length // 6) for length in range(32, 65)}
    counts = (data.train.keys == data.spec.source_vocab.index(":")).sum(dim=1)
    assert set(counts.tolist()) == colons == {4, 5, 6, 7, 8}
    assert data.spec.max_target == 4 * 2 + 1


def test_the_test_set_may_have_other_lengths():
    data = build(test_lengths=[30, 50, 30])
    found = Counter(len(context) for context, *_ in examples(data, data.test))
    assert found == {30: 15, 50: 15}
    assert (data.spec.max_source, data.spec.test_max_source) == (21 + 6 + 1, 50 + 6 + 1)
    data = build(test_min_length=22, test_max_length=23)
    assert {len(context) for context, *_ in examples(data, data.test)} == {22, 23}


def test_no_source_is_in_two_sets_or_twice_in_one():
    data = build(num_train=70, num_validation=5, num_test=6, **ONE_PAIR)
    contexts = {
        tuple(told_pair)
        for name in SETS
        for context, *_ in examples(data, getattr(data, name))
        for told_pair in [[symbol for symbol in context if symbol != "."]]
    }
    assert len(contexts) == 81


ONE_PAIR = {"key_size": 1, "value_size": 1, "min_length": 5, "max_length": 5}


def test_chance_is_one_of_the_pairs_told_for_each_query():
    """Half of the test has 2 pairs and half 5: (1/2^2 + 1/5^2) / 2."""
    assert build(test_lengths=[20, 44]).chance["exact_match"] == pytest.approx((1 / 4 + 1 / 25) / 2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"key_size": 0}, "key_size must be at least 1, got 0"),
        ({"num_queries": 0}, "num_queries must be at least 1, got 0"),
        ({"pair_share": 1.5}, "pair_share must be above 0 and at most 1, got 1.5"),
        (
            {"test_lengths": [8]},
            "pair_share * length must be at least 7, the symbols of a pair, got pair_share 0.8 and "
            "length 8",
        ),
        (
            {"alphabet": 1, "test_lengths": [21]},
            "alphabet must make 2 to 2^31 different keys and values, got 1 symbols for 2 and 3 "
            "places",
        ),
        (
            {"value_size": 4, "alphabet": 256},
            "alphabet must make 2 to 2^31 different keys and values, got 256 symbols for 2 and 4 "
            "places",
        ),
        (
            {**ONE_PAIR, "num_train": 32},
            "num_train + num_validation + num_test is 82, but lengths 5 to 5 with 9 keys and 9 "
            "values make only 81 different examples: ask for fewer examples or allow more",
        ),
        (
            {"test_lengths": [30], "test_max_length": 30},
            "give test_lengths, or test_min_length and test_max_length, and not both",
        ),
    ],
)
def test_settings_that_cannot_work(settings, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        build(**settings)

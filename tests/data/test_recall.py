import re

import pytest
import torch

from attnexp.data.recall import Recall
from attnexp.data.text import symbols

SMALL = {
    "num_train": 400,
    "num_validation": 20,
    "num_test": 30,
    "min_pairs": 2,
    "max_pairs": 5,
    "max_queries": 3,
    "num_keys": 6,
    "num_values": 4,
}


def build(**settings: int) -> Recall:
    return Recall(torch.Generator().manual_seed(0), **SMALL | settings)


def test_answers_by_reading_the_source():
    data = build()
    shapes = set()
    gold = data.train.alignment
    assert gold is not None
    for source, target, alignment in zip(data.train.keys, data.train.targets, gold, strict=True):
        told = symbols(source, data.spec.source_vocab)
        told = told[: told.index("<eos>")]
        asked = symbols(target, data.spec.target_vocab)
        asked = asked[: asked.index("<eos>")]
        pairs = (len(told) - len(asked)) // 2
        keys, values = told[: 2 * pairs : 2], told[1 : 2 * pairs : 2]
        queries = told[2 * pairs :]
        assert all(key.startswith("k") for key in keys + queries)
        assert all(value.isdigit() for value in values)
        assert len(set(keys)) == pairs
        assert len(set(queries)) == len(queries)
        assert asked == tuple(dict(zip(keys, values, strict=True))[key] for key in queries)
        places = alignment[: len(asked)].tolist()
        assert [told[place - 1] for place in places] == list(queries)
        assert [told[place] for place in places] == list(asked)
        shapes.add((pairs, len(asked)))
    assert shapes == {(n, m) for n in range(2, 6) for m in range(1, 4) if m <= n}


def test_the_test_set_may_have_other_numbers_of_pairs(examples):
    data = build(test_min_pairs=5, test_max_pairs=6)

    def pairs(batch):
        return {(len(source) - len(target)) // 2 for source, target, _ in examples(batch)}

    assert pairs(data.train) == {2, 3, 4, 5}
    assert pairs(data.test) == {5, 6}
    sets = (data.train, data.validation, data.test)
    assert len({tuple(source) for batch in sets for source, *_ in examples(batch)}) == 450
    assert (data.spec.max_source, data.spec.test_max_source) == (14, 16)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_pairs": 6}, "min_pairs must be at most max_pairs, got min_pairs 6 and max_pairs 5"),
        ({"max_queries": 0}, "max_queries must be at least 1, got 0"),
        (
            {"num_keys": 4},
            "num_keys must be at least the number of pairs, up to 5, because the keys of an "
            "example are all different, got 4",
        ),
        (
            {"test_max_pairs": 7},
            "num_keys must be at least the number of pairs, up to 7, because the keys of an "
            "example are all different, got 6",
        ),
        (
            {"max_queries": 6},
            "max_queries must be at most max_pairs (5), because no key is asked for twice, got 6",
        ),
        (
            {"max_pairs": 2, "max_queries": 1, "num_keys": 2, "num_values": 2},
            "num_train + num_validation + num_test is 450, but 2 to 2 pairs of 2 keys and 2 values "
            "make only 16 different examples: ask for fewer examples or allow more",
        ),
    ],
)
def test_settings_that_cannot_work(settings, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        build(**settings)

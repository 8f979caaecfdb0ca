import re
from typing import Any

import pytest
import torch

from attnexp.data.copy import Copy
from attnexp.data.copy_distinct import CopyDistinct
from attnexp.data.rearrangement import Rearrangement
from attnexp.data.reverse import Reverse
from attnexp.data.sort import Sort

SMALL = {
    "num_train": 200,
    "num_validation": 20,
    "num_test": 30,
    "min_length": 2,
    "max_length": 7,
    "vocab_size": 5,
}


def build(target: type[Rearrangement], seed: int = 0, **settings: Any) -> Rearrangement:
    return target(torch.Generator().manual_seed(seed), **SMALL | settings)


ORDERS = {
    Copy: lambda source: list(range(len(source))),
    Reverse: lambda source: list(range(len(source)))[::-1],
    Sort: lambda source: sorted(range(len(source)), key=lambda place: (source[place], place)),
}


@pytest.mark.parametrize("target", ORDERS)
def test_target_is_the_source_in_its_order(target, examples):
    rows = list(examples(build(target).train))
    assert len(rows) == 200
    for source, answer, places in rows:
        assert places == ORDERS[target](source)
        assert answer == [source[place] for place in places]


def test_all_draw_the_same_sources_at_one_seed():
    assert torch.equal(build(Copy).train.keys, build(Sort).train.keys)


def test_short_lengths_are_used_up_and_the_rest_goes_to_longer_ones():
    data = build(Copy, min_length=1, max_length=4, vocab_size=4, num_train=250)
    lengths = torch.cat([b.mask.sum(dim=-1) for b in (data.train, data.validation, data.test)]) - 1
    assert torch.bincount(lengths.flatten(), minlength=5).tolist() == [0, 4, 16, 64, 216]


def test_sequences_longer_than_a_code_are_distinct_too():
    data = build(Reverse, min_length=30, max_length=40, vocab_size=50)
    assert len(data.train.keys.unique(dim=0)) == len(data.train)
    assert data.train.keys.shape[1] == 41
    assert data.train.keys[:, 29].unique().numel() > 40


SETS = ("train", "validation", "test")


def lengths(batch):
    return set((batch.mask.sum(dim=-1) - 1).flatten().tolist())


@pytest.mark.parametrize(
    ("settings", "tested"),
    [
        ({"test_min_length": 8, "test_max_length": 9}, {8, 9}),
        ({"test_max_length": 9}, set(range(2, 10))),
        ({"test_min_length": 5}, {5, 6, 7}),
        ({"test_min_length": 1, "test_max_length": 3}, {1, 2, 3}),
        ({"test_lengths": [12, 9, 12]}, {9, 12}),
    ],
)
@pytest.mark.parametrize("target", [Copy, Reverse, Sort])
def test_the_test_set_may_have_other_lengths(target, settings, tested, examples):
    data = build(target, **settings)
    assert lengths(data.train) == set(range(2, 8))
    assert lengths(data.validation) <= set(range(2, 8))
    assert lengths(data.test) == tested
    assert [len(getattr(data, name)) for name in SETS] == [200, 20, 30]
    sources = [tuple(source) for name in SETS for source, *_ in examples(getattr(data, name))]
    assert len(set(sources)) == 250
    for source, answer, places in examples(data.test):
        assert answer == [source[place] for place in places]
    assert (data.spec.max_source, data.spec.test_max_source) == (8, max(tested) + 1)
    assert data.train.keys.shape[1] == 8


def test_training_and_test_share_what_there_is_of_a_length():
    """Of 16 sequences of length 2 over 4 symbols the test may have 8, and training the others."""
    short = {"min_length": 2, "max_length": 2, "vocab_size": 4, "test_min_length": 2}
    data = build(Copy, **short, num_train=9, num_validation=1, num_test=6)
    rows = torch.cat([getattr(data, name).keys for name in SETS])
    assert len(rows.unique(dim=0)) == 16
    ends = "different examples: ask for fewer examples or allow more"
    for num_test, message in (
        (7, "num_train + num_validation is 10, but {}, without those of the test, make only 9"),
        (9, "num_test is 9, but {}, half of those that training has too, make only 8"),
    ):
        sentence = re.escape(f"{message.format('lengths 2 to 2 over 4 symbols')} {ends}")
        with pytest.raises(ValueError, match=f"^{sentence}$"):
            build(Copy, **short, num_train=9, num_validation=1, num_test=num_test)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"test_max_length": 1},
            "test_min_length must be at most test_max_length, got test_min_length 2 and "
            "test_max_length 1",
        ),
        (
            {"test_lengths": [4], "test_max_length": 9},
            "give test_lengths, or test_min_length and test_max_length, and not both",
        ),
        ({"test_lengths": []}, "test_lengths must name at least one length, got none"),
        ({"test_lengths": [5, 0]}, "test_lengths must be at least 1, got 0"),
        ({"num_test": -3}, "num_test must be at least 1, got -3"),
        ({"min_length": 0}, "min_length must be at least 1, got 0"),
        (
            {"min_length": 8},
            "min_length must be at most max_length, got min_length 8 and max_length 7",
        ),
        ({"vocab_size": 0}, "vocab_size must be at least 1, got 0"),
        (
            {"vocab_size": 2},
            "num_train + num_validation + num_test is 253, but lengths 2 to 7 over 2 symbols make "
            "only 252 different examples: ask for fewer examples or allow more",
        ),
    ],
)
def test_settings_that_cannot_work(settings, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        build(Reverse, **{"num_train": 203} | settings)


def test_no_symbol_of_a_distinct_copy_comes_twice(examples):
    data = build(CopyDistinct, max_length=5, num_train=100)
    lengths = set()
    for source, answer, places in examples(data.train):
        assert answer == source
        assert places == list(range(len(source)))
        assert len(set(source)) == len(source)
        lengths.add(len(source))
    assert lengths == {2, 3, 4, 5}


def test_a_distinct_copy_needs_a_symbol_for_each_place():
    message = "vocab_size must be at least 7, the largest length, because all symbols"
    with pytest.raises(ValueError, match=message):
        build(CopyDistinct)

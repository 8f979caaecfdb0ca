"""The base of drawn sequences: each example is in one set, and what cannot be drawn is refused."""

import pytest
import torch

from attnexp.core.batch import Batch
from attnexp.data import sequences
from attnexp.data.drawn import DrawnSequences
from attnexp.data.sequences import contents, question_batch, ranges, uniform
from attnexp.data.text import symbols


class Ends(DrawnSequences):
    """The last symbol of a sequence over a and b, all of one length or of two."""

    def __init__(self, generator, sizes, low, high, test_low=None, test_high=None):
        trained, tested = ranges("length", low, high, test_low, test_high)
        super().__init__(generator, sizes, trained, tested, "ab", "ab")

    def families(self, numbers):
        return uniform(numbers, 2)

    def batch_of(self, drawn, generator) -> Batch:
        source = contents(drawn)
        last = (source != sequences.PAD).sum(dim=1) - 1
        return question_batch(source, source.gather(1, last[:, None]).squeeze(1), last)


def build(sizes, *numbers):
    return Ends(torch.Generator().manual_seed(0), sizes, *numbers)


def sources(batch, data):
    return [
        "".join(symbols(keys[mask], data.spec.source_vocab))
        for keys, mask in zip(batch.keys, batch.mask[:, 0], strict=True)
    ]


def test_all_examples_are_drawn_each_once():
    data = build((3, 2, 1), 1, 2)
    train, validation, test = (
        sources(batch, data) for batch in (data.train, data.validation, data.test)
    )
    assert (len(train), len(validation), len(test)) == (3, 2, 1)
    assert sorted(train + validation + test) == ["a", "aa", "ab", "b", "ba", "bb"]
    assert data.spec.source_vocab == ("<pad>", "<bos>", "<eos>", "a", "b")


def test_a_test_set_has_numbers_of_its_own():
    data = build((1, 1, 8), 1, 1, 3, 3)
    assert sorted(sources(data.train, data) + sources(data.validation, data)) == ["a", "b"]
    assert len(set(sources(data.test, data))) == 8
    assert {len(source) for source in sources(data.test, data)} == {3}
    assert (data.spec.max_source, data.spec.test_max_source) == (1, 3)


def test_an_end_that_is_not_given_is_that_of_training():
    assert ranges("length", 2, 4) == (range(2, 5), None)
    assert ranges("length", 2, 4, None, 9) == (range(2, 5), range(2, 10))
    assert ranges("length", 2, 4, 3, None) == (range(2, 5), range(3, 5))


@pytest.mark.parametrize(
    ("sizes", "numbers", "sentence"),
    [
        ((0, 1, 1), (1, 2), "num_train must be at least 1, got 0"),
        ((1, 1, 1), (0, 2), "min_length must be at least 1, got 0"),
        ((1, 1, 1), (3, 2), "min_length must be at most max_length, got min_length 3"),
        ((1, 1, 1), (1, 2, 4, None), "test_min_length must be at most test_max_length"),
        ((5, 1, 1), (1, 2), "is 7, but lengths 1 to 2 over 2 symbols make only 6 different"),
        ((1, 1, 10**15), (1, 2, 50, 50), "1,000,000,000,000,000 examples of up to 50 symbols need"),
        ((1, 1, 1), (1, 10**6), "up to 1,000,000 symbols in 1,000,000 shapes are more than can"),
        ((1, 1, 1), (1, 2, 1, 10**6), "up to 1,000,000 symbols in 1,000,000 shapes are more than"),
    ],
)
def test_settings_that_cannot_be_drawn_are_refused(sizes, numbers, sentence):
    with pytest.raises(ValueError, match=sentence):
        build(sizes, *numbers)

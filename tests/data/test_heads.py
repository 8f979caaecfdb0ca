"""The settings of a data set: fields that are inherited, or a constructor of one's own."""

import inspect
from dataclasses import dataclass

import pytest
import torch
from hydra.utils import get_object

from attnexp.config.schema import check_settings
from attnexp.core.errors import RequestError
from attnexp.data.contract import DATA_CONTRACT, splits
from attnexp.data.copy import Copy
from attnexp.data.curve import Curve
from attnexp.data.drawn import DrawnSequences
from attnexp.data.sequences import contents, question_batch, uniform


def test_a_yaml_has_a_line_for_every_argument(data_name, settings_of):
    settings = settings_of("data", data_name)
    arguments = inspect.signature(get_object(settings["_target_"])).parameters
    assert settings.keys() - {"_target_"} == arguments.keys() - {"generator"}


class Firsts(DrawnSequences):
    def families(self, numbers):
        return uniform(numbers, 2)

    def batch_of(self, drawn, generator):
        source = contents(drawn)
        return question_batch(source, source[:, 0], torch.zeros(len(source), dtype=torch.int64))


@dataclass(eq=False, repr=False)
class FirstsOfFields(Firsts):
    num_train: int = 20
    num_validation: int = 6
    num_test: int = 6
    length: int = 5

    def __post_init__(self, generator):
        self.draw_sets(generator, [self.length], None, "ab", "ab")


class FirstsOfArguments(Firsts):
    def __init__(self, generator, num_train=20, num_validation=6, num_test=6, length=5):
        super().__init__(
            generator,
            sizes=(num_train, num_validation, num_test),
            trained=[length],
            tested=None,
            source_symbols="ab",
            target_symbols="ab",
        )


@dataclass(eq=False, repr=False)
class CopyOfFields(Copy):
    num_train: int = 40
    vocab_size: int = 7


class CopyOfArguments(Copy):
    def __init__(self, generator, num_train=40, vocab_size=7, **others):
        super().__init__(generator, num_train=num_train, vocab_size=vocab_size, **others)


class Line(Curve):
    slope: float

    def truth(self, x):
        return self.slope * x


@dataclass(eq=False, repr=False)
class LineOfFields(Line):
    slope: float = 3.0


class LineOfArguments(Line):
    def __init__(self, generator, slope=3.0, **others):
        self.slope = slope
        super().__init__(generator, **others)


FORMS = [
    (FirstsOfFields, FirstsOfArguments, {"length": 6, "num_test": 9}),
    (CopyOfFields, CopyOfArguments, {"test_lengths": [12], "vocab_size": 5}),
    (LineOfFields, LineOfArguments, {"slope": -1.0, "num_train": 7}),
]


@pytest.mark.parametrize(("fields", "arguments", "settings"), FORMS)
def test_fields_make_the_data_that_a_constructor_makes(fields, arguments, settings, generator):
    for given in ({}, settings):
        one, other = (make(generator(), **given) for make in (fields, arguments))
        for name, batch in splits(one).items():
            tensors, others = batch.tensors(), splits(other)[name].tensors()
            assert tensors.keys() == others.keys()
            assert all(torch.equal(tensors[each], others[each]) for each in tensors)
        assert one.spec == other.spec


@pytest.mark.parametrize("own", [form for pair in FORMS for form in pair[:2]])
def test_both_meet_the_contract_and_are_the_same_only_as_themselves(own, generator):
    for check in DATA_CONTRACT:
        check(own)
    assert len({own(generator()), own(generator())}) == 2


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"max_length": "x"}, "data.max_length must be a whole number, got 'x'"),
        ({"test_lengths": "x"}, "data.test_lengths must be"),
        (
            {"spec": 1},
            "'spec' in 'data': choose max_length, .* or vocab_size",
        ),
    ],
)
def test_settings_are_checked_against_inherited_fields(wrong, sentence):
    check_settings({"num_test": 3, "test_lengths": [4]}, CopyOfFields, "data", ["generator"])
    with pytest.raises(RequestError, match=sentence):
        check_settings(wrong, CopyOfFields, "data", ["generator"])


class Undecorated(Firsts):
    length: int = 5


class UndecoratedCopy(Copy):
    shift: int = 1


@pytest.mark.parametrize(("kind", "field"), [(Undecorated, "length"), (UndecoratedCopy, "shift")])
def test_a_field_of_a_class_without_the_decorator_is_refused(kind, field):
    sentence = (
        f"data.{field} is a field of {kind.__name__}, which is no dataclass: write @dataclass"
    )
    with pytest.raises(RequestError, match=sentence):
        check_settings({"num_train": 3, field: 2}, kind, "data", ["generator"])

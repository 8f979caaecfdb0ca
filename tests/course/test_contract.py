"""Each promise of the contracts is broken by what it forbids. That ours keep them is tested beside
the scores and the data."""

import pytest
import torch

from attnexp.course.contract import (
    DATA_CONTRACT,
    SCORE_CONTRACT,
    BrokenPromiseError,
    promise_of,
)
from attnexp.data.sine import Sine
from attnexp.scores import Score
from attnexp.scores.dot import Dot
from attnexp.scores.gaussian import Gaussian


class Forgetful(Score):
    """Learns a number that is not among its parameters."""

    count = 0

    def __init__(self, query_dim, key_dim):
        super().__init__(query_dim, key_dim)
        Forgetful.count += 1
        self.hidden = float(Forgetful.count)

    def compare(self, queries, keys):
        return self.hidden * queries @ keys.mT


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(context, numbers):
        return 2 * numbers

    @staticmethod
    def backward(context, gradient):
        return gradient


class Silent(Score):
    """Refuses unequal dimensions without naming them."""

    def __init__(self, query_dim, key_dim):
        super().__init__(query_dim, key_dim)
        if query_dim != key_dim:
            raise ValueError("no")

    def compare(self, queries, keys):
        return queries @ keys.mT


class Halved(Gaussian):
    """Has a compare of its own and inherits the dot product form of another."""

    def compare(self, queries, keys):
        return super().compare(queries, keys) / 2


def compared(compare):
    """What makes a score of such a formula, without the annotations that the tests check."""
    own = {"compare": staticmethod(compare), "forward": lambda self, *pair: compare(*pair)}
    return type("Made", (Score,), own)


def lines(one):
    return lambda queries, keys: one(queries.unsqueeze(-2), keys.unsqueeze(-3))


BREAKERS = {
    "takes_any_leading_axes": compared(lambda q, k: (q @ k.mT).mT),
    "scores_a_batch_as_its_examples": compared(
        lambda q, k: q @ k.mT - (q @ k.mT).reshape(-1, *q.shape[-2:-1], k.shape[-2]).mean(0)
    ),
    "permutes_columns_with_keys": compared(lambda q, k: q @ k.mT + torch.arange(k.shape[-2])),
    "permutes_rows_with_queries": compared(lambda q, k: (q @ k.mT).cumsum(dim=-2)),
    "keeps_the_dtype": compared(lambda q, k: (q @ k.mT).double()),
    "gives_no_nan": compared(lines(lambda q, k: -(q - k).square().mean(-1).log())),
    "has_finite_gradients": compared(lines(lambda q, k: -(q - k).square().sum(-1).sqrt())),
    "has_right_gradients": compared(lambda q, k: Doubled.apply(q @ k.mT)),
    "loads_what_it_saved": Forgetful,
    "works_in_one_dimension": compared(lambda q, k: (q @ k.mT)[..., : 1 + q.shape[-1]]),
    "takes_unequal_dimensions_or_says_no": Silent,
    "agrees_with_its_dot_product": Halved,
}


@pytest.mark.parametrize("promise", SCORE_CONTRACT, ids=lambda promise: promise.__name__)
def test_a_score_can_break_a_promise(promise):
    with pytest.raises(BrokenPromiseError):
        promise(BREAKERS[promise.__name__])


def test_a_sound_score_keeps_all():
    for promise in SCORE_CONTRACT:
        promise(Dot)


class FromAnywhere(Sine):
    def __init__(self, generator):
        super().__init__(torch.Generator().manual_seed(torch.randint(99, ()).item()))


class Fixed(Sine):
    def __init__(self, generator):
        super().__init__(torch.Generator().manual_seed(5))


class Infinite(Sine):
    def truth(self, x):
        return 1 / (0 * x)


class Short(Sine):
    def __init__(self, generator):
        super().__init__(generator)
        object.__setattr__(self.train, "values", self.train.values[:, 1:])


@pytest.mark.parametrize(
    ("name", "breaker"),
    [
        ("repeats_with_its_seed", FromAnywhere),
        ("repeats_with_its_seed", Fixed),
        ("leaves_the_global_generator", FromAnywhere),
        ("has_finite_numbers", Infinite),
        ("has_as_many_values_as_keys", Short),
    ],
)
def test_data_can_break_a_promise(name, breaker):
    (promise,) = (each for each in DATA_CONTRACT if each.__name__ == name)
    with pytest.raises(BrokenPromiseError):
        promise(breaker)


def test_every_promise_is_a_sentence():
    for promise in (*SCORE_CONTRACT, *DATA_CONTRACT):
        assert promise_of(promise).endswith(".")

"""The contract holds for every scoring function of conf/model, and fails for what it forbids."""

from functools import partial

import pytest
import torch
import yaml
from conftest import CONF, choice_names
from docstring_example import require_example
from hydra.utils import get_object
from torch.func import functional_call

from attnexp.scores import Score
from attnexp.scores.base import require_equal_dims
from attnexp.scores.contract import (
    SCORE_CONTRACT,
    declares_minus_infinity,
    permutes_columns_with_keys,
)
from attnexp.scores.distance import DistanceKernel
from attnexp.scores.gaussian import Gaussian
from attnexp.scores.query_key_norm import QueryKeyNorm


def class_and_settings(name):
    settings = yaml.safe_load((CONF / "model" / f"{name}.yaml").read_text())
    return get_object(settings.pop("_target_")), settings


def make(name, query_dim=7, key_dim=7):
    target, settings = class_and_settings(name)
    torch.manual_seed(0)
    return target(query_dim=query_dim, key_dim=key_dim, **settings).double()


LEARNED = [name for name in choice_names("model") if list(make(name).parameters())]


@pytest.mark.parametrize("check", SCORE_CONTRACT, ids=lambda check: check.__name__)
def test_contract(check, model_name):
    check(partial(make, model_name))


def test_the_docstring_ends_in_an_example_of_three_lines_that_is_true(model_name):
    require_example(class_and_settings(model_name)[0])


@pytest.mark.parametrize("name", LEARNED)
def test_copies_train_as_one_batched_program(name, vectors):
    """Stacked parameters under vmap give what each copy gives on its own."""
    copies = [make(name) for _ in range(2)]
    with torch.no_grad():
        for number, copy in enumerate(copies):
            for parameter in copy.parameters():
                parameter.add_(0.1 * number)
    stacked, buffers = torch.func.stack_module_state(copies)
    inputs = vectors()
    together = torch.vmap(
        lambda parameters, buffers: functional_call(copies[0], (parameters, buffers), inputs)
    )(stacked, buffers)
    torch.testing.assert_close(together, torch.stack([copy(*inputs) for copy in copies]))


def test_products_of_numbers_have_one_best_key_for_all_queries(model_name):
    """The nearest key is best for a kernel of the distance; a product has the same for all."""
    points = torch.linspace(0.5, 5, 10, dtype=torch.float64)[:, None]
    score = make(model_name, 1, 1)
    best = score(points, points).argmax(dim=-1).tolist()
    if score.of_products:
        assert len(set(best)) == 1
    elif isinstance(score, DistanceKernel):
        assert best == list(range(10))


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


class Slope(Score):
    """Declares even a number whose sign matters."""

    even = frozenset({"slope"})

    def __init__(self, query_dim, key_dim):
        super().__init__(query_dim, key_dim)
        self.slope = torch.nn.Parameter(torch.tensor(2.0))

    def compare(self, queries, keys):
        return self.slope * queries @ keys.mT


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
    "declares_minus_infinity": compared(lambda q, k: (q @ k.mT).relu().log()),
    "agrees_with_its_dot_product": Halved,
    "is_even_as_declared": Slope,
}


@pytest.mark.parametrize("check", SCORE_CONTRACT, ids=lambda check: check.__name__)
def test_a_check_fails_for_what_it_forbids(check):
    with pytest.raises(AssertionError):
        check(BREAKERS[check.__name__])


class Placed(Score):
    """Learns a number for each place, which is zero at first."""

    def __init__(self, query_dim, key_dim):
        super().__init__(query_dim, key_dim)
        require_equal_dims("placed", query_dim, key_dim)
        self.of_place = torch.nn.Parameter(torch.zeros(64))

    def compare(self, queries, keys):
        return queries @ keys.mT + self.of_place[: keys.shape[-2]]


class Honest(Placed):
    treats_keys_alike = False


class Timid(Gaussian):
    treats_keys_alike = False


def test_a_score_that_learns_to_depend_on_place_says_so():
    with pytest.raises(AssertionError, match="treats_keys_alike must be False"):
        permutes_columns_with_keys(Placed)
    for check in SCORE_CONTRACT:
        check(Honest)
    with pytest.raises(AssertionError, match="treats_keys_alike must be True"):
        permutes_columns_with_keys(Timid)
    around = QueryKeyNorm(4, 4, inner=Honest)
    assert not around.treats_keys_alike


class Forgets(Placed):
    """Learns keys that are out of reach, and has none at first."""

    treats_keys_alike = False

    def compare(self, queries, keys):
        scores = super().compare(queries, keys)
        return scores.masked_fill(self.of_place[: keys.shape[-2]] > 1, -torch.inf)


def test_a_score_that_learns_to_be_minus_infinity_says_so():
    with pytest.raises(AssertionError, match="compact must be True"):
        declares_minus_infinity(Forgets)


class Rooted(Placed):
    """Is NaN for weights that are negative, which depends on no place."""

    def compare(self, queries, keys):
        return queries @ keys.mT * self.of_place[:1].add(1).sqrt()


class Frozen(Placed):
    """Has a table of places that is not learned."""

    def __init__(self, query_dim, key_dim):
        super().__init__(query_dim, key_dim)
        self.of_place.requires_grad_(False)


def test_nan_is_not_taken_for_a_dependence_and_what_is_not_learned_is_not_drawn():
    with pytest.raises(AssertionError, match=r"a score is NaN, with parameters .* from N\(0, 1\)"):
        permutes_columns_with_keys(Rooted)
    permutes_columns_with_keys(Frozen)


@pytest.mark.parametrize("name", LEARNED)
def test_a_number_whose_sign_has_no_effect_is_declared_even(name, vectors):
    score, (queries, keys) = make(name), vectors()
    for own, parameter in score.named_parameters(recurse=False):
        if parameter.dim() == 0 and parameter != 0:
            turned = functional_call(score, {own: -parameter}, (queries, keys))
            assert turned.allclose(score(queries, keys)) == (own in score.even)

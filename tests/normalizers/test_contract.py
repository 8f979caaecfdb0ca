"""The contract holds for every normalizer of conf/normalizer, and fails for what it forbids."""

import math
from functools import partial

import pytest
import torch
import yaml
from conftest import CONF, choice_names
from docstring_example import require_example
from hydra.utils import get_object
from hypothesis import given, settings
from hypothesis import strategies as st

from attnexp.normalizers.base import Normalizer
from attnexp.normalizers.contract import (
    HEADS,
    MASK,
    NORMALIZER_CONTRACT,
    draw_scores,
    tells_the_truth_about_its_class,
)
from attnexp.normalizers.softmax import Softmax


def class_and_settings(name):
    settings = yaml.safe_load((CONF / "normalizer" / f"{name}.yaml").read_text())
    return get_object(settings.pop("_target_")), settings


def make(name, heads=1):
    target, settings = class_and_settings(name)
    normalizer = target(heads=heads, **settings)
    with torch.no_grad():  # each head its own parameters
        for parameter in normalizer.parameters():
            parameter.copy_(torch.linspace(-1, 1, parameter.numel()).view_as(parameter) + 0.5)
    return normalizer


@pytest.fixture
def make_normalizer(normalizer_name):
    return partial(make, normalizer_name)


@pytest.fixture
def scores():
    return draw_scores()


@pytest.mark.parametrize("check", NORMALIZER_CONTRACT, ids=lambda check: check.__name__)
def test_contract(check, make_normalizer):
    check(make_normalizer)


def test_each_head_has_its_own_parameters_and_nothing_of_the_others(make_normalizer, scores):
    normalizer = make_normalizer(HEADS)
    together = normalizer(scores, MASK)
    for head in range(HEADS):
        alone = make_normalizer()
        with torch.no_grad():
            for mine, whole in zip(alone.parameters(), normalizer.parameters(), strict=True):
                mine.copy_(whole[head].view_as(mine))
        torch.testing.assert_close(together[:, head], alone(scores[:, head], MASK[:, 0]))


ROWS = st.integers(1, 9).flatmap(
    lambda keys: st.tuples(
        *(
            st.lists(entries, min_size=keys, max_size=keys)
            for entries in (
                st.one_of(st.floats(-1e3, 1e3, width=32), st.just(-math.inf), st.just(0.0)),
                st.booleans(),
            )
        ),
        st.permutations(range(keys)),
    )
)
"""Scores of a row, a mask of it, and an order of its keys."""


@pytest.mark.parametrize("name", choice_names("normalizer"))
@settings(max_examples=20, deadline=None)
@given(row=ROWS, dtype=st.sampled_from([torch.float32, torch.float64, torch.bfloat16]))
def test_weights_are_sound(name, row, dtype):
    scores, mask, order = (torch.tensor(part) for part in row)
    scores = scores.to(dtype)[None].requires_grad_()
    normalizer = make(name)
    weights = normalizer(scores, mask[None])
    left = mask[None] & (scores > -math.inf)
    assert weights.dtype == torch.promote_types(dtype, torch.float32)
    assert weights.isfinite().all()
    assert (weights >= 0).all()
    assert (weights[~left] == 0).all()
    rounding = 16 * torch.finfo(dtype).eps
    if normalizer.sums_to_one and left.any():
        assert weights.double().sum().item() == pytest.approx(1, abs=rounding)
    (weights * torch.arange(1, weights.shape[-1] + 1)).sum().backward()
    assert scores.grad.isfinite().all()
    assert (scores.grad[~left] == 0).all()
    close = partial(torch.testing.assert_close, atol=rounding, rtol=rounding)
    close(normalizer(scores[:, left[0]]), weights[:, left[0]])
    if normalizer.treats_keys_alike:
        again = normalizer(scores[:, order], mask[None, order])
        close(again, weights[:, order])


def test_tiny_differences_count_for_little(make_normalizer):
    equal = make_normalizer()(torch.zeros(1, 4, dtype=torch.float64))
    near = make_normalizer()(torch.tensor([[0.0, 1e-12, -1e-12, 1e-300]], dtype=torch.float64))
    torch.testing.assert_close(near, equal, atol=1e-11, rtol=0)


def test_copies_train_as_one_batched_program(make_normalizer, scores):
    """Under vmap each copy has the weights and gradients that it has alone."""
    normalizer = make_normalizer()

    def loss(scores):
        return normalizer(scores, MASK[0, 0]).square().sum()

    several = scores.flatten(0, 1)
    together = torch.vmap(torch.func.grad(loss))(several)
    torch.testing.assert_close(
        together, torch.stack([torch.func.grad(loss)(one) for one in several])
    )


def test_the_docstring_ends_in_an_example_of_three_lines_that_is_true(normalizer_name):
    require_example(class_and_settings(normalizer_name)[0])


def made(normalize, **facts):
    """A normalizer of such a formula, without the annotations that the tests check."""
    own = {"normalize": staticmethod(normalize), "sums_to_one": True, "shift_invariant": True}
    return type("Made", (Normalizer,), own | facts)


class Unmasked(Softmax):
    def forward(self, scores, mask=None):
        return scores.softmax(dim=-1)


class Forgetful(Softmax):
    """Learns a number that is not among its parameters."""

    count = 0

    def __init__(self, heads):
        super().__init__(heads)
        Forgetful.count += 1
        self.hidden = float(Forgetful.count)

    def normalize(self, scores, seen):
        return (self.hidden * scores).softmax(dim=-1)


BREAKERS = {
    "takes_any_leading_axes": made(lambda scores, seen: scores.softmax(dim=0)),
    "gives_weights_of_at_least_zero": made(lambda scores, seen: scores),
    "gives_masked_keys_nothing": Unmasked,
    "tells_low_scores_from_masked_keys": Unmasked,
    "leaves_an_empty_row_at_zero": Unmasked,
    "passes_on_what_is_not_a_number": made(lambda scores, seen: scores.nan_to_num().softmax(-1)),
    "tells_the_truth_about_its_class": made(lambda scores, seen: scores.sigmoid()),
    "has_right_gradients": made(lambda scores, seen: scores.detach().softmax(-1) + 0 * scores),
    "loads_what_it_saved": Forgetful,
}


PLACES = torch.arange(50.0)


def late(scores):
    return (PLACES[: scores.shape[-1]] > 8).to(scores)


class Steepens(Softmax):
    """Learns a weight that is lost, and at first loses none."""

    def __init__(self, heads):
        super().__init__(heads)
        self.lost = torch.nn.Parameter(torch.zeros(()))

    def normalize(self, scores, seen):
        return scores.softmax(dim=-1) * torch.exp(-self.lost.square())


def test_what_a_normalizer_learns_to_do_counts():
    with pytest.raises(AssertionError, match="sums_to_one must be False"):
        tells_the_truth_about_its_class(Steepens)
    truth = type("Truth", (Steepens,), {"sums_to_one": False})
    for check in NORMALIZER_CONTRACT:
        check(truth)


def test_a_wrong_claim_about_the_order_of_keys_is_found():
    for truth, normalize in (
        (True, lambda scores, seen: scores.softmax(dim=-1)),
        (False, lambda scores, seen: (scores + PLACES[: scores.shape[-1]]).softmax(dim=-1)),
        # the first nine keys are treated alike
        (False, lambda scores, seen: (scores + late(scores)).softmax(dim=-1)),
    ):
        wrong = made(normalize, treats_keys_alike=not truth)
        with pytest.raises(AssertionError, match=f"treats_keys_alike must be {truth}"):
            tells_the_truth_about_its_class(wrong)


@pytest.mark.parametrize("check", NORMALIZER_CONTRACT, ids=lambda check: check.__name__)
def test_a_check_fails_for_what_it_forbids(check):
    with pytest.raises(AssertionError):
        check(BREAKERS[check.__name__])

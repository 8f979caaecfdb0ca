"""What every normalizer of conf/normalizer promises, whoever wrote it."""

import doctest
import inspect
import math
from functools import partial
from pathlib import Path

import pytest
import torch
import yaml
from hydra.utils import get_object
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.func import functional_call

CONF = Path(__file__).parents[2] / "conf" / "normalizer"
NAMES = sorted(path.stem for path in CONF.glob("*.yaml"))
BATCH, HEADS, QUERIES, KEYS = 2, 3, 5, 7


def class_of(name):
    return get_object(yaml.safe_load((CONF / f"{name}.yaml").read_text())["_target_"])


def make(name, heads=1):
    content = yaml.safe_load((CONF / f"{name}.yaml").read_text())
    del content["_target_"]
    normalizer = class_of(name)(heads=heads, **content)
    with torch.no_grad():  # each head its own parameters
        for parameter in normalizer.parameters():
            parameter.copy_(torch.linspace(-1, 1, parameter.numel()).view_as(parameter) + 0.5)
    return normalizer


@pytest.fixture
def make_normalizer(normalizer_name):
    return partial(make, normalizer_name)


@pytest.fixture
def scores():
    generator = torch.Generator().manual_seed(11)
    return 2 * torch.randn(BATCH, HEADS, QUERIES, KEYS, generator=generator, dtype=torch.float64)


MASK = torch.arange(KEYS) < torch.tensor([4, 7])[:, None, None, None]


def test_all_leading_axes_are_taken(make_normalizer, scores):
    normalizer = make_normalizer()
    for batch in (scores, scores[0], scores[0, 0]):
        assert normalizer(batch).shape == batch.shape
    torch.testing.assert_close(normalizer(scores)[0, 0], normalizer(scores[0, 0]))


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


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None)
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
    again = normalizer(scores[:, order], mask[None, order])
    torch.testing.assert_close(again, weights[:, order], atol=rounding, rtol=rounding)


def test_a_row_with_nothing_left_is_zero_with_gradient_zero(make_normalizer, scores):
    for hide in ("mask", "scores"):
        hidden = torch.tensor([True, False])[:, None, None, None]
        leaf = scores.clone().requires_grad_()
        masked = leaf.masked_fill(hidden, -math.inf) if hide == "scores" else leaf
        normalizer = make_normalizer()
        weights = normalizer(masked, None if hide == "scores" else ~hidden)
        weights.square().sum().backward()
        assert (weights[0] == 0).all()
        assert (leaf.grad[0] == 0).all()
        assert (leaf.grad[1] != 0).any()
        assert all(parameter.grad.isfinite().all() for parameter in normalizer.parameters())


def test_what_is_masked_may_be_anything(make_normalizer, scores):
    normalizer = make_normalizer()
    expected = normalizer(scores, MASK)
    for junk in (math.nan, math.inf, -math.inf, 1e300):
        torch.testing.assert_close(normalizer(scores.where(MASK, junk), MASK), expected)


def test_fewer_keys_are_the_same_as_masked_ones(make_normalizer, scores):
    normalizer = make_normalizer()
    torch.testing.assert_close(normalizer(scores, MASK)[0, ..., :4], normalizer(scores[0, ..., :4]))


def test_a_score_that_is_not_a_number_is_not_swallowed(make_normalizer, scores):
    scores[0, 0, 0, 0] = math.nan
    assert make_normalizer()(scores)[0, 0, 0].isnan().any()


@pytest.mark.parametrize("size", [1e4, 1e30])
def test_huge_scores_do_not_overflow(make_normalizer, size):
    scores = torch.tensor([[size, size / 2, -size]], requires_grad=True)
    weights = make_normalizer()(scores)
    weights.square().sum().backward()
    assert weights.isfinite().all()
    assert weights[0, 2] == 0
    assert scores.grad.isfinite().all()


def test_tiny_differences_count_for_little(make_normalizer):
    equal = make_normalizer()(torch.zeros(1, 4, dtype=torch.float64))
    near = make_normalizer()(torch.tensor([[0.0, 1e-12, -1e-12, 1e-300]], dtype=torch.float64))
    torch.testing.assert_close(near, equal, atol=1e-11, rtol=0)


def test_the_class_facts_are_true(make_normalizer, scores):
    """Those that are denied are denied for a reason: some row shows it."""
    normalizer = make_normalizer()
    sums = normalizer(scores, MASK).sum(dim=-1)
    assert torch.allclose(sums, torch.ones_like(sums)) == normalizer.sums_to_one
    shifted = normalizer(scores + 1.5, MASK)
    assert torch.allclose(shifted, normalizer(scores, MASK)) == normalizer.shift_invariant


def test_gradients_are_right(make_normalizer, scores):
    normalizer = make_normalizer(HEADS).double()
    parameters = dict(normalizer.named_parameters())

    def weights(scores, *values):
        named = dict(zip(parameters, values, strict=True))
        return functional_call(normalizer, named, (scores, MASK))

    inputs = [scores, *parameters.values()]
    assert torch.autograd.gradcheck(weights, [x.detach().clone().requires_grad_() for x in inputs])


def test_many_finite_scores_with_one_mask_have_the_same_weights(make_normalizer, scores):
    normalizer = make_normalizer(HEADS)
    with torch.no_grad():
        for mask in (MASK, None):
            expected = normalizer(scores, mask)
            torch.testing.assert_close(normalizer.of_finite(mask)(scores.clone()), expected)


@pytest.mark.parametrize("name", [name for name in NAMES if class_of(name).has_derivative])
def test_a_derivative_that_is_written_out_is_right(name, scores):
    normalizer = make(name)
    scores.requires_grad_()
    weights = normalizer(scores, MASK)
    of_weights = torch.linspace(-1, 1, weights.numel(), dtype=torch.float64).view_as(weights)
    (expected,) = torch.autograd.grad(weights, scores, of_weights)
    torch.testing.assert_close(normalizer.pull_back(weights.detach(), of_weights), expected)


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


def test_state_dict_round_trip(make_normalizer, scores):
    first, second = make_normalizer(HEADS), make_normalizer(HEADS)
    with torch.no_grad():
        for parameter in first.parameters():
            parameter.add_(1.0)
    second.load_state_dict(first.state_dict())
    torch.testing.assert_close(second(scores), first(scores))


def test_the_docstring_ends_in_an_example_of_three_lines_that_is_true(normalizer_name):
    target = class_of(normalizer_name)
    text = inspect.getdoc(target)
    assert text.splitlines()[-4] == "Example:"
    known = {"torch": torch, target.__name__: target}
    example = doctest.DocTestParser().get_doctest(text, known, target.__name__, None, None)
    assert len(example.examples) == 2
    report = []
    doctest.DocTestRunner(verbose=False).run(example, out=report.append)
    assert not report, "".join(report)

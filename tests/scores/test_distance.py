"""Kernels of a distance: the settings of their width, and a width for each dimension."""

import math

import pytest
import torch
from torch.func import functional_call

from attnexp.scores.biweight import Biweight
from attnexp.scores.gaussian import Gaussian


@pytest.fixture(params=[Gaussian, Biweight])
def kernel(request):
    return request.param


@pytest.fixture
def learned(kernel):
    """Makes a kernel of learned width in float64."""
    return lambda dim=7, **settings: kernel(dim, dim, width="learned", **settings).double()


@pytest.mark.parametrize("width", [0, -1.0, math.nan])
def test_refuses_a_width_that_is_not_positive(kernel, width):
    with pytest.raises(ValueError, match=f"width must be greater than 0, got {width}"):
        kernel(1, 1, width=width)


@pytest.mark.parametrize("settings", [{"initial_width": 2.0}, {"per_dimension": True}])
def test_refuses_settings_of_a_learned_width_for_another(kernel, settings):
    with pytest.raises(ValueError, match=r"need width=learned, got the width 3\.0"):
        kernel(1, 1, width=3.0, **settings)


def test_a_learned_width_gives_the_kernel_of_that_width(learned, kernel, vectors):
    fixed = kernel(7, 7, width=0.5)(*vectors())
    for initial_width in (0.5, -0.5):  # the sign does not matter
        torch.testing.assert_close(learned(initial_width=initial_width)(*vectors()), fixed)


def test_the_first_width_is_drawn_between_0_and_1_or_given(kernel):
    widths = torch.stack([kernel(1, 1, width="learned").width for _ in range(200)])
    assert widths.min() >= 0
    assert 0.4 < widths.mean() < 0.6
    assert widths.max() < 1
    assert kernel(1, 1, width="learned", initial_width=2).width == 2


def test_widths_of_dimensions_start_narrow_or_where_they_are_told(kernel):
    assert kernel(3, 3, width="learned", per_dimension=True).width.tolist() == [2.0] * 3
    given = kernel(3, 3, width="learned", initial_width=5, per_dimension=True).width
    assert given.tolist() == [5.0, 5.0, 5.0]


def test_width_zero_is_a_stationary_point_of_the_gaussian(vectors):
    score = Gaussian(7, 7, width="learned", initial_width=0).double()
    score(*vectors()).sum().backward()
    assert score.width.grad == 0


def with_widths(score, widths):
    score.width.data = torch.tensor(widths, dtype=torch.float64)
    return score


def test_a_width_stretches_its_dimension(learned, vectors):
    """By loops: the kernel of one width 1 on coordinates that were multiplied before."""
    widths = [0.4, 0.0, -0.2, 0.1, 0.7, 0.3, 0.5]
    queries, keys = vectors()
    stretched = [
        torch.tensor([[w * v for w, v in zip(widths, row, strict=True)] for row in side.tolist()])
        for side in (queries, keys)
    ]
    scores = with_widths(learned(per_dimension=True), widths)(queries, keys)
    expected = learned(initial_width=1.0)(*(side.double() for side in stretched))
    torch.testing.assert_close(scores, expected, atol=1e-6, rtol=1e-6)


def test_gradients_are_right(learned, vectors):
    score = with_widths(learned(per_dimension=True), [0.4, 0.1, -0.2, 0.1, 0.3, 0.2, 0.25])

    def finite(queries, keys, width):
        scores = functional_call(score, {"width": width}, (queries, keys))
        return scores.masked_fill(scores == -torch.inf, 0.0)

    leaves = [t.detach().clone().requires_grad_() for t in (*vectors(), score.width)]
    assert torch.autograd.gradcheck(finite, leaves)


def test_the_dot_product_form_has_the_same_weights(vectors):
    score = with_widths(
        Gaussian(7, 7, width="learned", per_dimension=True).double(),
        [0.4, 0.0, -1.2, 0.1, 0.7, 0.3, 0.5],
    )
    queries, keys = vectors(2)
    far = 1e4  # the squares alone would lose the digits
    dot_queries, dot_keys = score.as_dot_product(queries + far, keys + far)
    assert not dot_keys.requires_grad
    plain = score(queries, keys).softmax(dim=-1)
    torch.testing.assert_close(
        (dot_queries @ dot_keys.mT).softmax(dim=-1), plain, rtol=1e-6, atol=0
    )

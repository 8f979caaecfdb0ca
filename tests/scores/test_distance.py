"""Kernels with a width for each dimension."""

import pytest
import torch
from hydra.utils import get_object
from torch.func import functional_call

from attnexp.scores.distance import learned_width

LEARNED = [
    f"attnexp.scores.{name}_learned.{name.capitalize()}Learned"
    for name in ("gaussian", "epanechnikov", "parabola", "biweight", "triweight")
]


@pytest.fixture(params=LEARNED)
def learned(request):
    """Makes a kernel in float64."""
    target = get_object(request.param)
    return lambda dim=7, **settings: target(dim, dim, **settings).double()


def with_widths(score, widths):
    score.width.data = torch.tensor(widths, dtype=torch.float64)
    return score


def test_equal_widths_are_one_width(learned, vectors):
    several = learned(initial_width=0.3, per_dimension=True)
    assert several.width.shape == (7,)
    torch.testing.assert_close(several(*vectors()), learned(initial_width=0.3)(*vectors()))


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
        get_object(LEARNED[0])(7, 7, per_dimension=True).double(),
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


def test_copies_train_as_one_batched_program(learned, vectors):
    copies, inputs = [learned(per_dimension=True) for _ in range(2)], vectors()
    stacked, buffers = torch.func.stack_module_state(copies)
    together = torch.vmap(
        lambda parameters, buffers: functional_call(copies[0], (parameters, buffers), inputs)
    )(stacked, buffers)
    torch.testing.assert_close(together, torch.stack([copy(*inputs) for copy in copies]))


def test_tiles_give_what_the_whole_map_gives(learned, vectors):
    from attnexp.attention.streaming import stream
    from attnexp.normalizers.softmax import Softmax

    score = with_widths(learned(per_dimension=True), [0.2, 0.1, -0.2, 0.1, 0.1, 0.2, 0.05])
    queries, keys = vectors(1)
    values = torch.linspace(-1, 1, 5, dtype=torch.float64)[None, :, None]
    streamed = stream(score, Softmax(heads=1), queries, keys, values, None)
    weights = score(queries, keys).softmax(dim=-1).nan_to_num()
    torch.testing.assert_close(streamed, weights @ values)


def test_first_widths_are_drawn_between_0_and_1_or_given():
    torch.manual_seed(0)
    drawn = learned_width(200, None, per_dimension=True)
    assert drawn.min() >= 0
    assert 0.4 < drawn.mean() < 0.6
    assert drawn.max() < 1
    assert learned_width(3, 2.0, per_dimension=True).tolist() == [2.0, 2.0, 2.0]
    assert learned_width(3, 2.0, per_dimension=False).tolist() == 2.0

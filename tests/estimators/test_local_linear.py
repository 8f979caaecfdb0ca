"""Local linear attention next to least squares by NumPy, query by query."""

import re
from functools import partial

import numpy as np
import pytest
import torch

from attnexp.attention import streaming
from attnexp.attention.multihead import MultiHead
from attnexp.attention.pooling import AttentionPooling
from attnexp.estimators.base import Compared
from attnexp.estimators.local_linear import LocalLinear
from attnexp.scores.boxcar import Boxcar
from attnexp.scores.gaussian import Gaussian
from attnexp.scores.scaled_dot import ScaledDot


def pooling(dim, width=1.5, ridge=0.0, steps=9, score=Gaussian, value_dim=1):
    estimator = partial(LocalLinear, ridge=ridge, steps=steps)
    made = score(query_dim=dim, key_dim=dim, width=width)
    return AttentionPooling(made, value_dim, estimator=estimator).double()


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def least_squares(queries, keys, values, weights):
    """The fit at each query, by NumPy, with the square roots of the weights in the equations."""
    answers = []
    for query, row in zip(queries.numpy(), weights.numpy(), strict=True):
        root = np.sqrt(row)[:, None]
        design = np.hstack([np.ones((len(row), 1)), keys.numpy() - query])
        found, *_ = np.linalg.lstsq(root * design, root * values.numpy(), rcond=None)
        answers.append(found[0])
    return torch.from_numpy(np.stack(answers))


@pytest.mark.parametrize("dim", [1, 2, 3, 5])
def test_it_is_the_weighted_least_squares_fit(dim):
    queries, keys, values = draw(1, 7, dim), draw(1, 40, dim, seed=1), draw(1, 40, 2, seed=2)
    context, effective = pooling(dim, value_dim=2)(queries, keys, values)
    _, weights = AttentionPooling(Gaussian(dim, dim, width=1.5), 2)(queries, keys, values)
    expected = least_squares(queries[0], keys[0], values[0], weights[0, 0])
    torch.testing.assert_close(context[0], expected, rtol=1e-6, atol=1e-8)
    torch.testing.assert_close(effective.sum(-1), torch.ones(1, 1, 7, dtype=torch.float64))


@pytest.mark.parametrize("dim", [1, 2, 4])
def test_a_line_is_reproduced_exactly_everywhere(dim):
    queries, keys, slope = 3 * draw(1, 9, dim), draw(1, 30, dim, seed=1), draw(dim, 1, seed=2)
    context, _ = pooling(dim)(queries, keys, keys @ slope - 2)
    torch.testing.assert_close(context, queries @ slope - 2, rtol=1e-6, atol=1e-6)


def test_a_wide_kernel_is_ordinary_least_squares():
    x, y = draw(1, 50, 1), draw(1, 50, 1, seed=1)
    slope, intercept = np.polyfit(x[0, :, 0].numpy(), y[0, :, 0].numpy(), 1)
    context, _ = pooling(1, width=1e-6)(x, x, y)
    torch.testing.assert_close(context, slope * x + intercept)


def test_without_two_keys_apart_it_is_the_local_constant():
    keys = torch.tensor([[[2.0], [2.0], [9.0]]], dtype=torch.float64)
    values = torch.tensor([[[1.0], [3.0], [8.0]]], dtype=torch.float64)
    near = torch.tensor([[[2.3]]], dtype=torch.float64)
    context, weights = pooling(1, width=1.0, score=Boxcar)(near, keys, values)
    assert context.item() == 2
    assert weights.flatten().tolist() == [0.5, 0.5, 0]
    far, none = pooling(1, width=1.0, score=Boxcar)(near + 50, keys, values)
    assert (far.item(), none.abs().sum().item()) == (0, 0)


@pytest.mark.parametrize("at", [0.0, 1e3])
def test_float32_is_near_float64_also_far_from_zero(at):
    x = at + torch.linspace(0, 5, 400, dtype=torch.float64)[None, :, None]
    y = x.sin()
    whole, _ = pooling(1, width=20.0)(x, x, y)
    single, _ = pooling(1, width=20.0).float()(x.float(), x.float(), y.float())
    torch.testing.assert_close(single.double(), whole, rtol=0, atol=3e-3 if at else 3e-5)


def test_steps_and_ridge_end_between_constant_and_linear():
    queries, keys, values = draw(1, 5, 6), draw(1, 60, 6, seed=1), draw(1, 60, 1, seed=2)
    linear, _ = pooling(6, steps=6)(queries, keys, values)
    constant, _ = AttentionPooling(Gaussian(6, 6, width=1.5), 1)(queries, keys, values)
    heavy, _ = pooling(6, ridge=1e9)(queries, keys, values)
    torch.testing.assert_close(heavy, constant)
    fewer, _ = pooling(6, steps=4)(queries, keys, values)
    assert (fewer - linear).abs().max() < (constant - linear).abs().max()


def test_the_ridge_is_a_share_of_the_mean_squared_distance_from_the_query():
    queries, keys, values = draw(1, 5, 4), draw(1, 60, 4, seed=1), draw(1, 60, 1, seed=2)
    context, _ = pooling(4, ridge=0.3)(queries, keys, values)
    _, weights = AttentionPooling(Gaussian(4, 4, width=1.5), 1)(queries, keys, values)
    for i in range(5):
        w, q, k, v = weights[0, 0, i].numpy(), queries[0, i].numpy(), keys[0].numpy(), values[0]
        mean, distance = w @ k, w @ ((k - q) ** 2).sum(axis=1)
        spread = (k - mean).T @ (w[:, None] * (k - mean)) + 0.3 * distance * np.eye(4)
        smooth = w * (1 + (k - mean) @ np.linalg.solve(spread, q - mean))
        assert context[0, i].item() == pytest.approx(float(smooth @ v.numpy()[:, 0]), rel=1e-6)


@pytest.mark.parametrize("dim", [1, 3])
@pytest.mark.parametrize("far", [1.0, 1e3, 1e6])
def test_a_key_that_no_query_sees_does_not_matter(dim, far):
    """In single precision, next to the same keys without it."""
    queries, keys, values = (0.01 * draw(1, n, dim, seed=n).float() for n in (4, 6, 6))
    attention = pooling(dim, width=20.0, ridge=0.01, value_dim=dim).float()
    expected, _ = attention(queries, keys, values)
    more = [torch.cat([each, torch.full((1, 1, dim), far)], dim=1) for each in (keys, values)]
    found, _ = attention(queries, *more, (torch.arange(7) < 6).expand(1, 4, 7))
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-7)


def test_an_estimator_of_a_wrong_shape_is_named():
    class Cut(LocalLinear):
        def forward(self, weights, compared):
            return weights[..., :-1]

    attention = AttentionPooling(Gaussian(1, 1, width=1.0), 1, estimator=Cut)
    message = "forward of Cut must return effective weights of shape (1, 2, 3), got (1, 2, 2)"
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        attention(torch.zeros(1, 2, 1), torch.zeros(1, 3, 1), torch.zeros(1, 3, 1))


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("sharpness", [1.0, 20.0, 80.0])
def test_answers_and_gradients_are_finite_in_single_precision(size, sharpness):
    """Causal rows have one key, two keys and keys of hardly any weight."""
    for seed in range(20):
        queries, keys = (size * draw(1, 8, 4, seed=2 * seed + i).float() for i in (0, 1))
        scores = sharpness * draw(1, 8, 8, seed=100 + seed).float()
        mask = torch.ones(8, 8).tril().bool()
        given = [each.requires_grad_() for each in (queries, keys, scores)]
        weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
        fit = LocalLinear(heads=1, query_dim=4, key_dim=4, input_dim=4)
        effective = fit(weights, Compared(queries, keys, keys, mask))
        effective.sin().sum().backward()
        assert effective.abs().max() < 10
        assert all(each.grad.isfinite().all() for each in given)


EXACT = np.longdouble


def exact_line(query, keys, values, weights):
    """The fit of one feature at a query, in more digits than either precision has."""
    keys, values, weights = (each.numpy().astype(EXACT) for each in (keys, values, weights))
    weights = weights / weights.sum()
    apart = keys - (weights * keys).sum()
    slope = (weights * apart * values).sum() / (weights * apart**2).sum()
    return float((weights * values).sum() + slope * (EXACT(query) - (weights * keys).sum()))


@pytest.mark.parametrize("gap", [5.0, 14.0, 18.0, 20.0])
def test_a_line_through_a_key_with_nearly_all_weight_keeps_its_digits(gap):
    for seed in range(50):
        keys, values, scores = (draw(6, 1, seed=3 * seed + i).float() for i in range(3))
        scores[0] = gap
        weights = scores.mT.softmax(dim=-1)
        query = keys[:1] + 0.1 * draw(1, 1, seed=1000 + seed).float()
        fit = LocalLinear(heads=1, query_dim=1, key_dim=1, input_dim=1)
        compared = Compared(query, keys, keys, None)
        expected = exact_line(query.item(), keys[:, 0], values[:, 0], weights[0])
        for answer in (fit(weights, compared) @ values, fit.answer(weights, values, compared)):
            assert answer.item() == pytest.approx(expected, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(("count", "dim", "ridge"), [(3, 1, 0.01), (6, 2, 0.0), (50, 2, 0.01)])
def test_equal_keys_have_the_local_constant_at_every_place(count, dim, ridge):
    for place in np.arange(0.01, 1.0, 0.02):
        keys = torch.full((1, count, dim), place, dtype=torch.float32).requires_grad_()
        weights = draw(1, 4, count, seed=count).float().softmax(dim=-1).requires_grad_()
        values = draw(1, count, 1, seed=1).float()
        fit = LocalLinear(heads=1, query_dim=dim, key_dim=dim, input_dim=1, ridge=ridge)
        compared = Compared(draw(1, 4, dim, seed=2).float(), keys, keys, None)
        for answer in (fit(weights, compared) @ values, fit.answer(weights, values, compared)):
            torch.testing.assert_close(answer, weights @ values)
            answer.sum().backward(retain_graph=True)
        assert keys.grad.isfinite().all()
        assert weights.grad.isfinite().all()


@pytest.mark.parametrize("dim", [1, 2])
def test_weights_that_have_all_but_vanished_have_finite_gradients(dim):
    """As after dropout of the key that had nearly all of them."""
    weights = torch.tensor([[0.0, 1e-40, 3e-40]]).requires_grad_()
    keys = draw(3, dim).float().requires_grad_()
    fit = LocalLinear(heads=1, query_dim=dim, key_dim=dim, input_dim=1)
    compared = Compared(draw(1, dim, seed=1).float(), keys, keys, None)
    answer = fit.answer(weights, draw(3, 1, seed=2).float(), compared)
    answer.sum().backward()
    assert answer.item() == pytest.approx(0.0, abs=1e-30)
    assert weights.grad.isfinite().all()
    assert keys.grad.isfinite().all()


@pytest.mark.parametrize(
    ("size", "far"), [(1e-20, 1), (1e-20, 3e19), (1, 1e10), (1, 3e19), (1e20, 1), (1e20, 1e10)]
)
@pytest.mark.parametrize("dim", [1, 3])
def test_units_and_far_queries_do_not_overflow(size, far, dim):
    keys = (size * draw(5, dim)).float().requires_grad_()
    query = torch.full((1, dim), size * far, dtype=torch.float32)
    weights = torch.full((1, 5), 0.2)
    fit = LocalLinear(heads=1, query_dim=dim, key_dim=dim, input_dim=1)
    effective = fit(weights, Compared(query, keys, keys, None))
    # by keys in their own unit, because the gradient by 1e-20 itself is more than a float holds
    (effective * draw(5, seed=1) * min(size, 1)).sum().backward()
    assert effective.isfinite().all()
    assert keys.grad.isfinite().all()


@pytest.mark.parametrize("scale", [1, 1e-4, 1e-6, 1e-9, 1e-15])
def test_a_small_sequence_next_to_a_large_one_has_its_own_gradients(scale):
    """Also in the first row under a triangle, which sees a single key."""
    size = torch.tensor([1.0, scale], dtype=torch.float64).view(2, 1, 1)
    mask = torch.ones(5, 5, dtype=torch.bool).tril()
    factors = draw(2, 5, 5, seed=3)
    found = []
    for kind in (torch.float32, torch.float64):
        queries, keys = ((draw(2, 5, 8, seed=i) * size).to(kind).requires_grad_() for i in (0, 1))
        scores = draw(2, 5, 5, seed=2).to(kind).requires_grad_()
        weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
        estimator = LocalLinear(heads=1, query_dim=8, key_dim=8, input_dim=4)
        effective = estimator(weights, Compared(queries, keys, keys, mask))
        (effective * factors.to(kind)).sum().backward()
        found.append([effective.detach(), scores.grad, queries.grad, keys.grad])
    for single, double in zip(*found, strict=True):
        for one, other in zip(single, double, strict=True):
            assert (one - other).abs().max() < 0.01 * other.abs().max()


@pytest.mark.parametrize("dim", [1, 3])
def test_tiles_have_the_answers_and_gradients_of_the_whole(monkeypatch, dim):
    monkeypatch.setattr(streaming, "TILE", 2**9)
    found = []
    for large in (2**60, 1):
        monkeypatch.setattr("attnexp.attention.pooling.LARGE", large)
        monkeypatch.setattr("attnexp.attention.pooling.FEW", 0)
        attention = pooling(dim, width="learned", ridge=1e-3)
        with torch.no_grad():
            attention.score.width.fill_(1.2)
        inputs = [draw(1, 40, dim), draw(1, 50, dim, seed=1), draw(1, 50, 2, seed=2)]
        inputs = [each.requires_grad_() for each in inputs]
        context, _ = attention(*inputs, need_weights=False)
        context.sin().sum().backward()
        found.append([context, attention.score.width.grad, *(each.grad for each in inputs)])
    for whole, tiled in zip(*found, strict=True):
        torch.testing.assert_close(tiled, whole)


def test_positions_turn_what_is_fitted():
    attention = MultiHead(ScaledDot, 8, heads=2, estimator=LocalLinear)
    x = draw(1, 5, 8).float()
    memory = attention.remember(x, x, None, lambda split: 2 * split)
    assert memory.kept is not None
    torch.testing.assert_close(memory.kept, 2 * attention.split(attention.W_k(x)))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"ridge": -1.0}, "ridge must be 0 or more, got -1"),
        ({"steps": 0}, "steps must be greater than 0, got 0"),
        ({"query_dim": 2}, "one size, got 2 and 3: choose estimator=local_constant"),
    ],
)
def test_what_makes_no_sense_is_refused(settings, words):
    sizes = {"heads": 1, "query_dim": 3, "key_dim": 3, "input_dim": 3}
    with pytest.raises(ValueError, match=words):
        LocalLinear(**{**sizes, **settings})

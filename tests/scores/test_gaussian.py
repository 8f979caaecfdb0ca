import math

import pytest
import torch

from attnexp.scores.gaussian import Gaussian, gaussian_as_dot_product, log_gaussian


def test_equals_the_formula(vectors, pairwise):
    queries, keys = vectors()
    oracle = pairwise(
        lambda q, k: -((1.7 * math.dist(q.tolist(), k.tolist())) ** 2) / 2 / 7, queries, keys
    )
    torch.testing.assert_close(Gaussian(7, 7, width=1.7)(queries, keys), oracle)


def test_weights_by_hand():
    """On the line, q = 0 and k = 0, 2: weights 1 / (1 + e^-2) and e^-2 / (1 + e^-2)."""
    weights = Gaussian(1, 1)(torch.zeros(1, 1), torch.tensor([[0.0], [2.0]])).softmax(dim=-1)
    expected = torch.tensor([[1.0, math.exp(-2)]]) / (1 + math.exp(-2))
    torch.testing.assert_close(weights, expected)


@pytest.mark.parametrize("width", [0, -1.0, math.nan])
def test_refuses_a_width_that_is_not_positive(width):
    with pytest.raises(ValueError, match=f"width must be greater than 0, got {width}"):
        Gaussian(1, 1, width=width)


def test_dot_product_form_is_exact_far_from_zero():
    """Coordinates around 1000 in float32: without centring, the squares would lose the answer."""
    queries = 1000 + torch.linspace(0, 5, 7)[:, None]
    keys = 1000 + torch.linspace(0, 5, 11)[:, None]
    fused_queries, fused_keys = gaussian_as_dot_product(queries, keys, 4.0)
    fused = (fused_queries @ fused_keys.mT).softmax(dim=-1)
    exact = log_gaussian(queries.double(), keys.double(), 4.0).softmax(dim=-1)
    torch.testing.assert_close(fused.double(), exact, atol=1e-5, rtol=0)

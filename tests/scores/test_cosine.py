import math

import pytest
import torch

from attnexp.scores.cosine import Cosine


def test_equals_the_formula(vectors, pairwise):
    queries, keys = vectors()

    def one(query, key):
        product = sum(a * b for a, b in zip(query, key, strict=True))
        return 2.5 * product / (math.hypot(*query) * math.hypot(*key))

    score = Cosine(7, 7, initial_strength=2.5).double()
    torch.testing.assert_close(score(queries, keys), pairwise(one, queries, keys))


def test_length_does_not_matter(vectors):
    queries, keys = vectors()
    score = Cosine(7, 7).double()
    torch.testing.assert_close(score(3 * queries, 0.1 * keys), score(queries, keys))


def test_a_zero_vector_has_cosine_zero(vectors):
    queries, keys = vectors()
    assert (Cosine(7, 7).double()(torch.zeros_like(queries), keys) == 0).all()


def test_opposite_vectors_have_minus_the_strength():
    score = Cosine(2, 2, initial_strength=4)
    pair = torch.tensor([[1.0, 2.0]])
    assert score(pair, -pair).item() == pytest.approx(-4)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_a_zero_vector_has_cosine_zero_and_a_finite_gradient(dtype):
    score = Cosine(query_dim=3, key_dim=3).to(dtype)
    queries = torch.zeros(2, 3, dtype=dtype, requires_grad=True)
    keys = torch.tensor([[0.0, 0, 0], [1, 2, 3]], dtype=dtype, requires_grad=True)
    scores = score(queries, keys)
    assert (scores == 0).all()
    scores.softmax(dim=-1).square().sum().backward()
    assert queries.grad.isfinite().all()
    assert keys.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("exponent", [-4, 0, 4])
def test_neither_small_nor_large_vectors_lose_their_direction(dtype, exponent):
    vector = torch.tensor([[3.0, 4.0]], dtype=dtype) * 10.0**exponent
    unit = Cosine(query_dim=2, key_dim=2).to(dtype).project_keys(vector)
    torch.testing.assert_close(unit, torch.tensor([[0.6, 0.8]], dtype=dtype), rtol=1e-2, atol=0)

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

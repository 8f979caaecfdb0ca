import math

import pytest
import torch

from attnexp.scores.polynomial import Polynomial


@pytest.mark.parametrize(("degree", "offset"), [(2, 1.0), (4, 0.5), (2, -1.0)])
def test_equals_the_formula(vectors, pairwise, degree, offset):
    queries, keys = vectors()

    def one(query, key):
        product = sum(a * b for a, b in zip(query.tolist(), key.tolist(), strict=True))
        return math.log((product + offset) ** degree)

    score = Polynomial(7, 7, degree=degree, offset=offset)
    torch.testing.assert_close(score(queries, keys), pairwise(one, queries, keys))


def test_weights_by_hand():
    """(1 + 1)^2, (0 + 1)^2 and (-1 + 1)^2: weights 4/5, 1/5 and 0."""
    scores = Polynomial(1, 1)(torch.ones(1, 1), torch.tensor([[1.0], [0.0], [-1.0]]))
    torch.testing.assert_close(scores.softmax(dim=-1), torch.tensor([[0.8, 0.2, 0.0]]))


@pytest.mark.parametrize("degree", [-2, 0, 1, 3])
def test_refuses_a_degree_by_which_a_weight_could_be_negative(degree):
    with pytest.raises(ValueError, match=f"because a weight cannot be negative, got {degree}"):
        Polynomial(1, 1, degree=degree)

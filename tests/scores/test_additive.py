import math

import pytest
import torch

from attnexp.scores.additive import Additive


def test_equals_the_formula(vectors, pairwise):
    queries, keys = vectors(query_dim=2, key_dim=7)
    score = Additive(2, 7, hidden_dim=11).double()
    w_q, w_k = score.W_q.weight.tolist(), score.W_k.weight.tolist()
    w_v = score.w_v.weight[0].tolist()

    def one(query, key):
        query, key = query.tolist(), key.tolist()
        total = 0.0
        for unit in range(11):
            inside = sum(w * x for w, x in zip(w_q[unit], query, strict=True))
            inside += sum(w * x for w, x in zip(w_k[unit], key, strict=True))
            total += w_v[unit] * math.tanh(inside)
        return total

    torch.testing.assert_close(score(queries, keys), pairwise(one, queries, keys))


def test_one_query_is_compared_as_it_is_among_many(vectors):
    queries, keys = vectors(query_dim=2, key_dim=7)
    score = Additive(2, 7, hidden_dim=11).double()
    many = score(queries, keys)
    for i in range(queries.shape[-2]):
        torch.testing.assert_close(score(queries[..., i : i + 1, :], keys), many[..., i : i + 1, :])


@pytest.mark.parametrize("size", [30.0, 1e3, 1e30])
def test_the_derivative_is_finite_where_exponentials_are_not(size):
    """Queries and keys of either sign, and of any size, in float32."""
    score = Additive(1, 1, hidden_dim=4)
    with torch.no_grad():
        score.W_q.weight.copy_(torch.tensor([[1.0], [1.0], [-1.0], [-1.0]]))
        score.W_k.weight.copy_(torch.tensor([[1.0], [-1.0], [1.0], [-1.0]]))
        query, keys = torch.full((2, 1), size), torch.tensor([0.0, 1.0, size]).expand(2, 3)
        projected = score.project_keys(keys.unsqueeze(-1))
        written = score.derivative(projected, *score.own_parameters())
        (room,), of_query = written.room(1), torch.empty(2, 4)
        scores = written.compare(query @ written.W.mT, room)
        expected = score(query.unsqueeze(1), keys.unsqueeze(-1))
        torch.testing.assert_close(scores[..., :2], expected[..., :2])
        written.pull_back(torch.ones(2, 1, 3), room, of_query)
        found = (scores, of_query, *written.gradients(torch.zeros(4, 1)))
    assert all(tensor.isfinite().all() for tensor in found)


@pytest.mark.parametrize("size", [1.0, 50.0, 500.0])
def test_a_tile_has_the_same_scores_and_gradients(vectors, size):
    """Also where the exponential of a projected query alone would be too large."""
    inputs = [each.mul(size).requires_grad_() for each in vectors(query_dim=11, key_dim=11)]
    score = Additive(2, 7, hidden_dim=11).double()
    found = []
    for compare in (score.compare, score.compare_tile):
        scores = compare(*inputs)
        factor = torch.arange(scores.numel()).view_as(scores).cos()
        gradients = torch.autograd.grad((scores * factor).sum(), [*inputs, score.w_v.weight])
        found.append([scores, *gradients])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)


def test_a_tile_in_half_precision(vectors):
    queries, keys = (each.float() for each in vectors(query_dim=2, key_dim=7))
    score = Additive(2, 7, hidden_dim=11)
    with torch.autocast("cpu", torch.bfloat16):
        inputs = score.project_queries(queries), score.project_keys(keys)
        tile = score.compare_tile(*inputs)
    torch.testing.assert_close(tile.float(), score(queries, keys), atol=0.05, rtol=0.05)
    tile.float().sum().backward()
    assert score.w_v.weight.grad.isfinite().all()


def test_a_subclass_with_another_formula_has_no_tile_of_this_one(vectors):
    class Doubled(Additive):
        def compare(self, queries, keys):
            return 2 * super().compare(queries, keys)

    queries, keys = vectors(query_dim=3, key_dim=3)
    score = Doubled(2, 7, hidden_dim=3).double()
    assert score.compare_tile(queries, keys).equal(score.compare(queries, keys))


def test_has_three_matrices_and_no_bias():
    shapes = {name: tuple(p.shape) for name, p in Additive(2, 3, hidden_dim=5).named_parameters()}
    assert shapes == {"W_q.weight": (5, 2), "W_k.weight": (5, 3), "w_v.weight": (1, 5)}


def test_refuses_no_hidden_units():
    with pytest.raises(ValueError, match="hidden_dim must be greater than 0, got 0"):
        Additive(2, 3, hidden_dim=0)

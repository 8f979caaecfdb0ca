"""Each derivative that is written out equals the one of autograd."""

import pytest
import torch

from attnexp.architectures.recurrence.derivative import derivative_of
from attnexp.architectures.recurrence.unrolled import softmax_of_finite
from attnexp.normalizers.softmax import Softmax
from attnexp.scores.additive import Additive
from attnexp.scores.cosine import Cosine
from attnexp.scores.dot import Dot


@pytest.mark.parametrize("size", [30.0, 1e3, 1e30])
def test_of_the_additive_score_is_finite_where_exponentials_are_not(size):
    """Queries and keys of either sign, and of any size, in float32."""
    score = Additive(1, 1, hidden_dim=4)
    with torch.no_grad():
        score.W_q.weight.copy_(torch.tensor([[1.0], [1.0], [-1.0], [-1.0]]))
        score.W_k.weight.copy_(torch.tensor([[1.0], [-1.0], [1.0], [-1.0]]))
        query, keys = torch.full((2, 1), size), torch.tensor([0.0, 1.0, size]).expand(2, 3)
        written = derivative_of(score)
        derivative = written.derivative(score.project_keys(keys.unsqueeze(-1)), *written.parameters)
        (kept,), of_query = derivative.buffer(1), torch.empty(2, 4)
        scores = derivative.compare(query @ derivative.W.mT, kept)
        expected = score(query.unsqueeze(1), keys.unsqueeze(-1))
        torch.testing.assert_close(scores[..., :2], expected[..., :2])
        derivative.pull_back(torch.ones(2, 1, 3), kept, of_query)
        found = (scores, of_query, *derivative.gradients(torch.zeros(4, 1)))
    assert all(tensor.isfinite().all() for tensor in found)


@pytest.mark.parametrize("mask", [None, torch.arange(5) < torch.tensor([4, 5])[:, None, None]])
@torch.no_grad()
def test_many_finite_scores_with_one_mask_have_the_weights_of_the_normalizer(mask):
    scores = torch.randn(2, 3, 5)
    expected = Softmax(heads=1)(scores, mask)
    torch.testing.assert_close(softmax_of_finite(mask)(scores.clone()), expected)
    lowest = torch.full((2, 3, 5), torch.finfo(torch.float32).min)
    expected = Softmax(heads=1)(lowest, mask)
    torch.testing.assert_close(softmax_of_finite(mask)(lowest), expected)


def test_of_a_subclass_is_not_that_of_its_parent():
    class Doubled(Additive):
        def compare(self, queries, keys):
            return 2 * super().compare(queries, keys)

    assert derivative_of(Doubled(2, 2)) is None
    assert derivative_of(type("Mine", (Dot,), {})(2, 2)) is None
    assert derivative_of(Cosine(2, 2)) is None

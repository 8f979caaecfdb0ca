"""The faster ways to the scores of a tile have the scores and gradients of the formula."""

import pytest
import torch

from attnexp.attention.tiles import compare_tile
from attnexp.scores.additive import Additive


def inputs(size=1.0):
    generator = torch.Generator().manual_seed(3)
    return [
        size * torch.randn(count, 11, generator=generator, dtype=torch.float64) for count in (3, 5)
    ]


@pytest.mark.parametrize("size", [1.0, 50.0, 500.0])
def test_a_tile_has_the_same_scores_and_gradients(size):
    """Also where the exponential of a projected query alone would be too large."""
    leaves = [each.requires_grad_() for each in inputs(size)]
    score = Additive(2, 7, hidden_dim=11).double()
    found = []
    for scores in (score.compare(*leaves), compare_tile(score, *leaves)):
        factor = torch.arange(scores.numel()).view_as(scores).cos()
        gradients = torch.autograd.grad((scores * factor).sum(), [*leaves, score.w_v.weight])
        found.append([scores, *gradients])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)


def test_a_tile_in_half_precision():
    queries, keys = torch.randn(3, 2), torch.randn(5, 7)
    score = Additive(2, 7, hidden_dim=11)
    with torch.autocast("cpu", torch.bfloat16):
        tile = compare_tile(score, score.project_queries(queries), score.project_keys(keys))
    torch.testing.assert_close(tile.float(), score(queries, keys), atol=0.05, rtol=0.05)
    tile.float().sum().backward()
    assert score.w_v.weight.grad.isfinite().all()


def test_a_subclass_with_another_formula_has_no_tile_of_this_one():
    class Doubled(Additive):
        def compare(self, queries, keys):
            return 2 * super().compare(queries, keys)

    score = Doubled(2, 7, hidden_dim=11).double()
    assert compare_tile(score, *inputs()).equal(score.compare(*inputs()))

"""Entmax of any alpha against its ends and the two maps between that are computed otherwise."""

import pytest
import torch

from attnexp.normalizers.entmax import Entmax
from attnexp.normalizers.entmax15 import Entmax15
from attnexp.normalizers.sparsemax import Sparsemax
from attnexp.normalizers.ssmax import Ssmax


@pytest.fixture
def scores():
    generator = torch.Generator().manual_seed(0)
    return 3 * torch.randn(5, 3, 40, generator=generator, dtype=torch.float64)


@pytest.fixture(
    params=[(1.5, Entmax15), (1.5 + 1e-12, Entmax15), (2.0, Sparsemax), (2 - 1e-12, Sparsemax)],
    ids=["1.5", "next to 1.5", "2", "next to 2"],
)
def between(request):
    """An entmax, by the steps of any alpha or by those of its own, and the map that it is."""
    alpha, other = request.param
    return Entmax(heads=1, alpha=alpha), other(heads=1)


def test_it_is_the_maps_between(scores, between):
    entmax, other = between
    torch.testing.assert_close(entmax(scores), other(scores))


def test_gradients_are_those_of_the_maps_between(scores, between):
    gradients = []
    for normalizer in between:
        leaf = scores.clone().requires_grad_()
        weight = torch.arange(40.0, dtype=torch.float64)
        (normalizer(leaf) * weight).sum().backward()
        gradients.append(leaf.grad)
    torch.testing.assert_close(*gradients)


def test_the_least_alpha_is_nearly_the_softmax(scores):
    found = Entmax(heads=1, alpha=1.01)(scores)
    assert (found - scores.softmax(dim=-1)).abs().max() < 0.02


@pytest.mark.parametrize("alpha", [1.01, 1.2, 1.7, 2.0])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_rows_sum_to_one(alpha, scale):
    generator = torch.Generator().manual_seed(1)
    rows = scale * torch.randn(50, 3000, generator=generator)
    sums = Entmax(heads=1, alpha=alpha)(rows).sum(dim=-1)
    torch.testing.assert_close(sums, torch.ones(50), atol=1e-5, rtol=0)


def test_a_learned_alpha_follows_its_head():
    """The higher alpha is, the more weight the largest score has."""
    entmax = Entmax(heads=2, alpha="learned")
    with torch.no_grad():
        entmax.u.copy_(torch.tensor([-3.0, 3.0])[:, None, None])
    scores = torch.tensor([1.0, 0.5, 0.0]).expand(1, 2, 1, 3)
    low, high = entmax(scores)[0, :, 0]
    assert high[0] > low[0]
    assert (low > 0).all()
    torch.testing.assert_close(
        high, Entmax(heads=1, alpha=1 + float(torch.tensor(3.0).sigmoid()))(scores[0, 0])[0]
    )
    entmax(scores)[..., 0].sum().backward()
    assert (entmax.u.grad > 0).all()


def test_a_learned_scale_follows_its_head():
    ssmax = Ssmax(heads=2)
    with torch.no_grad():
        ssmax.s.copy_(torch.tensor([0.5, 2.0])[:, None, None])
    low, high = ssmax(torch.tensor([1.0, 0.0, 0.0, 0.0]).expand(1, 2, 1, 4))[0, :, 0]
    assert low.tolist() == pytest.approx([2 / 5, 1 / 5, 1 / 5, 1 / 5])
    assert high.tolist() == pytest.approx([16 / 19, 1 / 19, 1 / 19, 1 / 19])

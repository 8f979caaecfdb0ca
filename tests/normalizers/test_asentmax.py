"""Adaptive-scalable entmax against sparsemax weights that are worked by hand."""

import math

import pytest
import torch

from attnexp.normalizers.asentmax import Asentmax

# the sparsemax of 1, 0.5, -1 is 3/4, 1/4, 0
TARGET, WEIGHTS = [1.0, 0.5, -1.0], [0.75, 0.25, 0.0]


def factor_of(n, delta, s, b, g):
    return delta + math.log(1 + math.exp(b)) * math.log(n) ** (s * math.tanh(g))


@pytest.mark.parametrize(("b", "g"), [(0.0, 0.0), (1.5, 0.8), (-2.0, -0.4)])
@pytest.mark.parametrize(("delta", "s"), [(1.0, 1.0), (0.0, 3.0)])
def test_scores_are_multiplied_by_a_factor_of_the_number_of_keys(b, g, delta, s):
    """A fourth key is masked and does not count; three more keys that are left do."""
    asentmax = Asentmax(heads=1, alpha=2.0, delta=delta, largest_power=s).double()
    with torch.no_grad():
        asentmax.b.fill_(b)
        asentmax.g.fill_(g)
    three, six = (factor_of(n, delta, s, b, g) for n in (3, 6))
    scores = torch.tensor([[each / three for each in [*TARGET, 9.0]]], dtype=torch.float64)
    found = asentmax(scores, torch.tensor([3]))
    torch.testing.assert_close(found.detach(), torch.tensor([[*WEIGHTS, 0.0]]).double())
    low = [-5.0] * 3
    scores = torch.tensor([[each / six for each in [*TARGET, *low]]], dtype=torch.float64)
    expected = torch.tensor([WEIGHTS + 3 * [0.0]]).double()
    torch.testing.assert_close(asentmax(scores).detach(), expected)


def test_a_row_with_one_key_has_finite_gradients():
    asentmax = Asentmax(heads=2)
    weights = asentmax(torch.randn(3, 2, 1, 4), torch.tensor([1, 1, 1]))
    assert weights[..., 0].eq(1).all()
    weights.square().sum().backward()
    assert asentmax.b.grad.isfinite().all()
    assert asentmax.g.grad.isfinite().all()


def test_wrong_settings_are_refused():
    with pytest.raises(ValueError, match="delta of normalizer=asentmax must be 0 or more, got -1"):
        Asentmax(heads=1, delta=-1.0)
    with pytest.raises(ValueError, match="largest_power of normalizer=asentmax must be greater"):
        Asentmax(heads=1, largest_power=0.0)
    with pytest.raises(ValueError, match="alpha of normalizer=entmax must be within"):
        Asentmax(heads=1, alpha=3.0)

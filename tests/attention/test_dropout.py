"""Dropout with a generator of its own."""

import pytest
import torch

from attnexp.attention.dropout import Dropout


def test_a_share_p_is_dropped_and_the_rest_is_scaled_up():
    torch.manual_seed(0)
    y = Dropout(0.25)(torch.ones(100, 1000))
    assert y.unique().tolist() == pytest.approx([0.0, 4 / 3])
    assert (y == 0).float().mean().item() == pytest.approx(0.25, abs=0.006)


@pytest.mark.parametrize("dropout", [Dropout(0.0), Dropout(0.5).eval()])
def test_without_dropping_it_is_the_identity(dropout):
    x = torch.randn(3, 5)
    assert dropout(x) is x


def test_the_seed_of_the_construction_decides_the_masks():
    def masks():
        torch.manual_seed(7)
        first, second = Dropout(0.5), Dropout(0.5)
        torch.manual_seed(8)
        return [module(torch.ones(50)) for module in (first, first, second)]

    once, again = masks(), masks()
    assert all(torch.equal(a, b) for a, b in zip(once, again, strict=True))
    assert not torch.equal(once[0], once[1])
    assert not torch.equal(once[0], once[2])


def test_the_gradient_goes_through_what_was_kept():
    x = torch.ones(1000, requires_grad=True)
    y = Dropout(0.5)(x)
    y.sum().backward()
    torch.testing.assert_close(x.grad, y.detach())


@pytest.mark.parametrize("p", [-0.1, 1.0, float("nan")])
def test_p_must_be_a_share(p):
    with pytest.raises(ValueError, match="dropout must be at least 0 and less than 1, got"):
        Dropout(p)

"""The exact maps beside the package entmax, whose authors defined them, and beside bisection."""

import entmax as package
import pytest
import torch

from attnexp.normalizers.threshold import entmax

THEIRS = {1: package.sparsemax, 2: package.entmax15}


def rows(seed, *shape):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("power", THEIRS)
@pytest.mark.parametrize("spread", [0.01, 0.5, 1.0, 3.0, 30.0])
@pytest.mark.parametrize("keys", [1, 2, 11, 400])
def test_weights_and_gradients_are_those_of_the_package(power, spread, keys):
    scores = spread * rows(keys, 4, 3, keys)
    gradient = rows(1, 4, 3, keys)
    found = []
    for entmax_map in (lambda a: entmax(a, power), lambda a: THEIRS[power](a, dim=-1)):
        leaf = scores.clone().requires_grad_()
        weights = entmax_map(leaf)
        weights.backward(gradient)
        found.append((weights.detach(), leaf.grad))
    torch.testing.assert_close(found[0], found[1], atol=1e-9, rtol=1e-9)
    assert torch.equal(found[0][0] > 0, found[1][0] > 0)


@pytest.mark.parametrize("power", THEIRS)
def test_single_precision_sums_to_one_for_long_rows(power):
    for spread in (0.0, 1e-3, 1.0):
        weights = entmax(spread * rows(5, 8, 5000).float(), power)
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(8))


@pytest.mark.parametrize("power", THEIRS)
def test_the_largest_numbers_are_no_exception(power):
    for dtype in (torch.float32, torch.float64):
        limits = torch.finfo(dtype)
        scores = torch.tensor([[limits.max, limits.max, 0.0, limits.min]], dtype=dtype)
        assert entmax(scores, power).tolist() == [[0.5, 0.5, 0.0, 0.0]]
        scores = torch.tensor([[limits.tiny, 0.0, -limits.tiny]], dtype=dtype)
        torch.testing.assert_close(entmax(scores, power), torch.full((1, 3), 1 / 3, dtype=dtype))

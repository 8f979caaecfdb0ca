"""Rprop against that of PyTorch."""

import pytest
import torch
from imported import python

from attnexp.training.optimizers import Rprop, reads_rate_once


def giving(loss):
    return lambda: loss


@pytest.mark.parametrize("shape", [(), (3,), (4, 5)], ids=str)
def test_updates_are_those_of_pytorch_bit_for_bit(shape):
    generator = torch.Generator().manual_seed(0)
    ours, theirs = (torch.nn.Parameter(torch.ones(shape)) for _ in range(2))
    rate = 0.3 if not shape else 0.01
    descent = Rprop([ours], lr=0.01, scalar_lr=0.3, max_step=0.5)
    oracle = torch.optim.Rprop([theirs], lr=rate, step_sizes=(1e-6, 0.5))
    for number in range(200):
        gradient = torch.randn(shape, generator=generator)
        gradient[torch.rand(shape, generator=generator) < 0.1] = 0.0
        ours.grad, theirs.grad = gradient.clone(), gradient.clone()
        loss = torch.tensor(float(number))
        assert descent.step(giving(loss)) is loss
        oracle.step()
        assert ours.equal(theirs)
        assert ours.grad.equal(gradient)


def test_scalars_have_their_own_first_step():
    matrix, scalar = torch.nn.Parameter(torch.ones(2, 2)), torch.nn.Parameter(torch.tensor(1.0))

    def closure():
        with torch.enable_grad():
            loss = matrix.sum() + scalar
            loss.backward()
        return loss

    Rprop([matrix, scalar], lr=0.1, scalar_lr=0.5, max_step=1.0).step(closure)
    assert scalar.item() == pytest.approx(0.5)
    torch.testing.assert_close(matrix.detach(), torch.full((2, 2), 0.9))
    with pytest.raises(ValueError, match="scalar_lr must be greater than 0, got 0"):
        Rprop([matrix, scalar], lr=0.1, scalar_lr=0, max_step=1.0)


def test_who_reads_the_rate_once():
    parameter = torch.nn.Parameter(torch.ones(2))
    assert reads_rate_once(Rprop([parameter], lr=0.1, scalar_lr=0.5, max_step=1.0))
    assert reads_rate_once(torch.optim.Rprop([parameter]))
    for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.LBFGS):
        assert not reads_rate_once(kind([parameter], lr=0.1))


def test_the_default_run_does_not_import_the_compiler(tmp_path):
    """It would take longer than the whole of a small run."""
    code = """
import sys
from attnexp.cli.main import run
assert run(["figures=false"]) == 0
assert "torch" in sys.modules
assert "torch._dynamo" not in sys.modules
"""
    answer = python("-c", code, cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr

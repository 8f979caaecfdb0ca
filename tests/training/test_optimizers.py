"""Rprop and Adam against those of PyTorch."""

import pytest
import torch
from composed import prepared
from imported import python

from attnexp.training.optimizers import (
    Adam,
    Rprop,
    reads_rate_once,
)


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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize(
    "more",
    [
        {"fused": True, "betas": (0.9, 0.98)},
        {"fused": True, "weight_decay": 0.1},
        {"fused": False, "eps": 1e-3},
        {"fused": False, "weight_decay": 0.1},
        {},
    ],
    ids=str,
)
def test_updates_of_adam_are_those_of_pytorch_bit_for_bit(more, dtype):
    generator = torch.Generator().manual_seed(0)
    shapes = [(), (3,), (4, 5), (37, 29), (2,)]
    ours, theirs = (
        [torch.nn.Parameter(torch.ones(shape, dtype=dtype)) for shape in shapes] for _ in range(2)
    )
    descent, oracle = Adam(ours, lr=0.01, **more), torch.optim.Adam(theirs, lr=0.01, **more)
    for number in range(50):
        for one, other in zip(ours[:-1], theirs[:-1], strict=True):
            if number % 7 or one.dim() != 1:
                one.grad = torch.randn(one.shape, generator=generator, dtype=dtype)
                other.grad = one.grad.clone()
        descent.param_groups[0]["lr"] = oracle.param_groups[0]["lr"] = 0.01 * (1 - number / 50)
        descent.step(giving(torch.tensor(1.0)))
        oracle.step()
        for one, other in zip(ours, theirs, strict=True):
            assert one.equal(other)
    for one, other in zip(ours[:-1], theirs[:-1], strict=True):
        assert descent.state[one].keys() == oracle.state[other].keys()
    assert ours[-1] not in descent.state, "it has no gradient"


def test_settings_of_adam_that_make_no_sense_are_refused():
    parameter = torch.nn.Parameter(torch.ones(2))
    for wrong in (
        {"betas": (0.9,)},
        {"lr": -1.0},
        {"eps": -1.0},
        {"weight_decay": -0.1},
        {"betas": (0.9, 1.0)},
    ):
        with pytest.raises(ValueError, match="at least 0"):
            Adam([parameter], **wrong)


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


SMALL = ["data=reverse", "data.num_train=20", "data.num_validation=5", "data.num_test=5"]


@pytest.mark.slow
@pytest.mark.check
@pytest.mark.parametrize(
    "words",
    [[], pytest.param([*SMALL, "train.max_epochs=1"], marks=pytest.mark.slow)],
    ids=["curve", "sequences"],
)
def test_a_default_run_does_not_import_the_compiler(tmp_path, words):
    """It would take longer than the whole of a small run."""
    code = f"""
import sys
from attnexp.cli.main import run
assert run(["figures=false", *{words}]) == 0
assert "torch" in sys.modules
assert "torch._dynamo" not in sys.modules
"""
    answer = python("-c", code, cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr


def test_a_run_names_the_class_that_updates_it():
    """PyTorch's is there for who names it."""
    assert isinstance(prepared("data=copy", "model=dot").optimizer(params=parameters()), Adam)
    words = ("data=copy", "model=dot", "optim._target_=torch.optim.Adam")
    assert type(prepared(*words).optimizer(params=parameters())) is torch.optim.Adam


def parameters():
    return [torch.nn.Parameter(torch.ones(2))]

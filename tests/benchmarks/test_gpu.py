import sys

import gpu
import pytest
import torch


def test_without_a_gpu_it_says_so(monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(sys, "argv", ["gpu.py"])
    with pytest.raises(SystemExit, match="2"):
        gpu.main()
    assert capsys.readouterr().err == (
        "benchmarks/gpu.py needs a CUDA device, and PyTorch finds none\n"
    )


def test_what_is_compared_is_the_same_mathematics(monkeypatch):
    """Without a GPU to capture on, our eager step beside the textbook's."""
    monkeypatch.setattr(gpu, "captured", gpu.eager)
    monkeypatch.setattr(gpu, "AGREEMENT_STEPS", 4)
    for steps in gpu.rivals(torch.device("cpu")).values():
        assert gpu.check_agreement(steps) < gpu.TOLERANCE


def test_different_mathematics_is_not_compared():
    steps = {"ours": lambda: torch.tensor(1.0), "theirs": lambda: torch.tensor(1.1)}
    with pytest.raises(RuntimeError, match=r"step 0: theirs has 1\.1\d*, ours 1\.0"):
        gpu.check_agreement(steps)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch finds no CUDA device")
def test_kernels_are_counted():
    x = torch.rand(1000, device="cuda")
    kernels, busy = gpu.kernels_of(lambda: x.exp().sum())
    assert 2 <= kernels <= 4
    assert 0 < busy <= 1

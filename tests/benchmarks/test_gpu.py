import sys

import gpu
import pytest
import torch
from pretended import devices


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
@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")
def test_kernels_are_counted():
    x = torch.rand(1000, device="cuda")
    kernels, busy = gpu.kernels_of(lambda: x.exp().sum())
    assert 2 <= kernels <= 4
    assert 0 < busy <= 1


@pytest.mark.slow
@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU, none is pretended")
@pytest.mark.filterwarnings("ignore:PyTorch was compiled without cuDNN")
def test_the_benchmark_runs_on_a_gpu_that_is_pretended(monkeypatch, capsys):
    """Its code path, in two steps: it has no kernels to profile, and its times mean nothing."""
    monkeypatch.setattr(gpu, "kernels_of", lambda step: (float(step().numel()), 1.0))
    monkeypatch.setattr(gpu, "AGREEMENT_STEPS", 5)
    monkeypatch.setattr(sys, "argv", ["gpu.py", "--steps", "1", "--repeats", "2"])
    with devices():
        assert gpu.main() in (0, 1)
    printed = capsys.readouterr().out
    assert "pretended GPU 0" in printed
    assert printed.count("one CUDA graph") == 2
    assert "runs without a CUDA graph" not in printed

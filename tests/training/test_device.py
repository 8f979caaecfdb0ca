"""The device of a run, and what a run sets up on the processor."""

import pytest
import torch
from imported import python

from attnexp.core.errors import RequestError
from attnexp.training.device import choose_device, prepare_processor


@pytest.fixture
def there(monkeypatch):
    """Says how many CUDA devices and Apple GPUs PyTorch finds."""

    def set_up(cuda, mps):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps > 0)

    return set_up


@pytest.mark.parametrize(
    ("cuda", "mps", "device"), [(2, 0, "cuda:0"), (1, 1, "cuda:0"), (0, 1, "cpu"), (0, 0, "cpu")]
)
def test_auto_takes_what_is_there(there, cuda, mps, device):
    there(cuda, mps)
    assert choose_device("auto")[0] == torch.device(device)


def test_auto_names_an_apple_gpu_that_it_does_not_take(there):
    there(cuda=0, mps=1)
    assert "device=mps" in choose_device("auto")[1]
    there(cuda=0, mps=0)
    assert "mps" not in choose_device("auto")[1]


@pytest.mark.parametrize(
    ("version", "wrong"),
    [("2.8.0", True), ("2.8.1+cpu", True), ("2.13.0", False), ("2.80.0", False)],
)
def test_a_pytorch_that_is_wrong_on_an_apple_gpu_is_named(there, monkeypatch, version, wrong):
    there(cuda=0, mps=1)
    monkeypatch.setattr(torch, "__version__", version)
    device, why = choose_device("mps")
    assert device == torch.device("mps")
    assert (version in why) is wrong


@pytest.mark.parametrize(
    ("cuda", "name", "why"),
    [
        (0, "cuda", "device=cuda is not available: PyTorch finds no CUDA device"),
        (2, "cuda:2", "device=cuda:2 is not available: PyTorch finds only cuda:0 to cuda:1"),
        (2, "mps", "device=mps is not available: PyTorch finds no Apple GPU"),
    ],
)
def test_a_device_that_is_not_there_is_refused(there, cuda, name, why):
    there(cuda, mps=0)
    with pytest.raises(RequestError, match=why):
        choose_device(name)


def test_the_processor_is_prepared():
    threads = torch.get_num_threads()
    prepare_processor(1)
    assert torch.get_num_threads() == 1
    assert torch.tensor(1e-40).mul(1.0) == 0
    torch.set_num_threads(threads)


@pytest.mark.parametrize(("given", "found"), [(None, "AUTO"), ("COMPATIBLE", "COMPATIBLE")])
def test_products_of_mkl_depend_on_no_alignment_unless_the_user_says_how(given, found, monkeypatch):
    monkeypatch.delenv("MKL_CBWR", raising=False)
    code = "import os, attnexp; print(os.environ['MKL_CBWR'])"
    answer = python("-c", code, **({"MKL_CBWR": given} if given else {}))
    assert answer.stdout == f"{found}\n"

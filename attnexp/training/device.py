"""The choice of the device that a run computes on."""

import ctypes
import os
import re

import torch

from attnexp.core.errors import RequestError, suggestion
from attnexp.core.synonyms import settings_for
from attnexp.runs.settings import DEVICES
from attnexp.training.auto_device import is_small

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""The numbers of two parameters in glibc's malloc.h."""

WRONG_ON_APPLE = "2.8"
"""The PyTorch whose linear layers are silently wrong on Apple: pytorch/pytorch, issue 161640."""


def choose_device(name: str, pairs: int | None = None) -> tuple[torch.device, str]:
    """Return the device for `auto`, `cpu`, `cuda`, `cuda:N` or `mps`, and the reason for it.

    `pairs` is the number of pairs of training points of a regression: `auto` takes no GPU for few.
    `auto` never takes an Apple GPU: small models are slower there than on the processor.

    Raises RequestError for another name, and for a device that is not available: no other device
    takes its place.
    """
    if name == "auto":
        return _best(pairs)
    if name == "cpu":
        return torch.device("cpu"), "as asked"
    if name == "mps":
        if not torch.backends.mps.is_available():
            raise RequestError(
                "device=mps is not available: PyTorch finds no Apple GPU. Use device=cpu"
            )
        return torch.device("mps"), _asked_of_apple()
    if re.fullmatch(r"cuda(:\d+)?", name):
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        index = int(name.partition(":")[2] or 0)
        if index >= count:
            there = f"only cuda:0 to cuda:{count - 1}" if count else "no CUDA device"
            raise RequestError(
                f"device={name} is not available: PyTorch finds {there}. Use device=cpu"
            )
        return torch.device("cuda", index), "as asked"
    numbered = re.fullmatch(r"(?:gpu|cuda)?:?(\d+)", name)
    near = suggestion(
        [f"device=cuda:{numbered[1]}"] if numbered else settings_for(f"device={name}")
    )
    problem = f"device must be {DEVICES}, got '{name}'"
    raise RequestError(f"{problem}.{near}" if near else problem)


def prepare_processor(threads: int) -> None:
    """Set up this process for training on `threads` threads of the processor.

    Numbers too small for a normal float become 0: an operation on them takes many times as long.
    With glibc, memory that a step frees is kept for the next step, up to 64 MiB. By default glibc
    returns large pieces to the system, which clears them again at each step. Its own threshold
    adapts up to the same size, 32 MiB per piece, once a program has freed a piece as large.
    """
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is not None:
        mallopt(MMAP_THRESHOLD, 32 << 20)
        mallopt(TRIM_THRESHOLD, 64 << 20)


def device_name(device: torch.device) -> str:
    """Return the name of a device: the GPU's product name, or the kind of device."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def _best(pairs: int | None) -> tuple[torch.device, str]:
    if not torch.cuda.is_available():
        apple = torch.backends.mps.is_available()
        why = "no CUDA device; device=mps takes the Apple GPU" if apple else "no CUDA device"
        return torch.device("cpu"), f"auto: {why}"
    if pairs is not None and is_small(pairs):
        return torch.device("cpu"), "auto: too few points for a GPU, which device=cuda takes"
    return torch.device("cuda", 0), "auto: the first CUDA device"


def _asked_of_apple() -> str:
    """Return why a run is on an Apple GPU, and what its version of PyTorch does wrong there."""
    version = torch.__version__
    if version.startswith(f"{WRONG_ON_APPLE}."):
        return f"as asked; PyTorch {version} computes wrong products there: update it, or use cpu"
    return "as asked"

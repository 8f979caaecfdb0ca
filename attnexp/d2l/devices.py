"""The devices of Dive into Deep Learning."""

import torch


def cpu() -> torch.device:
    """Return the CPU."""
    return torch.device("cpu")


def gpu(i: int = 0) -> torch.device:
    """Return the GPU of a number, which counts from 0."""
    return torch.device(f"cuda:{i}")


def num_gpus() -> int:
    """Return the number of GPUs."""
    return torch.cuda.device_count()


def try_gpu(i: int = 0) -> torch.device:
    """Return the GPU of a number if there is one, and the CPU otherwise."""
    return gpu(i) if i < num_gpus() else cpu()


def try_all_gpus() -> list[torch.device]:
    """Return all GPUs."""
    return [gpu(i) for i in range(num_gpus())]

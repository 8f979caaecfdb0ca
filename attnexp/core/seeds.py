"""The random numbers of a run: independent streams, from its seed.

The stream "data" is from the seed of the data if the run has one: the examples, their noise and
their division into sets. The first parameters, dropout, the order of training and the untrained
models of chance are from the seed of the run.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import torch


def generator(seed: int, stream: str) -> torch.Generator:
    """Return a generator for one purpose. The streams of a seed are independent of each other."""
    return torch.Generator().manual_seed(stream_seed(seed, stream))


def stream_seed(seed: int, stream: str) -> int:
    """Return 63 bits of the SHA-256 of a seed and the name of a stream."""
    digest = hashlib.sha256(f"{seed} {stream}".encode()).digest()
    return int.from_bytes(digest[:8]) >> 1


@contextmanager
def seeded(seed: int, stream: str) -> Iterator[None]:
    """Seed PyTorch's global generator for a block, and restore its state afterwards.

    Modules draw their first parameters from the global generator, those of users included. Models
    are built on the CPU, so that the first parameters are the same on every device.
    """
    before = torch.default_generator.get_state()
    torch.default_generator.manual_seed(stream_seed(seed, stream))
    try:
        yield
    finally:
        torch.default_generator.set_state(before)

"""The choice of a GPU for each worker process."""

import getpass
import os
import tempfile
from itertools import count
from pathlib import Path

from filelock import FileLock, Timeout

from attnexp.errors import writable

_reserved: list[FileLock] = []
"""The locks on reservations, which are held until this process ends."""


def reserve_gpu() -> dict[str, str]:
    """Return the environment variable that makes the GPU with the fewest workers the visible one.

    It is empty where there are fewer than two GPUs. The reservation is a lock on a file, held until
    this process ends, so that all sweeps of a user on this machine take part. Raises RequestError
    where that file cannot be made.
    """
    gpus = visible_gpus()
    if len(gpus) < 2:
        return {}
    with writable("TMPDIR", os.environ.get("TMPDIR", "/tmp")):
        folder = Path(tempfile.gettempdir()) / f"attnexp-{getpass.getuser()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        for workers in count():
            for gpu in gpus:
                lock = FileLock(folder / f"gpu-{gpu}-{workers}", timeout=0)
                try:
                    lock.acquire()
                except Timeout:
                    continue
                _reserved.append(lock)
                return {"CUDA_VISIBLE_DEVICES": gpu}
    raise AssertionError


def visible_gpus() -> list[str]:
    """Return the GPUs that CUDA would show to this process, without importing torch."""
    asked = os.environ.get("CUDA_VISIBLE_DEVICES")
    if asked is not None:
        return [gpu.strip() for gpu in asked.split(",") if gpu.strip() not in ("", "-1")]
    try:
        return [str(number) for number, _ in enumerate(os.listdir("/proc/driver/nvidia/gpus"))]
    except OSError:
        return []

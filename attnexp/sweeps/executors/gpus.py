"""A GPU for each process, where there are several."""

import fcntl
import os
import tempfile
from itertools import count
from pathlib import Path


def gpu_of_our_own() -> dict[str, str]:
    """The variable that leaves one GPU visible: the one that the fewest workers have.

    The choice is a lock on a file, held as long as this process lives, so it is good for all
    sweeps of a user on this machine.
    """
    gpus = visible_gpus()
    if len(gpus) < 2:
        return {}
    folder = Path(tempfile.gettempdir()) / f"attnexp-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    for turn in count():
        for gpu in gpus:
            file = os.open(folder / f"gpu-{gpu}-{turn}", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(file)
            else:
                return {"CUDA_VISIBLE_DEVICES": gpu}
    raise AssertionError


def visible_gpus() -> list[str]:
    """The GPUs that CUDA would show to this process, found without asking CUDA."""
    asked = os.environ.get("CUDA_VISIBLE_DEVICES")
    if asked is not None:
        return [gpu.strip() for gpu in asked.split(",") if gpu.strip() not in ("", "-1")]
    try:
        return [str(number) for number, _ in enumerate(os.listdir("/proc/driver/nvidia/gpus"))]
    except OSError:
        return []

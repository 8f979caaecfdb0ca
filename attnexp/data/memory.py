"""The memory of this machine."""

import math
import os
import re
from pathlib import Path

MEMINFO = Path("/proc/meminfo")


def available_memory() -> float:
    """Return the memory that a process can use without swapping, in bytes.

    On Linux this is free memory and the part of caches that can be freed. On macOS, which does not
    count that, it is all memory. On a system that counts neither it is infinity.
    """
    if os.path.exists(MEMINFO):
        kilobytes = re.search(r"^MemAvailable: +(\d+) kB$", MEMINFO.read_text(), re.MULTILINE)
        if kilobytes:
            return 1024 * int(kilobytes[1])
    if not hasattr(os, "sysconf"):
        return math.inf
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def require_memory(what: str, needed: float) -> None:
    """Raise ValueError if `what` needs more bytes than are available."""
    available = available_memory()
    if needed > available:
        raise ValueError(
            f"{what} need about {needed / 1e9:,.1f} GB of memory, and {available / 1e9:,.1f} GB "
            "are available"
        )

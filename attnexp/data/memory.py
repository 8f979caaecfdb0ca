"""The memory of this machine."""

import os
import re
from pathlib import Path

MEMINFO = Path("/proc/meminfo")


def available_memory() -> int:
    """Return the bytes that a process can have without swapping; without Linux's count, all bytes.

    Linux counts what is free and what its caches can give back. macOS has no such count.
    """
    if MEMINFO.exists():
        kilobytes = re.search(r"^MemAvailable: +(\d+) kB$", MEMINFO.read_text(), re.MULTILINE)
        if kilobytes:
            return 1024 * int(kilobytes[1])
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def require_memory(what: str, needed: float) -> None:
    """Raise ValueError where `what` needs more bytes than are available."""
    available = available_memory()
    if needed > available:
        raise ValueError(
            f"{what} need about {needed / 1e9:,.1f} GB of memory, and {available / 1e9:,.1f} GB "
            "are available"
        )

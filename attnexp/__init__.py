"""attnexp runs and compares attention mechanisms from the command line."""

import os
from typing import TYPE_CHECKING

from attnexp.version import __version__

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from attnexp.runs.run import Run

# MKL reads this at its first call. Its products then do not depend on where operands lie in memory.
os.environ.setdefault("MKL_CBWR", "AUTO")

__all__ = ["__version__", "load_results", "load_run"]


def load_results(*paths: "str | Path") -> "pd.DataFrame":
    """Return all runs at or below the folders, `outputs` by default, a row a run.

    See `attnexp.runs.frame.load_results` for the columns.
    """
    from attnexp.runs import frame

    return frame.load_results(*paths)


def load_run(path: "str | Path") -> "Run":
    """Return one run, with its curves and its attention. See `attnexp.runs.run.Run`."""
    from attnexp.runs import run

    return run.load_run(path)

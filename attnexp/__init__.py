"""attnexp runs and compares attention mechanisms from the command line."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from attnexp.runs.load import LoadedRun

__version__ = "0.1.0"
__all__ = ["__version__", "load_results", "load_run"]


def load_results(*paths: "str | Path") -> "pd.DataFrame":
    """All runs at or below the folders, `outputs` by default, a row a run.

    See `attnexp.runs.frame.load_results` for the columns.
    """
    from attnexp.runs import frame

    return frame.load_results(*paths)


def load_run(path: "str | Path") -> "LoadedRun":
    """One run, with its attention as tensors. See `attnexp.runs.load.LoadedRun`."""
    from attnexp.runs import load

    return load.load_run(path)

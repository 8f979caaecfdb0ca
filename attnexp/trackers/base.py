"""The contract of a tracker."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attnexp.runs.summary import Summary


class Tracker:
    """Copies the numbers of a run to a tool with which people watch runs.

    A tracker changes nothing in the run, and no number depends on it. Each of its methods is called
    after the same content has been written to the run folder, and records nothing unless a tracker
    defines it. The constructor takes settings alone, and raises ValueError if a library is not
    installed; `begin` imports the library.
    """

    def begin(self, folder: Path, summary: Summary) -> None:
        """Record that a run begins in a folder. An error here ends the run."""

    def epoch(self, row: Mapping[str, Any]) -> None:
        """Record a row of metrics.csv; `epoch` is among its columns."""

    def end(self, folder: Path, summary: Summary) -> None:
        """Record how the run ended: `status`, final metrics, and the pictures in its folder."""

"""The contract of a tracker."""

import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attnexp.runs import files
from attnexp.runs.summary import Summary


class Tracker(ABC):
    """Copies the numbers of a run to a tool with which people watch runs.

    A tracker changes nothing in the run, and no number depends on it. Each of its methods is called
    after the same content has been written to the run folder. Its constructor takes its settings
    alone, and raises ValueError where its library is not installed; `begin` imports the library.
    """

    @abstractmethod
    def begin(self, folder: Path, summary: Summary) -> None:
        """Record that a run begins in a folder. An error here ends the run."""

    @abstractmethod
    def epoch(self, row: Mapping[str, Any]) -> None:
        """Record a row of metrics.csv; `epoch` is among its columns."""

    @abstractmethod
    def end(self, folder: Path, summary: Summary) -> None:
        """Record how the run ended: `status`, final metrics, and the pictures in its folder."""


def require(package: str, tracker: str) -> None:
    """Raise ValueError unless a package can be imported."""
    if importlib.util.find_spec(package) is None:
        raise ValueError(
            f"tracker={tracker} needs the package {package}: pip install 'attnexp[{tracker}]'"
        )


def pictures(folder: Path) -> list[Path]:
    """Return the pictures in a run folder, in order of name."""
    return sorted((folder / files.FIGURES).glob("*.png"))

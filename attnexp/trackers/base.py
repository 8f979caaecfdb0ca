"""The contract of a tracker."""

import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attnexp.runs import files
from attnexp.runs.summary import Summary


class Tracker(ABC):
    """Copies the numbers of a run to a tool that people watch runs with.

    A tracker changes nothing in the run, and no number depends on it: the folder of the run remains
    the whole truth. It is told of each thing after it has been written there. Its constructor takes
    its settings and nothing else, and raises ValueError where its library is not installed; the
    library is imported in `begin`.
    """

    @abstractmethod
    def begin(self, folder: Path, summary: Summary) -> None:
        """A run begins in a folder. An error here ends the run."""

    @abstractmethod
    def epoch(self, row: Mapping[str, Any]) -> None:
        """A row of metrics.csv; `epoch` is among its columns."""

    @abstractmethod
    def end(self, folder: Path, summary: Summary) -> None:
        """The run has ended, well or not: `status`, final metrics, and pictures in its folder."""


def require(package: str, tracker: str) -> None:
    """Raise ValueError unless a package can be imported."""
    if importlib.util.find_spec(package) is None:
        raise ValueError(
            f"tracker={tracker} needs the package {package}: pip install 'attnexp[{tracker}]'"
        )


def pictures(folder: Path) -> list[Path]:
    """The pictures that a run has drawn, in order of name."""
    return sorted((folder / files.FIGURES).glob("*.png"))

"""The contract of a tracker."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from attnexp.runs.settings import leaves
from attnexp.runs.summary import Summary

PRIMARY = "_primary"
"""The name under which the metric that ranks is recorded."""

TRAINING, FINAL = "train/", "final/"
"""The beginnings of the names of columns of metrics.csv and of final metrics."""


def settings_of(summary: Summary) -> dict[str, Any]:
    """Return the configuration of a run as it is recorded.

    It has each choice by its group, each setting by its dotted path, and the metric that ranks.
    """
    return {**summary.choices, **dict(leaves(summary.config)), PRIMARY: summary.primary}


class Tracker:
    """Copies the numbers of a run to a tool with which people watch runs.

    A tracker changes nothing in the run, and no number depends on it. Each of its methods is called
    after the same content has been written to the run folder, and records nothing unless a tracker
    defines it. The constructor takes settings alone, and `begin` imports the libraries.
    """

    packages: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """The packages that `begin` imports, each with what pip installs for it: one that is missing is
    said before the first job."""

    def begin(self, folder: Path, summary: Summary) -> None:
        """Record that a run begins in a folder. An error here ends the run."""

    def epoch(self, row: Mapping[str, Any]) -> None:
        """Record a row of metrics.csv; `epoch` is among its columns."""

    def end(self, folder: Path, summary: Summary) -> None:
        """Record how the run ended: `status`, final metrics, and the pictures in its folder."""

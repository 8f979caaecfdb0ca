"""No tracker."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attnexp.runs.summary import Summary
from attnexp.trackers.base import Tracker


class NoTracker(Tracker):
    """Records nothing outside the run folder."""

    def begin(self, folder: Path, summary: Summary) -> None:
        return

    def epoch(self, row: Mapping[str, Any]) -> None:
        return

    def end(self, folder: Path, summary: Summary) -> None:
        return

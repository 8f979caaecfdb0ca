"""A tracker whose failures do not end a run."""

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attnexp.core import console
from attnexp.runs.summary import Summary, error_text
from attnexp.trackers.base import Tracker

log = logging.getLogger(__name__)


class GuardedTracker(Tracker):
    """Calls another tracker until it fails; then warns once and calls it no more.

    An error of `begin` passes through: a tracker that cannot work ends a run before it has begun.
    """

    def __init__(self, tracker: Tracker) -> None:
        self._tracker = tracker
        self._working = False

    def begin(self, folder: Path, summary: Summary) -> None:
        self._tracker.begin(folder, summary)
        self._working = True

    def epoch(self, row: Mapping[str, Any]) -> None:
        self._attempt(lambda: self._tracker.epoch(row))

    def end(self, folder: Path, summary: Summary) -> None:
        self._attempt(lambda: self._tracker.end(folder, summary))

    def _attempt(self, tell: Callable[[], None]) -> None:
        if not self._working:
            return
        try:
            tell()
        except (Exception, SystemExit) as error:  # whatever a tool of others may raise
            self._working = False
            log.info("the tracker failed", exc_info=error)
            console.warn(f"the tracker failed and is not called again: {error_text(error)}")

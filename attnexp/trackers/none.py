"""No tracker."""

from attnexp.trackers.base import Tracker


class NoTracker(Tracker):
    """Records nothing outside the run folder."""

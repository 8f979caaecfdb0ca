"""The log of a run, attnexp.log in its folder."""

import logging
import sys

from attnexp import console
from attnexp.errors import refusal


class LogFile(logging.FileHandler):
    """Appends messages to a file. That it cannot be written is said once, and ends nothing."""

    def __init__(self, filename: str, delay: bool = False) -> None:
        super().__init__(filename, encoding="utf-8", errors="surrogateescape", delay=delay)
        self._told = False

    def handleError(self, record: logging.LogRecord) -> None:
        error = sys.exception()
        if not isinstance(error, OSError):
            super().handleError(record)
        elif not self._told:
            self._told = True
            console.warn(f"{self.baseFilename} cannot be written: {refusal(error)}")

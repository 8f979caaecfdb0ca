"""The log of a run, attnexp.log in its folder."""

import logging
import sys
from contextlib import suppress

from attnexp.core import console
from attnexp.core.errors import refusal


class LogFile(logging.FileHandler):
    """Appends messages to a file. A file that cannot be written brings one warning and no error."""

    def __init__(self, filename: str, delay: bool = False) -> None:
        super().__init__(filename, encoding="utf-8", errors="surrogateescape", delay=delay)
        self._warned = False

    def handleError(self, record: logging.LogRecord) -> None:
        error = sys.exception()
        if not isinstance(error, OSError):
            super().handleError(record)
        elif not self._warned:
            self._warned = True
            console.warn(f"{self.baseFilename} cannot be written: {refusal(error)}")

    def close(self) -> None:
        """Close the file, and ignore errors of the system.

        The messages that could not be written have brought a warning already.
        """
        with suppress(OSError):
            super().close()

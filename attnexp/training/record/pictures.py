"""The pictures of a run that has finished."""

import logging
from pathlib import Path

import msgspec

from attnexp.core import console
from attnexp.runs.files import FIGURES
from attnexp.runs.summary import Summary, error_text

log = logging.getLogger(__name__)


def draw(summary: Summary, folder: Path) -> Summary:
    """Draw the pictures of a finished run, and return its summary.

    If that fails, the summary has a note with the reason, here and on disk.
    """
    try:
        from attnexp.plots import catalogue

        catalogue.draw_run(folder, summary)
    except Exception as error:  # the numbers are on disk without them
        log.info("the pictures could not be drawn", exc_info=error)
        note = (
            f"the pictures could not be drawn ({error_text(error)}); attnexp plot draws them again"
        )
        summary = msgspec.structs.replace(summary, notes=[*summary.notes, note])
        try:
            summary.write(folder)
        except OSError as lost:
            console.warn(f"the last note could not be written into the summary: {error_text(lost)}")
    return summary


def draw_missing(summary: Summary, folder: Path) -> Summary:
    """Draw the pictures of a finished run unless it has some: its process may have been killed."""
    return summary if any((folder / FIGURES).glob("*.png")) else draw(summary, folder)

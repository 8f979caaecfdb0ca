"""The runs that a command line names, and lines on the runs that are left out."""

from collections.abc import Sequence
from pathlib import Path

from attnexp.core import console
from attnexp.core.errors import RequestError, shortened
from attnexp.runs.folder import Run
from attnexp.runs.key import RESULTS_VERSION
from attnexp.select.collect import OUTPUTS, Collected, collect_asked

MOST_REASONS = 3
"""The most reasons in a line."""


def selected(
    paths: Sequence[str | Path],
    where: str | None,
    version: int = RESULTS_VERSION,
    verb: str = "results",
) -> list[Run]:
    """Return the runs of a results version at or below the paths that fit the test `where`.

    Without paths these are the runs below `outputs`, except runs of cards, claims and chapters.

    Prints which folders could not be read, and which runs `verb` leaves out. Raises RequestError
    for paths without runs, and for a test with an error or that no run fits.
    """
    collected = collect_asked(paths, version)
    print_left_out(collected, verb)
    if not collected.runs:
        of = f" of results version {version}" if collected.others else ""
        raise RequestError(f"there are no runs{of} below {', '.join(map(str, paths)) or OUTPUTS}")
    if where is None:
        return collected.runs
    from attnexp.select.frame import make_frame
    from attnexp.select.where import fitting

    return fitting(make_frame(collected.runs), where).runs


def print_left_out(collected: Collected, verb: str = "results") -> None:
    """Print lines on skipped folders, runs that are left out by `verb`, and running runs."""
    warn_skipped(collected.skipped)
    for sentence in (*collected.of_other_versions, *collected.apart(verb)):
        console.warn_aside(sentence)
    if count := len(collected.begun):
        console.warn_aside(f"{count} {'is' if count == 1 else 'are'} running")


def warn_skipped(reasons: Sequence[str], how: str = "skipped {}", noun: str = "folder") -> None:
    """Print one line with the number of things left out and the first reasons, if any."""
    if reasons:
        count = console.count_text(len(reasons), noun)
        first = "; ".join(shortened(reason, 200) for reason in reasons[:MOST_REASONS])
        omitted = len(reasons) - MOST_REASONS
        more = f"; and {omitted} more" if omitted > 0 else ""
        console.warn_aside(f"{how.format(count)}: {first}{more}")

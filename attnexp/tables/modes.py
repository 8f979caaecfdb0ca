"""Rows whose seeds fall into two groups, which is a finding that a mean does not show."""

from collections.abc import Iterator, Sequence

from attnexp.console import number_text
from attnexp.tables.comparison import Entry, Part
from attnexp.tables.groups import is_share
from attnexp.tables.power import name
from attnexp.tables.significance import seed_means
from attnexp.tables.statistics import two_groups

LISTED = 4
"""The most values that are listed; of more, the smallest and largest are told."""


def split_rows(part: Part) -> Iterator[str]:
    """Return a sentence for each row and share of which some seeds stayed behind the others."""
    for entry in (entry for entries in part.entries for entry in entries):
        if entry.metric and entry.better and is_share(part.frame, entry.metric):
            groups = two_groups(seed_means(entry.values))
            if groups:
                yield _sentence(part, entry, *groups)


def _sentence(part: Part, entry: Entry, low: list[float], high: list[float]) -> str:
    behind, ahead = (low, high) if entry.better == "higher" else (high, low)
    return (
        f"{len(behind)} of {len(low) + len(high)} seeds of {name(part, entry)} stayed behind in "
        f"{entry.metric}: {_listed(behind)} beside {_listed(ahead)}. How many seeds learn says "
        "more than the mean"
    )


def _listed(values: Sequence[float]) -> str:
    if len(values) > LISTED:
        return f"{number_text(values[0])} to {number_text(values[-1])}"
    return ", ".join(map(number_text, values))

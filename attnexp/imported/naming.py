"""Names of imported runs: the kinds that tell runs apart, and the seeds at their ends."""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from attnexp.imported.outside import LARGEST

RUN = "run"
"""The kind of name that is a run's own."""

IDENTITY = "id"
"""The kind of name that a tool gives to one run alone."""

SEEDED = re.compile(
    r"(?P<stem>.*?)(?:(?:^|[\W_])(?:seed|s)|(?<=[a-z0-9])seed)[\W_]?(?P<seed>\d{1,19})",
    re.IGNORECASE | re.DOTALL,
)
"""A name that ends in a seed: `dot_seed3`, `dot-s3`, `dot/seed=3`."""


def seed_in(name: str) -> tuple[str, int] | None:
    """Return a name without the seed at its end, and the seed; None for another name."""
    found = SEEDED.fullmatch(name)
    if found is None or int(found["seed"]) > LARGEST:
        return None
    return found["stem"].rstrip("/_-. "), int(found["seed"])


def groups_of_kinds(kinds: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the kinds of names that may tell runs apart: none, each alone, two of them, ..."""
    for number in range(len(kinds) + 1):
        yield from combinations(kinds, number)

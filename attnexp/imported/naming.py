"""Names of imported runs, and the seeds at their ends."""

import re

from attnexp.imported.outside import LARGEST

RUN = "run"
"""The setting that the names of runs become if nothing else tells them apart."""

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

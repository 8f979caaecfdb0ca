"""The verdict on a share of seeds: are they most of them?"""

from collections.abc import Sequence

from attnexp.claims.decision import FEWEST, Verdict
from attnexp.stats.exact import share_interval

MOST = 0.5
"""The share above which seeds are most of them."""

MOST_SEEDS = 200
"""The most seeds that are advised."""


def verdict_on_most(
    count: int, of: int, level: float, text: str, shown: Sequence[tuple[str, str]] = ()
) -> Verdict:
    """Return whether a difference on `count` of `of` seeds holds on most seeds.

    `reproduced` if the exact interval of the share (Clopper and Pearson) lies above one half, `not
    reproduced` if it lies below, and else `cannot tell`. A difference on nearly all seeds is
    decided the more surely the more seeds there are, which a verdict on "every seed" is not.
    """
    if of < FEWEST:
        return Verdict("cannot tell", text, FEWEST - of, shown)
    low, high = share_interval(count, of, 1 - level)
    text += f" (95% interval of the share: {low:.2f} to {high:.2f})"
    if low > MOST:
        return Verdict("reproduced", text, shown=shown)
    if high < MOST:
        return Verdict("not reproduced", text, shown=shown)
    return Verdict("cannot tell", text, _seeds_needed(count, of, level), shown)


def _seeds_needed(count: int, of: int, level: float) -> int | None:
    """Return how many seeds more would be enough if the share stayed as it is."""
    for more in range(1, MOST_SEEDS):
        n = of + more
        low, high = share_interval(round(n * count / of), n, 1 - level)
        if low > MOST or high < MOST:
            return more
    return None

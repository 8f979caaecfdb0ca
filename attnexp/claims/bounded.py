"""A decision by a bound on a mean."""

import math
from collections.abc import Sequence

from attnexp.claims.decision import FEWEST, Bound, Decision, Verdict, if_no_seed_fails
from attnexp.claims.evidence import Evidence
from attnexp.core.console import count_text, number_text
from attnexp.stats.intervals import ROUNDING


class Bounded(Decision):
    """The mean of a `number` over seeds is at most `at_most`, or at least `at_least`.

    For `number` and `where` see `Evidence.sample`. `reproduced` if the 95% interval of the mean
    lies on the claimed side of the bound, `not reproduced` if it lies on the other side, and else
    `cannot tell`. A metric has the interval of the tables (`Spread`), a computed number Student's.
    A run that diverged has the worst value; if the metric has no worst value, such as a loss, the
    word is `cannot tell`. If all seeds lie on the side of the verdict, the sentence says how many
    further seeds may fail, which the interval of a mean does not show.

    Raises ValueError unless exactly one bound is given.
    """

    def __init__(
        self,
        number: str,
        where: str | None = None,
        at_most: float | None = None,
        at_least: float | None = None,
    ) -> None:
        self.number = number
        self.where = where
        self.bound = Bound(at_most, at_least)

    def numbers(self) -> Sequence[str]:
        return (self.number,)

    def decide(self, evidence: Evidence) -> Verdict:
        sample = evidence.sample(self.number, self.where)
        spread = sample.spread_at(1 - evidence.level)
        named = self.number if self.where is None else f"{self.number} where {self.where}"
        if sample.diverged and math.isinf(sample.worst):
            lost = f"{len(sample.diverged_units)} of {len(sample.values)} seeds diverged"
            return Verdict("cannot tell", f"{named} has no worst value, and {lost}")
        low, high = spread.interval
        if spread.n < FEWEST or low is None or high is None:
            text = f"{named} is measured on {count_text(spread.n, 'seed')}"
            return Verdict("cannot tell", text, FEWEST - spread.n)
        assert spread.mean is not None
        if high - low <= ROUNDING * abs(spread.mean):
            measured = f"{number_text(low)}, the same for all {spread.n} seeds"
        else:
            ends = f"[{number_text(low)}, {number_text(high)}]"
            measured = f"{number_text(spread.mean)} {ends} over {spread.n} seeds"
        text = f"{named} is {measured}, and {self.bound} is claimed"
        sides = {self.bound.holds(end) for end in (low, high)}
        if len(sides) == 2:
            return Verdict("cannot tell", text, spread.n)
        (holds,) = sides
        if all(self.bound.holds(value) == holds for value in spread.values):
            text += if_no_seed_fails(spread.n)
        return Verdict("reproduced" if holds else "not reproduced", text)

"""A decision by whether a number is as small, or as large, as a claim says."""

from collections.abc import Sequence

from attnexp.claims.decision import FEWEST, Decision, Verdict, if_no_seed_fails
from attnexp.claims.evidence import Evidence
from attnexp.core.console import number_text
from attnexp.stats.intervals import ROUNDING


class Bounded(Decision):
    """The mean of a `number` over seeds is at most `at_most`, or at least `at_least`.

    For `number` and `where` see `Evidence.sample`. `reproduced` if the 95% interval of the mean
    lies on the side of the bound that is claimed, `not reproduced` if it lies on the other, and
    else `cannot tell`. The interval is that of the tables, by the unit of the metric (`Spread`); of
    a computed number it is Student's. If all seeds lie on the side of the verdict, it holds if no
    seed fails, and says how many may: the interval of a mean knows nothing of seeds that it has not
    seen.

    Raises ValueError unless exactly one bound is given.
    """

    def __init__(
        self,
        number: str,
        where: str | None = None,
        at_most: float | None = None,
        at_least: float | None = None,
    ) -> None:
        if (at_most is None) == (at_least is None):
            raise ValueError(f"give at_most or at_least, got {at_most} and {at_least}")
        self.number = number
        self.where = where
        self.at_most = at_most
        self.at_least = at_least

    def numbers(self) -> Sequence[str]:
        return (self.number,)

    def decide(self, evidence: Evidence) -> Verdict:
        spread = evidence.sample(self.number, self.where).spread_at(1 - evidence.level)
        named = self.number if self.where is None else f"{self.number} where {self.where}"
        low, high = spread.interval
        if spread.n < FEWEST or low is None or high is None:
            text = f"{named} is measured on {spread.n} seed{'s' if spread.n > 1 else ''}"
            return Verdict("cannot tell", text, FEWEST - spread.n)
        assert spread.mean is not None
        if high - low <= ROUNDING * abs(spread.mean):
            measured = f"{number_text(low)}, the same for all {spread.n} seeds"
        else:
            ends = f"[{number_text(low)}, {number_text(high)}]"
            measured = f"{number_text(spread.mean)} {ends} over {spread.n} seeds"
        if self.at_most is not None:
            claimed = f"at most {self.at_most:g}"
            holds, fails = high <= self.at_most, low > self.at_most
            sides = [value <= self.at_most for value in spread.values]
        else:
            assert self.at_least is not None
            claimed = f"at least {self.at_least:g}"
            holds, fails = low >= self.at_least, high < self.at_least
            sides = [value >= self.at_least for value in spread.values]
        text = f"{named} is {measured}, and {claimed} is claimed"
        if not holds and not fails:
            return Verdict("cannot tell", text, spread.n)
        if all(side == holds for side in sides):
            text += if_no_seed_fails(spread.n)
        return Verdict("reproduced" if holds else "not reproduced", text)

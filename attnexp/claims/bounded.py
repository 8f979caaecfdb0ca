"""A decision by whether a number is as small, or as large, as a claim says."""

from collections.abc import Sequence
from statistics import fmean

from attnexp.claims.decision import FEWEST, Decision, Verdict
from attnexp.claims.evidence import Evidence
from attnexp.console import number_text
from attnexp.tables.significance import LEVEL, student_reach


class Bounded(Decision):
    """The mean of a `number` over seeds is at most `at_most`, or at least `at_least`.

    For `number` and `where` see `Evidence.values`. `reproduced` where the 95% interval of the mean
    (Student's) lies on the side of the bound that is claimed, `not reproduced` where it lies on the
    other, and else `cannot tell`.

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
        values = list(evidence.values(self.number, self.where).values())
        named = self.number if self.where is None else f"{self.number} where {self.where}"
        if len(values) < FEWEST:
            text = f"{named} is measured on {len(values)} seeds"
            return Verdict("cannot tell", text, FEWEST - len(values))
        reach, mean = student_reach(values, LEVEL, overlap=0.0), fmean(values)
        ends = mean - reach, mean + reach
        bound, side = self.at_most, "at most"
        if bound is None:
            bound, side = self.at_least, "at least"
            ends = -ends[1], -ends[0]
        assert bound is not None
        low, high = ends
        limit = bound if side == "at most" else -bound
        text = (
            f"{named} is {number_text(mean)} [{number_text(mean - reach)}, "
            f"{number_text(mean + reach)}] over {len(values)} seeds, where {side} {bound:g} is "
            "claimed"
        )
        if high <= limit:
            return Verdict("reproduced", text)
        if low > limit:
            return Verdict("not reproduced", text)
        return Verdict("cannot tell", text, len(values))

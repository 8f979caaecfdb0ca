"""A decision by which of two rows of runs is better."""

from collections.abc import Sequence
from typing import Literal

from attnexp.claims.decision import Decision, Verdict
from attnexp.claims.evidence import Evidence
from attnexp.console import number_text
from attnexp.errors import RequestError
from attnexp.tables.power import seeds_needed
from attnexp.tables.significance import Rule, Values, compare


class Direction(Decision):
    """The runs that fit the test `first` are better by a `metric` than those that fit `second`.

    The test is that of the tables: sign flips of the differences paired by seed. With `says`
    "better" the claim is `reproduced` where the second row is worse, and `not reproduced` where the
    first is, or where both are equal to within `equal_within`. With `says` "equal" it is
    `reproduced` where they are equal, and `not reproduced` where either is worse. Else it is
    `cannot tell`.
    """

    def __init__(
        self,
        metric: str,
        first: str,
        second: str,
        says: str,
        equal_within: float,
    ) -> None:
        if says not in ("better", "equal"):
            raise ValueError(f"says must be better or equal, got {says}")
        self.metric = metric
        self.first = first
        self.second = second
        self.says = says
        self.equal_within = equal_within

    def numbers(self) -> Sequence[str]:
        return (self.metric,)

    def decide(self, evidence: Evidence) -> Verdict:
        rule = Rule(self._better(evidence), self.equal_within)
        rows: list[Values] = [
            {seed: {0: value} for seed, value in evidence.values(self.metric, where).items()}
            for where in (self.first, self.second)
        ]
        if min(map(len, rows)) < 2:
            lacking = rule.least - min(map(len, rows))
            return Verdict("cannot tell", "a row has fewer than two seeds", lacking)
        verdicts = compare(rows, rule)
        (worst,) = (i for i in (0, 1) if verdicts[i].standing != "best")
        found = verdicts[worst].difference
        assert found is not None
        standing = verdicts[worst].standing
        names = (self.first, self.second)
        text = (
            f"{self.metric} of {names[worst]} minus that of {names[1 - worst]} is "
            f"{number_text(found.mean)} [{number_text(found.low)}, {number_text(found.high)}] over "
            f"{found.pairs} seeds: {standing}"
        )
        if standing in ("worse", "equal"):
            expected = ("equal", worst) if self.says == "equal" else ("worse", 1)
            claimed = (standing, worst) == expected
            return Verdict("reproduced" if claimed else "not reproduced", text)
        if found.pairs < rule.least:
            return Verdict("cannot tell", text, rule.least - found.pairs)
        needed = seeds_needed(found, rule)
        return Verdict("cannot tell", text, None if needed is None else needed - found.pairs)

    def _better(self, evidence: Evidence) -> Literal["lower", "higher"]:
        """Return which values of the metric are better; of a detail, those of what it cuts up."""
        metric = self.metric.partition("@")[0].partition("_by_")[0]
        directions = evidence.frame.better
        if metric not in directions:
            raise RequestError(f"{self.metric} does not rank: no runs are better by it")
        return "lower" if directions[metric] == "lower" else "higher"

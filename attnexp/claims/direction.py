"""A decision by which of two rows of runs is better."""

from collections.abc import Sequence
from statistics import fmean
from typing import Literal

from attnexp.claims.decision import Decision, Verdict
from attnexp.claims.evidence import Evidence, metric_of
from attnexp.console import number_text
from attnexp.errors import RequestError
from attnexp.stats.compare import Rule, compare
from attnexp.stats.intervals import RANGES, UNBOUNDED
from attnexp.stats.pairs import Values, seed_means
from attnexp.stats.power import seeds_needed


class Direction(Decision):
    """The runs that fit the test `first` are better by a `metric` than those that fit `second`.

    The test is that of the tables: sign flips of the differences paired by seed. Rows that are
    equal to within `equal_within` are neither better nor worse. With `says` "better" the claim is
    `reproduced` if the second row is worse, and `not reproduced` if the first is, or if both are
    equal. With `says` "equal" it is `reproduced` if they are equal, and `not reproduced` if either
    is worse. If "better" is claimed and both means are within `equal_within` of the best possible
    value of the metric, 1 for shares and 0 for losses, the word is `both solve it`: there is
    nothing to tell them by. Else it is `cannot tell`.
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
        rule = Rule(self._better(evidence), self.equal_within, looks=evidence.tests)
        rows: list[Values] = [
            {seed: {0: value} for seed, value in evidence.values(self.metric, where).items()}
            for where in (self.first, self.second)
        ]
        if min(map(len, rows)) < 2:
            lacking = rule.least - min(map(len, rows))
            return Verdict("cannot tell", "a row has fewer than two seeds", lacking)
        verdicts = compare(rows, rule)
        (worst,) = (i for i in (0, 1) if verdicts[i].difference is not None)
        found = verdicts[worst].difference
        assert found is not None
        standing = verdicts[worst].word
        if standing == "best" and found.pairs >= rule.least:  # their means are the same
            inside = max(abs(found.low), abs(found.high)) <= self.equal_within
            standing = "equal" if inside else "tied"
        names = (self.first, self.second)
        text = (
            f"{self.metric} of {names[worst]} minus that of {names[1 - worst]} is "
            f"{number_text(found.mean)} [{number_text(found.low)}, {number_text(found.high)}] over "
            f"{found.pairs} seeds: {standing}"
        )
        if found.pairs >= rule.least and self.says == "better" and self._solved(rows, evidence):
            return Verdict("both solve it", text)
        if standing in ("worse", "equal"):
            expected = ("equal", worst) if self.says == "equal" else ("worse", 1)
            claimed = (standing, worst) == expected
            return Verdict("reproduced" if claimed else "not reproduced", text)
        if found.pairs < rule.least:
            return Verdict("cannot tell", text, rule.least - found.pairs)
        needed = seeds_needed(found, rule)
        return Verdict("cannot tell", text, None if needed is None else needed - found.pairs)

    def _better(self, evidence: Evidence) -> Literal["lower", "higher"]:
        """Return which values of the metric are better, for a detail, of its metric."""
        metric = metric_of(self.metric)
        directions = evidence.frame.better
        if metric not in directions:
            raise RequestError(f"{self.metric} does not rank: no runs are better by it")
        return "lower" if directions[metric] == "lower" else "higher"

    def _solved(self, rows: Sequence[Values], evidence: Evidence) -> bool:
        """Return whether the means of all rows are within the margin of the best possible value."""
        least, most = RANGES.get(evidence.unit(self.metric), UNBOUNDED)
        best = least if self._better(evidence) == "lower" else most
        return all(abs(fmean(seed_means(row)) - best) <= self.equal_within for row in rows)

"""A decision by which of two rows of runs is better."""

from collections.abc import Sequence
from dataclasses import replace

from attnexp.claims.decision import Decision, Verdict, if_no_seed_fails
from attnexp.claims.evidence import Evidence
from attnexp.core.console import number_text
from attnexp.core.errors import RequestError
from attnexp.select.sample import standings
from attnexp.stats.compare import Rule, Word
from attnexp.stats.paired import paired
from attnexp.stats.power import seeds_needed


class Direction(Decision):
    """The runs that fit the test `first` are better by a `metric` than those that fit `second`.

    The test is that of the tables: sign flips of the differences paired by seed. Rows that are
    equal to within `equal_within` are neither better nor worse. With `says` "better" the claim is
    `reproduced` if the second row is worse, and `not reproduced` if the first is, or if both are
    equal. With `says` "equal" it is `reproduced` if they are equal, and `not reproduced` if either
    is worse. If "better" is claimed and both means are within `equal_within` of the best possible
    value of the metric, 1 for shares and 0 for losses, the word is `both solve it`: there is
    nothing to tell them by. Else it is `cannot tell`. That rows are equal, or solve it, holds if no
    seed fails, and the sentence says how many may.
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
        samples = [evidence.sample(self.metric, where) for where in (self.first, self.second)]
        better = samples[0].better
        if better is None:
            raise RequestError(f"{self.metric} does not rank: no runs are better by it")
        rule = Rule(better, self.equal_within, interim_analyses=evidence.tests)
        fewest = min(len(sample.values) for sample in samples)
        if fewest < 2:
            return Verdict("cannot tell", "a row has fewer than two seeds", rule.least - fewest)
        if not paired(samples[0].values, samples[1].values):
            return Verdict("cannot tell", "the rows share no seed", rule.least)
        compared = standings(samples, self.equal_within, evidence.tests)
        (worst,) = (i for i in (0, 1) if compared[i].difference is not None)
        found = compared[worst].difference
        assert found is not None
        standing = compared[worst]
        if standing.word is Word.BEST and found.pairs >= rule.least:  # their means are the same
            inside = max(abs(found.low), abs(found.high)) <= self.equal_within
            standing = replace(standing, word=Word.EQUAL if inside else Word.TIED)
        names = (self.first, self.second)
        text = (
            f"{self.metric} of {names[worst]} minus that of {names[1 - worst]} is "
            f"{number_text(found.mean)} [{number_text(found.low)}, {number_text(found.high)}] over "
            f"{found.pairs} seeds: {standing.text()}"
        )
        solved = all(each.solves(self.equal_within) for each in samples)
        if found.pairs >= rule.least and self.says == "better" and solved:
            return Verdict(Word.BOTH_SOLVE.value, text + if_no_seed_fails(found.pairs))
        if standing.word in (Word.WORSE, Word.EQUAL):
            equal = standing.word is Word.EQUAL
            claimed = equal if self.says == "equal" else not equal and worst == 1
            text += if_no_seed_fails(found.pairs) if equal else ""
            return Verdict("reproduced" if claimed else "not reproduced", text)
        if found.pairs < rule.least:
            return Verdict("cannot tell", text, rule.least - found.pairs)
        needed = seeds_needed(found, rule)
        return Verdict("cannot tell", text, None if needed is None else needed - found.pairs)

"""A decision by which of two rows of runs is better."""

from collections.abc import Sequence
from dataclasses import replace

from attnexp.claims.decision import Decision, Verdict, if_no_seed_fails
from attnexp.claims.evidence import Evidence
from attnexp.core.console import number_text
from attnexp.core.errors import RequestError
from attnexp.select.judge import judge
from attnexp.select.sample import standings
from attnexp.stats.compare import TOLD_APART, Difference, Rule, Word
from attnexp.stats.power import seeds_needed


class Direction(Decision):
    """Runs that fit the test `first` are better by `metric` than runs that fit `second`.

    The rows are compared by `judge`: by the seeds that learned, if Fisher's exact test tells them
    apart, and else by sign flips of the differences paired by seed. A run that diverged has the
    worst value.

    - With `says` "better", `reproduced` if the first row is better, and `not reproduced` if the
      first row is worse or equal to within `equal_within`. `both solve it` if both means are within
      `equal_within` of the best possible value of the metric, 1 for shares and 0 for losses.
    - With `says` "equal", `reproduced` if the rows are equal, `not reproduced` if one is better.
    - Else `cannot tell`, also if neither row learns.

    For rows that are equal or both solve the task, the sentence says how many seeds may fail. The
    sentence also names a row that had not converged: the metric changed by more than `equal_within`
    in the last pass.
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
        if equal_within < 0:
            raise ValueError(f"equal_within must be at least 0, got {equal_within}")
        self.metric = metric
        self.first = first
        self.second = second
        self.says = says
        self.equal_within = equal_within

    def numbers(self) -> Sequence[str]:
        return (self.metric,)

    def decide(self, evidence: Evidence) -> Verdict:
        first, second = evidence.samples(self.metric, self.first, self.second)
        rows = [evidence.chosen(where).runs for where in (self.first, self.second)]
        if {run.path for run in rows[0]} & {run.path for run in rows[1]}:
            raise RequestError(f"{self.first} and {self.second} name the same runs")
        if first.better is None:
            raise RequestError(f"{self.metric} does not rank: no runs are better by it")
        rule = Rule(first.better, self.equal_within, parts=evidence.tests)
        fewest = min(len(first.values), len(second.values))
        if fewest < 2:
            return Verdict("cannot tell", "a row has fewer than two seeds", rule.least - fewest)
        standing, _ = standings([first, second], self.equal_within, evidence.tests, reference=1)
        if (difference := standing.difference) is None:
            return Verdict("cannot tell", "the rows share no seed", rule.least)
        found = judge(first, second, standing, self.equal_within, evidence.level)
        ends = f"[{number_text(difference.low)}, {number_text(difference.high)}]"
        text = (
            f"{self.metric} of {self.first} minus that of {self.second} is "
            f"{number_text(difference.mean)} {ends} over {difference.pairs} seeds: "
            f"{found.because or found.word}"
        )
        changes = {
            where: evidence.last_pass(self.metric, where) or 0.0
            for where in (self.first, self.second)
        }
        moving = [where for where, change in changes.items() if abs(change) > self.equal_within]
        if moving:
            text += f", before {'either' if len(moving) == 2 else moving[0]} had converged"
        shown = evidence.last_passes(self.metric, self.first, self.second)
        solved = found.word is Word.BOTH_SOLVE
        word = standing.word if solved and self.says == "equal" else found.word
        return replace(self._verdict(word, text, difference, rule), shown=shown)

    def _verdict(self, word: Word | None, text: str, difference: Difference, rule: Rule) -> Verdict:
        """Return the verdict on the claim, from the word on the first row next to the second."""
        if word in TOLD_APART:
            claimed = self.says == "better" and word is Word.BETTER
            return Verdict("reproduced" if claimed else "not reproduced", text)
        if word is Word.EQUAL:
            text += if_no_seed_fails(difference.pairs)
            return Verdict("reproduced" if self.says == "equal" else "not reproduced", text)
        if word is Word.BOTH_SOLVE:
            return Verdict("both solve it", text + if_no_seed_fails(difference.pairs))
        if word is Word.NEITHER_LEARNS:
            return Verdict("cannot tell", text)
        if word is Word.FEW:
            text += f", better on {difference.better}"
            return Verdict("cannot tell", text, rule.least - difference.pairs)
        needed = seeds_needed(difference, rule)
        return Verdict("cannot tell", text, None if needed is None else needed - difference.pairs)

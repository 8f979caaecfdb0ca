"""A decision by the share of seeds that learn."""

from collections.abc import Sequence
from statistics import median

from attnexp.claims.decision import FEWEST, Bound, Decision, Verdict, more_seeds
from attnexp.claims.evidence import Evidence
from attnexp.runs.folder import Run
from attnexp.select.sample import Sample
from attnexp.stats.exact import fisher_larger, largest_difference


class Escaped(Decision):
    """A larger share of seeds has escaped in the row `first` than in the row `second`.

    A seed has escaped if its `metric` is at least `at_least`, or at most `at_most`; a seed that
    diverged has not. Where seeds either learn or do not, means say little. `reproduced` if Fisher's
    exact test, one-sided, has p <= 0.05. `not reproduced` if the 95% interval of the difference of
    the shares (Agresti and Caffo 2000) lies below `least`, the smallest difference that counts.
    Else `cannot tell`. The step of escape is the first at which the metric on validation data
    satisfies the bound; `skip` if no seed escaped, and for a metric that is not validated.

    Raises ValueError unless exactly one of `at_least` and `at_most` is given.
    """

    def __init__(
        self,
        metric: str,
        first: str,
        second: str,
        least: float,
        at_least: float | None = None,
        at_most: float | None = None,
    ) -> None:
        self.metric = metric
        self.first = first
        self.second = second
        self.least = least
        self.bound = Bound(at_most, at_least)

    def numbers(self) -> Sequence[str]:
        return (self.metric,)

    def decide(self, evidence: Evidence) -> Verdict:
        samples = evidence.samples(self.metric, self.first, self.second)
        seeds = [len(sample.values) for sample in samples]
        escaped = [self._escaped(sample) for sample in samples]
        p = fisher_larger(escaped[0], seeds[0], escaped[1], seeds[1])
        shares = [
            f"{there} of {of} seeds with {where}"
            for there, of, where in zip(escaped, seeds, (self.first, self.second), strict=True)
        ]
        test = f"one-sided p = {p:.2g} by Fisher's exact test"
        text = f"{shares[0]} have escaped and {shares[1]}: {test}"
        shown = [
            (f"step of escape, {where}", self._steps(evidence.chosen(where).runs))
            for where in (self.first, self.second)
        ]
        shown += evidence.last_passes(self.metric, self.first, self.second)
        if min(seeds) < FEWEST:
            return Verdict("cannot tell", text, FEWEST - min(seeds), shown)
        if p <= evidence.level:
            return Verdict("reproduced", text, shown=shown)
        most = largest_difference(escaped[0], seeds[0], escaped[1], seeds[1], evidence.level)
        if most < self.least:
            return Verdict("not reproduced", text, shown=shown)
        first, second = escaped[0] / seeds[0], escaped[1] / seeds[1]

        def decides(n: int) -> bool:
            return fisher_larger(round(first * n), n, round(second * n), n) <= evidence.level

        return Verdict("cannot tell", text, more_seeds(decides, min(seeds)), shown)

    def _escaped(self, sample: Sample) -> int:
        """Return the number of seeds that have escaped."""
        by_seed = zip(sample.values, sample.means, strict=True)
        lost = sample.diverged_units
        return sum(seed not in lost and self.bound.holds(mean) for seed, mean in by_seed)

    def _steps(self, runs: Sequence[Run]) -> str:
        """Return the smallest, largest and median step of escape, as text."""
        column = f"val_{self.metric.removeprefix('test_')}"
        steps = []
        for run in runs:
            epochs = run.epochs
            if column not in epochs:
                continue
            passed = [
                int(step)
                for step, value in zip(epochs["step"], epochs[column], strict=True)
                if self.bound.holds(float(value))
            ]
            if passed and self.bound.holds(run.metrics.get(self.metric, float("nan"))):
                steps.append(passed[0])
        if not steps:
            return "skip"
        return f"{min(steps)} to {max(steps)}, median {median(steps):g}, of {len(steps)} seeds"

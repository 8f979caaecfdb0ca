"""A decision by the order in which a model learns one answer and then another."""

from collections.abc import Sequence

from attnexp.claims.decision import FEWEST, Decision, Verdict
from attnexp.claims.evidence import Evidence
from attnexp.runs.folder import Run


class Stages(Decision):
    """On every seed one distance is small first, and another one afterwards.

    `early` and `late` are columns of metrics.csv that fall as a model comes close to one answer and
    to another. A run of the row `where` has the stages if `early` is at most `low` after some epoch
    at which `late` is above it, and in a later epoch, at the end too, `late` is at most `low` and
    `early` is above it. `reproduced` where all seeds have them, `not reproduced` where two or more
    do not, and else `cannot tell`. Log often enough to see a stage.
    """

    def __init__(self, early: str, late: str, low: float, where: str) -> None:
        self.early = early
        self.late = late
        self.low = low
        self.where = where

    def numbers(self) -> Sequence[str]:
        return (self.early, self.late)

    def decide(self, evidence: Evidence) -> Verdict:
        steps = {run.seed: self._steps(run) for run in evidence.chosen(self.where)}
        found = {seed: both for seed, both in steps.items() if both is not None}
        text = (
            f"{self.early} is small first and {self.late} afterwards on {len(found)} of "
            f"{len(steps)} seeds where {self.where}"
        )
        shown = [
            (f"seed {seed}", f"{self.early} from step {first} on, {self.late} from {second} on")
            for seed, (first, second) in sorted(found.items())
        ]
        failed = len(steps) - len(found)
        if len(steps) < FEWEST or failed == 1:
            more = max(FEWEST - len(steps), len(steps) if failed else 0)
            return Verdict("cannot tell", text, more, shown)
        return Verdict("not reproduced" if failed else "reproduced", text, shown=shown)

    def _steps(self, run: Run) -> tuple[int, int] | None:
        """Return the steps at which the two are small for the first time, None without stages."""
        epochs = run.epochs
        if not {"step", self.early, self.late} <= epochs.keys():
            return None
        rows = list(zip(epochs["step"], epochs[self.early], epochs[self.late], strict=True))
        first = [int(step) for step, early, late in rows if early <= self.low < late]
        second = [int(step) for step, early, late in rows if late <= self.low < early]
        if not first or not second or not first[0] < second[0]:
            return None
        _, early, late = rows[-1]
        return (first[0], second[0]) if late <= self.low < early else None

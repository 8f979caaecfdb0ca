"""A decision by the order in which a model learns one answer and then another."""

from collections.abc import Sequence

from attnexp.claims.decision import Decision, Verdict, verdict_on_most
from attnexp.claims.evidence import Evidence
from attnexp.core.errors import RequestError
from attnexp.runs.folder import Run


class Stages(Decision):
    """On most seeds one distance is small first, and another one afterwards.

    `early` and `late` are columns of metrics.csv that fall as a model comes close to one answer and
    to another. A run of the row `where` has the stages if `early` is at most `low` after some epoch
    at which `late` is above it, and in a later epoch, at the end too, `late` is at most `low` and
    `early` is above it. Whether most seeds have them is decided by `verdict_on_most`. Log often
    enough to see a stage.
    """

    def __init__(self, early: str, late: str, low: float, where: str) -> None:
        self.early = early
        self.late = late
        self.low = low
        self.where = where

    def numbers(self) -> Sequence[str]:
        return (self.early, self.late)

    def decide(self, evidence: Evidence) -> Verdict:
        steps = {run.seed: self._steps(run) for run in evidence.chosen(self.where).runs}
        found = {seed: both for seed, both in steps.items() if both is not None}
        text = (
            f"{self.early} is small first and {self.late} afterwards on {len(found)} of "
            f"{len(steps)} seeds where {self.where}"
        )
        shown = [
            (f"seed {seed}", f"{self.early} from step {first} on, {self.late} from {second} on")
            for seed, (first, second) in sorted(found.items())
        ]
        return verdict_on_most(len(found), len(steps), evidence.level, text, shown)

    def _steps(self, run: Run) -> tuple[int, int] | None:
        """Return the steps at which the two are small for the first time, None without stages."""
        epochs = run.epochs
        if missing := {"step", self.early, self.late} - epochs.keys():
            raise RequestError(f"{run.path} logged no {' and no '.join(sorted(missing))}")
        rows = list(zip(epochs["step"], epochs[self.early], epochs[self.late], strict=True))
        first = [int(step) for step, early, late in rows if early <= self.low < late]
        second = [int(step) for step, early, late in rows if late <= self.low < early]
        if not first or not second or not first[0] < second[0]:
            return None
        _, early, late = rows[-1]
        return (first[0], second[0]) if late <= self.low < early else None

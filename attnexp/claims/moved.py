"""A decision by how far an intervention on the weights moves the answers."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from attnexp.claims.decision import Decision, Verdict
from attnexp.console import number_text
from attnexp.runs.folder import Run
from attnexp.runs.interventions import on_test
from attnexp.tables.significance import LEVEL, student_reach

FEWEST = 3
"""The fewest seeds of an interval."""


class Moved(Decision):
    """An `intervention` moves answers by at most `most`, in the mean of a `column` over seeds.

    The column is one of interventions.csv, such as `total_variation`. `reproduced` where the 95%
    interval of the mean (Student's) lies at or below `most`, `not reproduced` where it lies above,
    and else `cannot tell`. `shown` has other columns by intervention, which do not decide.
    """

    def __init__(
        self,
        intervention: str,
        column: str,
        most: float,
        shown: Mapping[str, Sequence[str]],
    ) -> None:
        self.intervention = intervention
        self.column = column
        self.most = most
        self.shown = shown

    def decide(self, runs: Sequence[Run]) -> Verdict:
        values = self._values(runs, self.intervention, self.column)
        shown = []
        for intervention, columns in self.shown.items():
            for column in columns:
                found = self._values(runs, intervention, column)
                text = number_text(fmean(found)) if found else "skip"
                shown.append((f"{intervention}: {column}", text))
        if len(values) < FEWEST:
            text = f"{self.column} under {self.intervention} is measured on {len(values)} seeds"
            return Verdict("cannot tell", text, FEWEST - len(values), shown)
        reach, mean = student_reach(values, LEVEL, overlap=0.0), fmean(values)
        text = (
            f"{self.intervention} weights move answers by a {self.column} of {mean:.3f} "
            f"[{mean - reach:.3f}, {mean + reach:.3f}] over {len(values)} seeds, where at most "
            f"{self.most:g} is claimed"
        )
        if mean + reach <= self.most:
            return Verdict("reproduced", text, shown=shown)
        if mean - reach > self.most:
            return Verdict("not reproduced", text, shown=shown)
        return Verdict("cannot tell", text, len(values), shown)

    @staticmethod
    def _values(runs: Sequence[Run], intervention: str, column: str) -> list[float]:
        """Return a column of each run that has it."""
        found = (on_test(run.interventions).get(intervention, {}).get(column) for run in runs)
        return [value for value in found if value is not None]

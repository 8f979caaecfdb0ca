"""A decision by whether training finds the minimum that a search over a grid finds."""

from collections.abc import Mapping, Sequence

from attnexp.claims.decision import Decision, Verdict, verdict_on_most
from attnexp.claims.evidence import Evidence, Point


class SameMinimum(Decision):
    """On most seeds, the `metric` of the `learned` model is the smallest of a grid of `grid` runs.

    That is to within `tolerance`, relative to the smallest; what is learned may be smaller, between
    two widths of the grid. A seed that ends in another minimum of the grid, to within the same
    tolerance of its value, does not decide: it is a minimum of the same function, too. Of the seeds
    that decide, whether most agree is decided by `verdict_on_most`.
    """

    def __init__(self, metric: str, learned: str, grid: str, tolerance: float) -> None:
        self.metric = metric
        self.learned = learned
        self.grid = grid
        self.tolerance = tolerance

    def numbers(self) -> Sequence[str]:
        return (self.metric,)

    def decide(self, evidence: Evidence) -> Verdict:
        measured = [run for run in evidence.runs if self.metric in run.metrics]
        learned = {
            run.seed: run.metrics[self.metric] for run in measured if run.model == self.learned
        }
        grids: dict[int, dict[float, float]] = {}
        for run in measured:
            if run.model == self.grid:
                width = float(run.group("model")["width"])
                grids.setdefault(run.seed, {})[width] = run.metrics[self.metric]
        seeds = sorted(learned.keys() & grids.keys())
        found = [seed for seed in seeds if learned[seed] <= self._most(grids[seed])]
        missed = [seed for seed in seeds if seed not in found]
        other = [seed for seed in missed if self._is_minimum(learned[seed], grids[seed])]
        deciding = len(seeds) - len(other)
        text = f"{self.metric} is the smallest of the grid on {len(found)} of {deciding} seeds"
        if other:
            text += f", and of {len(other)} more it is another minimum of the grid"
        return verdict_on_most(len(found), deciding, evidence.level, text)

    def curves(self, evidence: Evidence) -> Sequence[Point]:
        """Return the metric over the widths of the grid."""
        return [
            Point(run.seed, self.grid, float(run.group("model")["width"]), run.metrics[self.metric])
            for run in evidence.runs
            if run.model == self.grid and self.metric in run.metrics
        ]

    def _most(self, grid: Mapping[float, float]) -> float:
        return min(grid.values()) * (1 + self.tolerance)

    def _is_minimum(self, value: float, grid: Mapping[float, float]) -> bool:
        return any(abs(value - lowest) <= self.tolerance * lowest for lowest in minima(grid))


def minima(grid: Mapping[float, float]) -> list[float]:
    """Return the values that are lower than those next to them, by the order of the widths."""
    values = [grid[width] for width in sorted(grid)]
    ends = [float("inf"), *values, float("inf")]
    return [
        value
        for before, value, after in zip(ends, values, ends[2:], strict=False)
        if before > value < after
    ]

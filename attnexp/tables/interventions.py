"""The table of interventions: what each changes, in one run or over the seeds of several."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from attnexp.console import number_text
from attnexp.errors import RequestError, none_of
from attnexp.runs.folder import Run
from attnexp.runs.interventions import ADVERSARIAL, CHANGE, HIGH, LEARNED, LOW, SEEDS, on_test
from attnexp.select.groups import Comparison, Configuration
from attnexp.stats.compare import Difference, Rule, Standing, against
from attnexp.tables.report import Cell, Grid, Head, Report, cell, listed

CHOOSING = ("test_loss", "test_mse")
"""The losses by which the head that matters most is chosen where the metric does not tell."""

FACTS = {
    "total_variation": "total variation",
    "gold_log_probability": "log p of gold",
    "moved": "answers moved",
    "flips": "flips",
    "unchanged": "unchanged rows",
}
"""The heads of the columns that no metric has, by the names that they have in the file."""

DISTANCES = ("distance", "succeeded", "exact")
"""The columns of adversarial weights, which sentences have."""

BY_EXAMPLE = "with its 95% interval over examples"
BY_SEED = "paired by seed, tested and corrected for all rows"


@dataclass(frozen=True)
class Effects:
    """What interventions change in the finished runs of one configuration.

    A metric is that of decoded answers, and under teacher forcing where nothing is decoded.
    """

    configuration: Configuration
    metric: str
    better: str | None
    rule: Rule

    @cached_property
    def names(self) -> list[str]:
        """The interventions that every run has, in the order of the first."""
        first, *others = (self._of(run) for run in self.configuration.runs)
        return [
            name
            for name in first
            if name != LEARNED and all(name in other for other in others) and self._has(name)
        ]

    def values(self, name: str) -> list[float]:
        """Return the metric of each run under an intervention."""
        return [self._of(run)[name][self.metric] for run in self.configuration.runs]

    def mean(self, name: str, column: str) -> float | None:
        """Return the mean of a column over runs, None where one lacks it."""
        found = [self._of(run)[name].get(column) for run in self.configuration.runs]
        known = [number for number in found if number is not None]
        return fmean(known) if len(known) == len(found) else None

    def distance(self, name: str, column: str = "distance") -> float | None:
        """Return the mean of what adversarial weights have, None where none were sought."""
        found = [self._of(run).get(name, {}).get(column) for run in self._runs]
        known = [number for number in found if number is not None]
        return fmean(known) if known else None

    @cached_property
    def verdicts(self) -> dict[str, Standing]:
        """How each intervention compares with the learned weights."""
        if not self.names:
            return {}
        if len(self.configuration.runs) == 1 or self.better is None:
            return {name: self._by_example(name) for name in self.names}
        rows = [self._by_seed(name) for name in self.names]
        found = against(self._by_seed(LEARNED), rows, self.rule)
        return dict(zip(self.names, found, strict=True))

    @cached_property
    def head(self) -> tuple[str, str, str, float] | None:
        """The head that matters most: its intervention, the split, the metric and its change.

        It is chosen on the split that is not the test set, by the metric or, where it is not
        measured there, by the loss; None where no several heads were taken out.
        """
        runs = [[row for row in run.interventions if row.split != "test"] for run in self._runs]
        known = runs[0][0].numbers if runs[0] else {}
        metric = next((one for one in (self.metric, *CHOOSING) if one in known), None)
        if metric is None or not all(runs):
            return None
        sign = -1 if metric == self.metric and self.better == "higher" else 1

        def change(name: str, column: str) -> float:
            rows = (row.numbers for own in runs for row in own if row.intervention == name)
            return fmean(numbers.get(column + CHANGE, 0.0) for numbers in rows)

        names = [row.intervention for row in runs[0] if row.intervention in self.names]
        if not names:
            return None
        loss = next((one for one in CHOOSING if one in known), metric)
        name = max(names, key=lambda one: (sign * change(one, metric), change(one, loss)))
        return name, runs[0][0].split, metric, change(name, metric)

    @property
    def _runs(self) -> Sequence[Run]:
        return self.configuration.runs

    def _of(self, run: Run) -> dict[str, dict[str, float]]:
        """Return the numbers of the test set by intervention."""
        return self._read[run.path]

    @cached_property
    def _read(self) -> dict[str, dict[str, dict[str, float]]]:
        return {run.path: on_test(run.interventions) for run in self._runs}

    def _has(self, name: str) -> bool:
        return all(self.metric in self._of(run)[name] for run in self._runs)

    def _by_seed(self, name: str) -> dict[int, dict[int, float]]:
        values = zip(self.configuration.seeds, self.values(name), strict=True)
        return {seed: {0: value} for seed, value in values}

    def _by_example(self, name: str) -> Standing:
        """Return the change in one run, with its interval over examples and no verdict."""
        low, high = (self.mean(name, self.metric + end) for end in (LOW, HIGH))
        mean = self.mean(name, self.metric + CHANGE) or 0.0
        if low is None or high is None:
            return Standing()
        return Standing(
            difference=Difference(mean, low, high, better=0, worse=0, pairs=1, sd=0.0, level=0.05)
        )


def effects_of(
    compared: Sequence[Comparison], metric: str | None, rule: Rule
) -> Iterator[tuple[Comparison, Effects]]:
    """Yield the effects in each configuration that was probed.

    Raises RequestError for a metric that no probe has measured.
    """
    for comparison in compared:
        for configuration in comparison.configurations:
            probed = tuple(run for run in configuration.runs if run.interventions)
            if not probed:
                continue
            summary = probed[0].summary
            measured = [on_test(run.interventions)[LEARNED] for run in probed]
            known = [
                name
                for name in measured[0]
                if is_metric(name) and all(name in numbers for numbers in measured)
            ]
            chosen = metric or summary.primary or ""
            if chosen not in known:
                raise RequestError(f"metric {none_of(chosen, known)}")
            better = summary.better.get(chosen)
            own = Rule("higher" if better == "higher" else "lower", rule.equal_within, rule.looks)
            yield (
                comparison,
                Effects(Configuration(configuration.label, probed), chosen, better, own),
            )


def is_metric(name: str) -> bool:
    """Return whether a column of interventions.csv is a metric, and not a change or a fact."""
    return not name.endswith((CHANGE, LOW, HIGH)) and name not in (*FACTS, *DISTANCES)


def interventions_report(
    compared: Sequence[Comparison], metric: str | None = None, rule: Rule | None = None
) -> Report:
    """Return a table for each configuration, and sentences that answer whether the map matters."""
    grids: list[Grid] = []
    records: list[dict[str, object]] = []
    verdicts: list[str] = []
    for comparison, effects in effects_of(compared, metric, rule or Rule("lower")):
        grids.append(_grid(comparison, effects))
        records += _records(comparison, effects)
        verdicts += _sentences(comparison, effects)
    columns = dict.fromkeys(name for record in records for name in record)
    return Report(
        grids, [{name: record.get(name) for name in columns} for record in records], (), verdicts
    )


def _title(comparison: Comparison, effects: Effects) -> str:
    label = effects.configuration.label
    return f"{label} on {comparison.data}{effects.configuration.seeds_text}"


def _grid(comparison: Comparison, effects: Effects) -> Grid:
    several = len(effects.configuration.runs) > 1 and effects.better is not None
    facts = [
        name
        for name in FACTS
        if any(effects.mean(intervention, name) is not None for intervention in effects.names)
    ]
    heads = [
        Head("intervention"),
        Head(effects.metric, right=True),
        Head("change", right=True),
        *([Head("standing")] if several else []),
        *(Head(FACTS[name], right=True, spare=i > 0) for i, name in enumerate(facts)),
    ]
    rows: list[list[Cell]] = [
        [cell(LEARNED), cell(fmean(effects.values(LEARNED))), *[cell(None)] * (len(heads) - 2)]
    ]
    for name in effects.names:
        verdict = effects.verdicts[name]
        rows.append(
            [
                cell(name),
                cell(fmean(effects.values(name))),
                cell(_change_text(verdict.difference)),
                *([cell(verdict.word)] if several else []),
                *(cell(effects.mean(name, fact)) for fact in facts),
            ]
        )
    caption = (
        f"change: {effects.metric} minus that of the learned weights, "
        f"{BY_SEED if several else BY_EXAMPLE}. docs/probe.md says what the other columns are."
    )
    return Grid(heads, rows, _title(comparison, effects), caption)


def _change_text(found: Difference | None) -> str | None:
    if found is None:
        return None
    low, high = number_text(found.low), number_text(found.high)
    return f"{number_text(found.mean)} [{low}, {high}]"


def _records(comparison: Comparison, effects: Effects) -> Iterator[dict[str, object]]:
    """Yield a mapping for each intervention, the learned weights first."""
    for name in (LEARNED, *effects.names):
        found = effects.verdicts.get(name, Standing())
        numbers: Mapping[str, object] = {fact: effects.mean(name, fact) for fact in FACTS}
        yield {
            "configuration": effects.configuration.label,
            "data": comparison.data,
            "seeds": len(effects.configuration.runs),
            "intervention": name,
            "metric": effects.metric,
            "value": fmean(effects.values(name)),
            "change": found.difference and found.difference.mean,
            "low": found.difference and found.difference.low,
            "high": found.difference and found.difference.high,
            "p": found.p,
            "standing": found.word,
            **numbers,
        }


def _sentences(comparison: Comparison, effects: Effects) -> Iterator[str]:
    """Yield what costs how much, and the head that was chosen before the test."""
    if not effects.names:
        yield from _distances(comparison, effects)
        return
    learned = number_text(fmean(effects.values(LEARNED)))
    parts = [f"{_title(comparison, effects)}: {effects.metric} is {learned}"]
    verdicts = effects.verdicts
    for standing, words in STANDINGS.items():
        found = [name for name in effects.names if verdicts[name].word == standing]
        if found:
            parts.append(f"{words} {listed([_named(name, verdicts[name]) for name in found])}")
    if len(parts) == 1:
        clear = {name: _is_clear(verdicts[name]) for name in effects.names}
        for words, wanted in (
            ("changed beyond the spread of examples by", True),
            ("not by", False),
        ):
            if found := [name for name in effects.names if clear[name] is wanted]:
                texts = [_named(name, verdicts[name]) if wanted else name for name in found]
                parts.append(f"{words} {listed(texts)}")
    yield "; ".join(parts)
    yield from _distances(comparison, effects)
    if effects.head is not None:
        name, split, metric, change = effects.head
        yield (
            f"{_title(comparison, effects)}: of the single heads {name} costs most on the "
            f"{split} set ({metric} {change:+.4g}); on the test set {effects.metric} changes by "
            f"{_change_text(verdicts[name].difference)}"
        )


def _distances(comparison: Comparison, effects: Effects) -> Iterator[str]:
    """Yield how far adversarial weights are from the learned ones, next to those of seeds.

    It is said exactly if it is exact for every example of every run, and is otherwise what a search
    has found at least.
    """
    found, share = effects.distance(ADVERSARIAL), effects.distance(ADVERSARIAL, "succeeded")
    if found is None or share is None:
        return
    exact = effects.distance(ADVERSARIAL, "exact") == 1
    how = "exactly" if exact else "at least"
    of = "" if exact or share == 1 else "at least "
    seeds = effects.distance(SEEDS)
    beside = "" if seeds is None else f"; the maps of other seeds are {number_text(seeds)} away"
    yield (
        f"{_title(comparison, effects)}: other weights leave the answers where they are for {of}"
        f"{share:.0%} of the examples, and the farthest are {how} {number_text(found)} nats away "
        f"on average (0.693 is as far as weights can be){beside}"
    )


STANDINGS = {
    "worse": "worse under",
    "better": "better under",
    "equal": "equal under",
    "tied": "not told apart under",
}
"""How a sentence says the standing of interventions."""


def _named(name: str, verdict: Standing) -> str:
    found = verdict.difference
    if found is None or verdict.word in ("tied", "equal"):
        return name
    return f"{name} ({found.mean:+.4g})"


def _is_clear(verdict: Standing) -> bool | None:
    """Return whether the interval of a change leaves out zero, None where there is none."""
    found = verdict.difference
    return None if found is None else not found.low <= 0 <= found.high

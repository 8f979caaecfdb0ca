"""The report on interventions: a table of results, and sentences on the changes.

A run under an intervention counts as a run of the same seed. Rows are compared with the row of the
learned weights.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import msgspec

from attnexp.core.console import number_text
from attnexp.core.errors import RequestError, none_of
from attnexp.core.language import translate
from attnexp.runs.folder import Run
from attnexp.runs.probed import (
    ADVERSARIAL,
    CHANGE,
    FACTS,
    HIGH,
    LEARNED,
    LOW,
    SEEDS,
    head_of,
    on_test,
)
from attnexp.select.configurations import Comparison, Configuration
from attnexp.select.frame import make_frame
from attnexp.select.renaming import KEPT, Renaming
from attnexp.stats.compare import Difference, Standing, Word
from attnexp.stats.scaled import mean
from attnexp.tables.columns import WORDS, difference_cell
from attnexp.tables.entries import ResultsTable, TableEntry, TableRequest, divide
from attnexp.tables.grid import Grid, Line, Report, listed
from attnexp.tables.reports import Recorder, grid_of, recorder

COLUMN = "intervention"

CHOOSING = ("test_loss", "test_mse")
"""Losses by which the most important head is chosen if the metric is missing or tied."""

DISTANCES = ("distance", "succeeded", "exact")
"""The numbers of adversarial weights that appear in sentences alone."""

STANDINGS = {
    Word.WORSE: "worse under",
    Word.BETTER: "better under",
    Word.EQUAL: "equal under",
    Word.TIED: "not told apart under",
    Word.FEW: "too few seeds for a verdict:",
}
"""The words for the standing of interventions in sentences."""


@dataclass(frozen=True)
class ProbedConfiguration:
    """The probed runs of one configuration, and the metric by which interventions are compared.

    Metrics are of decoded answers, or under teacher forcing if nothing is decoded.
    """

    data: str
    label: str
    runs: Sequence[Run]
    metric: str
    renaming: Renaming = KEPT

    @property
    def title(self) -> str:
        """Configuration, data and seeds."""
        seeds = f" ({len(self.runs)} seeds)" if len(self.runs) > 1 else ""
        return self.renaming(f"{self.label} on {self.data}{seeds}")

    @cached_property
    def numbers(self) -> list[dict[str, dict[str, float]]]:
        """The numbers on the test set, by run and intervention."""
        return [on_test(run.interventions) for run in self.runs]

    @cached_property
    def names(self) -> list[str]:
        """The interventions under which every run has the metric, the learned weights first."""
        first, *others = self.numbers
        common = (name for name in first if all(name in other for other in others))
        found = [name for name in common if all(self.metric in own[name] for own in self.numbers)]
        return sorted(found, key=lambda name: name != LEARNED)

    def table(self, equal_within: float | None) -> ResultsTable:
        """Return the table whose rows are the interventions."""
        runs = [
            _under(run, name, own[name], self.metric)
            for name in self.names
            for run, own in zip(self.runs, self.numbers, strict=True)
        ]
        request = TableRequest(
            by=(COLUMN,),
            metrics=(self.metric,),
            reference=LEARNED,
            equal_within=equal_within,
        )
        (table,) = divide(make_frame(runs, self.renaming), request)
        if len(self.runs) > 1:
            return table
        firsts = [self._over_examples(entry) for entry in table.firsts]
        entries: list[tuple[TableEntry, ...]] = [(entry,) for entry in firsts]
        return replace(table, entries=entries, shown=entries, panels=[firsts])

    def mean(self, name: str, column: str) -> float | None:
        """Return the mean of a number over runs, None if it was not measured."""
        found = [own[name][column] for own in self.numbers if column in own.get(name, {})]
        return mean(found) if found else None

    def _over_examples(self, entry: TableEntry) -> TableEntry:
        """Return the row of one run with its change and the interval over examples."""
        name = entry.row.labels[COLUMN]
        change, low, high = (self.mean(name, self.metric + end) for end in (CHANGE, LOW, HIGH))
        if change is None or low is None or high is None:
            return replace(entry, standing=Standing(), undecided=False)
        difference = Difference(change, low, high, 0, 0, pairs=1, sd=0.0, tests=1)
        return replace(entry, standing=Standing(difference=difference), undecided=False)

    @cached_property
    def head(self) -> tuple[str, str, str, float] | None:
        """The head that matters most: its intervention, the split, the metric and its change.

        The head is chosen on the split that is not the test set, by the metric or, if the metric is
        missing there, by the loss. None if no heads were probed on it, as with a single head.
        """
        runs = [[row for row in run.interventions if row.split != "test"] for run in self.runs]
        known = runs[0][0].numbers if runs[0] else {}
        metric = next((one for one in (self.metric, *CHOOSING) if one in known), None)
        if metric is None or not all(runs):
            return None
        better = self.runs[0].summary.better.get(self.metric)
        sign = -1 if metric == self.metric and better == "higher" else 1

        def change(name: str, column: str) -> float:
            rows = (row.numbers for own in runs for row in own if row.intervention == name)
            return mean(numbers.get(column + CHANGE, 0.0) for numbers in rows)

        names = [row.intervention for row in runs[0] if row.intervention in self.names[1:]]
        if not names:
            return None
        loss = next((one for one in CHOOSING if one in known), metric)
        name = max(names, key=lambda one: (sign * change(one, metric), change(one, loss)))
        return name, runs[0][0].split, metric, change(name, metric)


def interventions_report(
    compared: Sequence[Comparison],
    metric: str | None = None,
    equal_within: float | None = None,
    renaming: Renaming = KEPT,
) -> Report:
    """Return a table per configuration, and sentences on whether attention weights matter.

    Raises RequestError for a metric that no probe has measured.
    """
    found = [
        _probed(comparison, configuration, metric, renaming)
        for comparison in compared
        for configuration in comparison.configurations
        if any(run.interventions for run in configuration.runs)
    ]
    tables = [probed.table(equal_within) for probed in found]
    pairs = list(zip(found, tables, strict=True))
    record = recorder(tables)
    return Report(
        [_grid(*pair, record) for pair in pairs],
        verdicts=[text for pair in pairs for text in _sentences(*pair)],
        words=WORDS,
        renaming=renaming,
    )


def is_metric(name: str) -> bool:
    """Return whether a column of interventions.csv is a metric, and not a change or a fact."""
    return not name.endswith((CHANGE, LOW, HIGH)) and name not in (*FACTS, *DISTANCES)


def _probed(
    comparison: Comparison,
    configuration: Configuration,
    metric: str | None,
    renaming: Renaming,
) -> ProbedConfiguration:
    runs = [run for run in configuration.runs if run.interventions]
    measured = [on_test(run.interventions)[LEARNED] for run in runs]
    known = [
        name
        for name in measured[0]
        if is_metric(name) and all(name in numbers for numbers in measured)
    ]
    chosen = metric or runs[0].summary.primary or ""
    if chosen not in known:
        raise RequestError(f"metric {none_of(chosen, known)}")
    return ProbedConfiguration(comparison.data, configuration.label, runs, chosen, renaming)


def _under(run: Run, name: str, numbers: Mapping[str, float], metric: str) -> Run:
    """Return a run under an intervention: with its choice, the metric and the facts."""
    facts = {head: fact for fact, head in FACTS.items() if fact in numbers}
    summary = msgspec.structs.replace(
        run.summary,
        choices={**run.summary.choices, COLUMN: name},
        metrics={metric: numbers[metric]} | {fact: numbers[fact] for fact in facts.values()},
        companions={metric: facts},
    )
    return Run(run.path, summary)


def _grid(probed: ProbedConfiguration, table: ResultsTable, record: Recorder) -> Grid:
    """Return the table; heads that changed nothing are in CSV, JSON and the caption alone."""
    idle = [entry.row.labels[COLUMN] for entry in table.firsts if _is_idle_head(entry)]
    kept = [own for own in table.entries if own[0].row.labels[COLUMN] not in idle]
    how = "paired by seed" if len(probed.runs) > 1 else "and its 95% interval is over examples"
    caption = [f"The difference is to the learned weights, {how} (attnexp docs probe)."]
    if idle:
        heads = [".".join(map(str, found)) for name in idle if (found := head_of(name))]
        caption.append(f"Nothing changed without these heads: {', '.join(heads)}.")
    own = {"configuration": probed.renaming(probed.label), "data": probed.renaming(probed.data)}
    grid = grid_of(replace(table, shown=kept), "results", probed.title, "\n".join(caption))
    values = {id(entries): line.values for entries, line in zip(kept, grid.lines, strict=True)}
    lines = [
        Line(values.get(id(entries), ()), [own | record(table, entry) for entry in entries])
        for entries in table.entries
    ]
    return replace(grid, lines=lines)


def _is_idle_head(entry: TableEntry) -> bool:
    """Return whether a row takes out one head without a change at any seed."""
    found = entry.standing.difference
    if found is None or head_of(entry.row.labels[COLUMN]) is None:
        return False
    return found.mean == 0 and found.better == found.worse == 0


def _sentences(probed: ProbedConfiguration, table: ResultsTable) -> Iterator[str]:
    """Yield the changes by interventions, and the change by the head chosen on another split."""
    entries = {entry.row.labels[COLUMN]: entry for entry in table.firsts}
    learned = entries.pop(LEARNED)
    compared = probed.renaming.title(probed.metric)
    if entries:
        parts = [
            f"{words} {listed([_named(entry) for entry in found]).en}"
            for words, found in _groups(list(entries.values()))
        ]
        start = f"{probed.title}: {compared} is {number_text(learned.spread.mean or 0.0)}"
        yield "; ".join([start, *parts])
    yield from _distances(probed)
    if entries and probed.head is not None:
        name, split, metric, change = probed.head
        on_test_set = difference_cell(entries[name].standing.difference)
        yield (
            f"{probed.title}: of the single heads {name} costs most on the {split} set "
            f"({probed.renaming.title(metric)} {change:+.4g}); on the test set "
            f"{compared} changes by "
            f"{translate(on_test_set.text) if on_test_set else 'an unknown amount'}"
        )


def _groups(entries: Sequence[TableEntry]) -> Iterator[tuple[str, list[TableEntry]]]:
    """Yield words and rows by standing, or, with one run, by whether the change is clear."""
    known = [entry for entry in entries if entry.standing.difference is not None]
    for word, words in STANDINGS.items():
        if found := [entry for entry in known if entry.standing.word is word]:
            yield words, found
    alone = [entry for entry in known if entry.standing.word is None]
    for words, clear in (("changed beyond the spread of examples by", True), ("not by", False)):
        if found := [entry for entry in alone if _is_clear(entry) is clear]:
            yield words, found


def _distances(probed: ProbedConfiguration) -> Iterator[str]:
    """Yield the distance of adversarial weights from the learned weights, and that of other seeds.

    The distance is a lower bound unless exact for every example of every run.
    """
    found, share = probed.mean(ADVERSARIAL, "distance"), probed.mean(ADVERSARIAL, "succeeded")
    if found is None or share is None:
        return
    exact = probed.mean(ADVERSARIAL, "exact") == 1
    how = "exactly" if exact else "at least"
    of = "" if exact or share == 1 else "at least "
    seeds = probed.mean(SEEDS, "distance")
    others = "" if seeds is None else f"; the maps of other seeds are {number_text(seeds)} away"
    yield (
        f"{probed.title}: other weights give the same answers for {of}{share:.0%} of the "
        f"examples, and the farthest are {how} {number_text(found)} nats away on average "
        f"(Jensen-Shannon divergence, at most 0.693){others}"
    )


def _named(entry: TableEntry) -> str:
    """Return the name of an intervention, with its change if clear and neither tied nor equal."""
    name: str = entry.row.labels[COLUMN]
    found = entry.standing.difference
    if found is None or entry.standing.word in (Word.TIED, Word.EQUAL) or not _is_clear(entry):
        return name
    return f"{name} ({found.mean:+.4g})"


def _is_clear(entry: TableEntry) -> bool:
    """Return whether the interval of a change excludes zero."""
    found = entry.standing.difference
    return found is not None and not found.low <= 0 <= found.high

"""Verdicts on the subject of a card: first by the seeds that learned, then by the means."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from attnexp.cards.card_file import RowResult, TrialResult
from attnexp.core.console import number_text
from attnexp.select.judge import Judgement, judge, modes_of
from attnexp.select.sample import Sample, standings, with_diverged
from attnexp.stats.compare import TOLD_APART, Standing, Word
from attnexp.stats.intervals import LEVEL
from attnexp.stats.paired import in_columns, paired
from attnexp.stats.scaled import mean
from attnexp.stats.sequential import pair_tests

MOST_NAMED = 3
"""The most differences that the summary of a card names."""

IN_TABLE = {
    Word.BETTER: "better",
    Word.WORSE: "worse",
    Word.EQUAL: "equal",
    Word.BOTH_SOLVE: "both solve",
    Word.NEITHER_LEARNS: "neither",
    Word.TIED: "tied",
    Word.FEW: "few seeds",
}
"""The text of each verdict in a table, in the order of a card."""

OF_COSTS = {Word.BETTER: "faster", Word.WORSE: "slower"}
"""The text of verdicts on costs in a table."""

IN_PRINT = {Word.TIED: "not told apart", Word.NO_VALUE: "skip"}
"""The verdicts that sentences word differently."""

LOOK = "?"
"""Marks a verdict that is shown in its trial and not over the whole card."""

LAST_TRIED = "the last value tried"
"""The remark on a tuned value beyond which a better one may lie."""

NO_CHANGE = "changes nothing here"
"""Why a baseline with exactly the subject's numbers has no verdict."""

NOTHING_TOLD = (Word.BOTH_SOLVE, Word.NEITHER_LEARNS)
"""The verdicts at the ceiling and at the floor of a trial."""


@dataclass(frozen=True)
class CardVerdict:
    """The verdict on the subject next to one baseline in one trial.

    - `word` is a key of IN_TABLE, or `NO_VALUE` if the two were not compared.
    - `because` gives the numbers.
    - `difference` is subject minus baseline by seed, with the sign that makes a better subject
      positive. Costs have none: rounds on one machine are not seeds.
    - `holds` is true for a verdict that is shown over the whole card: see `judged`.
    - `at_end` is true, for the subject and for the baseline, if its tuned value is the last one
      tried, so that a better one may lie beyond.
    - `size` is the absolute difference over the range of the metric, at most 1. A range without an
      end stops at the larger value: 0.2 and 0.8 differ by 0.6 as shares, and by 0.75 as losses.
    """

    trial: str
    subject: str
    baseline: str
    word: Word
    because: str
    size: float = 0.0
    difference: Mapping[int, float] = field(default_factory=dict)
    holds: bool = False
    at_end: tuple[bool, bool] = (False, False)

    def in_table(self, of_costs: bool = False) -> str:
        """Return the text of the verdict in a table."""
        if of_costs and self.word in OF_COSTS:
            return OF_COSTS[self.word]
        look = self.word in TOLD_APART and not self.holds
        return IN_TABLE.get(self.word, "") + LOOK * look

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        rows = (self.subject, self.baseline)
        last = " and ".join(row for row, end in zip(rows, self.at_end, strict=True) if end)
        more = f"; {LAST_TRIED}: {last}" if last else ""
        return f"{self.trial}: {rows[0]} is {self.word} than {rows[1]} ({self.because}{more})"

    @property
    def measured(self) -> bool:
        """Whether both rows were measured."""
        return self.word is not Word.NO_VALUE


def judged(trials: Sequence[TrialResult]) -> list[list[CardVerdict]]:
    """Return the verdicts of each trial of a card.

    A card has many verdicts, and of twenty trials without a difference one may show one. A verdict
    `holds` over the whole card if sign flips of all differences together show the same direction:
    a seed has one sign in all trials, and each difference is compared with the largest of all
    (Westfall and Young 1993). For a baseline that the subject equals, at equal tuned rates, the
    chance is at most 5% that any verdict holds. Costs are left out: rounds are of one machine.
    """
    found = [verdicts(trial) for trial in trials]
    pairs = [each.difference for own in found for each in own if len(each.difference) > 1]
    if not pairs:
        return found
    apart = iter(pair_tests(*in_columns(pairs)).apart.tolist())

    def holds(verdict: CardVerdict) -> bool:
        if len(verdict.difference) < 2:
            return False
        is_apart, ahead = next(apart), mean(verdict.difference.values()) > 0
        return is_apart and verdict.word is (Word.BETTER if ahead else Word.WORSE)

    return [[replace(each, holds=holds(each)) for each in own] for own in found]


def says_nothing(own: Sequence[CardVerdict]) -> bool:
    """Return whether all rows of a trial are at its ceiling, or all at its floor."""
    words = {verdict.word for verdict in own if verdict.measured}
    return len(words) == 1 and words <= {*NOTHING_TOLD}


def verdicts(trial: TrialResult) -> list[CardVerdict]:
    """Return the verdicts on the subject next to each baseline, in this trial alone."""
    subject, *others = trial.rows
    measured = _samples(trial)
    samples, within = _compared(trial, measured)
    there = [i for i, sample in enumerate(samples) if sample.means]
    found: dict[int, Standing] = {}
    if 0 in there and len(there) > 1:
        own = standings([samples[i] for i in there], within, reference=0)
        found = dict(zip(there, own, strict=True))
    return [
        CardVerdict(trial.name, subject.label, row.label, Word.NO_VALUE, _why_not(subject, row))
        if i not in found or row.is_subject
        else _verdict(
            trial,
            (subject, row),
            (measured[0], measured[i]),
            judge(samples[0], samples[i], found[i].turned(), within),
        )
        for i, row in enumerate(others, 1)
    ]


def _samples(trial: TrialResult) -> list[Sample]:
    """Return the deciding number of each row."""
    return with_diverged([trial.sample(row, trial.metric) for row in trial.rows])


def _compared(trial: TrialResult, samples: list[Sample]) -> tuple[list[Sample], float]:
    """Return the samples and the `equal_within` of the tests: logarithms for costs."""
    if not trial.is_cost:
        return samples, trial.equal_within
    return [sample.map(math.log) for sample in samples], math.log1p(trial.equal_within)


def _verdict(
    trial: TrialResult,
    rows: tuple[RowResult, RowResult],
    samples: tuple[Sample, Sample],
    found: Judgement,
) -> CardVerdict:
    """Return a judgement on the subject next to a baseline as the verdict of a card.

    Costs with a mean ratio within `equal_within` are not told apart.
    """
    subject, baseline = rows
    if trial.is_cost and found.word in TOLD_APART:
        assert found.difference is not None
        if abs(found.difference.mean) <= math.log1p(trial.equal_within):
            found = replace(found, word=Word.TIED)
    means = [mean(sample.means) for sample in samples]
    sign = 1.0 if trial.better == "higher" else -1.0
    apart = paired(samples[0].values, samples[1].values)
    because = f"{trial.metric} {number_text(means[0])} and {number_text(means[1])}"
    if found.because:
        because = found.because
    elif found.word is Word.FEW:
        because += f", {len(apart)} seeds"
    elif found.word not in NOTHING_TOLD and (difference := found.difference):
        ends = difference.mean, difference.low, difference.high
        middle, low, high = (number_text(math.exp(end) if trial.is_cost else end) for end in ends)
        what = "ratio" if trial.is_cost else "difference"
        because += f", {what} {middle} [{low}, {high}], {len(apart)} seeds"
    return CardVerdict(
        trial.name,
        subject.label,
        baseline.label,
        found.word,
        because,
        0.0 if found.word in (*NOTHING_TOLD, Word.FEW) else _size(samples[0], means),
        {} if trial.is_cost else {seed: sign * number for seed, number in apart.items()},
        at_end=(bool(subject.at_end), bool(baseline.at_end)),
    )


def ahead(trial: TrialResult) -> list[bool]:
    """Return whether each row may be the best of its trial.

    A row is out if the card's test, with this row as subject, shows a better mean. With 95% the
    best row is not out (Hsu 1981, multiple comparisons with the best). A row is also out if
    Fisher's test shows that more seeds of the row with the best mean learned. If none of these
    learned, all rows are out. Costs have no best row: cards measure them on several occasions.
    """
    if trial.is_cost:
        return [False] * len(trial.rows)
    samples, within = _samples(trial), trial.equal_within
    there = [sample for sample in samples if sample.means]
    words = [standing.word for standing in standings(there, within)] if there else []
    if Word.BEST not in words:
        return [False] * len(samples)
    best = modes_of(there[words.index(Word.BEST)])

    def may_be(sample: Sample) -> bool:
        own = modes_of(sample)
        if best and (not best.learned or (own and own.p_against(best) <= LEVEL)):
            return False
        others = standings(there, within, reference=there.index(sample))
        return not any(standing.word is Word.BETTER for standing in others)

    return [bool(sample.means) and may_be(sample) for sample in samples]


def largest(found: Sequence[CardVerdict]) -> list[CardVerdict]:
    """Return the MOST_NAMED largest differences that hold over the whole card, largest first."""
    shown = [verdict for verdict in found if verdict.holds]
    return sorted(shown, key=lambda verdict: -verdict.size)[:MOST_NAMED]


def counts(found: Sequence[CardVerdict]) -> Iterator[tuple[Word, int]]:
    """Yield each word with its number of verdicts, in a fixed order, without zeros."""
    for word in IN_TABLE:
        if number := sum(verdict.word is word for verdict in found):
            yield word, number


def held_text(found: Sequence[CardVerdict]) -> str:
    """Return the verdicts that hold over the whole card, such as `better in 3`; else empty."""
    held = counts([verdict for verdict in found if verdict.holds])
    return ", ".join(f"{IN_PRINT.get(word, word)} in {number}" for word, number in held)


def reasons_to_look(found: Sequence[CardVerdict]) -> int:
    """Return the number of differences that are shown in their trial alone."""
    return sum(verdict.word in TOLD_APART and not verdict.holds for verdict in found)


def learned_text(trial: TrialResult, row: RowResult) -> str:
    """Return how many seeds learned, as `5 of 6`; empty if `modes_of` cannot tell."""
    modes = modes_of(trial.sample(row, trial.metric))
    return "" if modes is None else str(modes)


def _size(sample: Sample, means: Sequence[float]) -> float:
    larger = max(map(abs, means))
    least, most = (
        end if math.isfinite(end) else math.copysign(larger, end) for end in sample.range
    )
    return abs(means[0] - means[1]) / (most - least) if most > least else 0.0


def _why_not(subject: RowResult, baseline: RowResult) -> str:
    if baseline.is_subject:
        return NO_CHANGE
    lost = [f"{row.label}: {row.why or 'not measured'}" for row in (subject, baseline) if row.lost]
    return "; ".join(lost) or "not measured"

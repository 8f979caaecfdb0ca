"""Verdicts on the subject of a card: first by the seeds that learned, then by the means."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from attnexp.cards.card_file import RowResult, TrialResult
from attnexp.core.console import number_text
from attnexp.select.judge import Judgement, judge, modes_of
from attnexp.select.sample import Sample, standings, with_diverged
from attnexp.stats.compare import Standing, Word
from attnexp.stats.intervals import LEVEL
from attnexp.stats.paired import in_columns, paired
from attnexp.stats.scaled import mean
from attnexp.stats.sequential import pair_tests

MOST_NAMED = 3
"""The differences that a card names in words."""

IN_TABLE = {
    Word.BETTER: "better",
    Word.WORSE: "worse",
    Word.EQUAL: "equal",
    Word.BOTH_SOLVE: "both solve",
    Word.NEITHER_LEARNS: "neither",
    Word.TIED: "tied",
    Word.FEW: "few seeds",
}
"""The words of a card in their order, as a table has them."""

OF_COSTS = {Word.BETTER: "faster", Word.WORSE: "slower"}
"""The words of a table for costs, which no seeds decide."""

IN_PRINT = {Word.TIED: "not told apart", Word.NO_VALUE: "skip"}
"""The words that a card prints otherwise."""

TOLD_APART = (Word.BETTER, Word.WORSE)
"""The words of a verdict that shows a difference."""

LOOK = "?"
"""Follows the word of a difference that its trial shows and the whole card does not."""

LAST_TRIED = "the last value tried"
"""What is said of a tuned value beyond which a better one may lie."""

NO_CHANGE = "changes nothing here"
"""The reason of a row that computes what the other one does."""

NOTHING_TOLD = (Word.BOTH_SOLVE, Word.NEITHER_LEARNS)
"""The words of a trial at its ceiling or floor, if all of its verdicts have one of them."""


@dataclass(frozen=True)
class CardVerdict:
    """The verdict on the subject next to one baseline in one trial.

    - `word` is one of IN_TABLE, or `NO_VALUE` if one of the two was not measured.
    - `because` gives the numbers.
    - `difference` is that of the subject and the baseline, by seed, positive for a better
      subject. Costs have none: rounds on one machine are not seeds.
    - `holds` says that it is shown over the whole card: see `judged`.
    - `at_end` says of the subject and of the baseline whether its tuned value is the last one that
      was tried, so that a better one may lie beyond.
    - `size` is the difference over the range of the metric, which ends at the larger of the two
      values if it has no end, so at most 1: 0.2 and 0.8 differ by 0.6 as shares, and by 0.75 as
      losses.
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
        """Return the verdict as a table has it."""
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
    `holds` over the whole card if the means are told apart in the same direction by sign flips
    of all differences of the card together: seeds have the same sign in all trials, and each
    difference is compared with the largest of all (Westfall and Young 1993). Next to a baseline
    that the subject equals, at tuned rates that are equal, the chance is at most 5% that any
    verdict of the card holds. Costs do not count: their rounds are of one machine.
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
    """Return whether all rows of a trial are at its ceiling or at its floor."""
    words = {verdict.word for verdict in own if verdict.measured}
    return len(words) == 1 and words <= {*NOTHING_TOLD}


def verdicts(trial: TrialResult) -> list[CardVerdict]:
    """Return the verdict on the first row next to each of the others, in this trial alone."""
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
    """Return the number that decides of each row."""
    return with_diverged([trial.sample(row, trial.metric) for row in trial.rows])


def _compared(trial: TrialResult, samples: list[Sample]) -> tuple[list[Sample], float]:
    """Return the samples that are compared, and what counts as equal: of costs their logarithms."""
    if not trial.is_cost:
        return samples, trial.equal_within
    return [sample.map(math.log) for sample in samples], math.log1p(trial.equal_within)


def _verdict(
    trial: TrialResult,
    rows: tuple[RowResult, RowResult],
    samples: tuple[Sample, Sample],
    found: Judgement,
) -> CardVerdict:
    """Return a judgement of the subject next to a baseline, with their numbers."""
    subject, baseline = rows
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

    A row is out if the card's test, with it as subject, shows a better mean: the best one is among
    the others with 95% (Hsu 1981, multiple comparisons with the best). It is out, too, if in
    the row with the best mean more seeds learned, by Fisher's test, or none.
    """
    samples, within = _compared(trial, _samples(trial))
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
    """Return the largest differences that hold over the whole card, the largest first."""
    shown = [verdict for verdict in found if verdict.holds]
    return sorted(shown, key=lambda verdict: -verdict.size)[:MOST_NAMED]


def counts(found: Sequence[CardVerdict]) -> Iterator[tuple[Word, int]]:
    """Yield how often each word was given, in a fixed order; words that were not are left out."""
    for word in IN_TABLE:
        if number := sum(verdict.word is word for verdict in found):
            yield word, number


def told(found: Sequence[CardVerdict]) -> str:
    """Return in words how often a difference holds over the whole card; empty if none does."""
    held = counts([verdict for verdict in found if verdict.holds])
    return ", ".join(f"{IN_PRINT.get(word, word)} in {number}" for word, number in held)


def reasons_to_look(found: Sequence[CardVerdict]) -> int:
    """Return how many differences are shown in their trial alone."""
    return sum(verdict.word in TOLD_APART and not verdict.holds for verdict in found)


def learned_text(trial: TrialResult, row: RowResult) -> str:
    """Return how many seeds learned, as `5 of 6`; empty if the metric does not say."""
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

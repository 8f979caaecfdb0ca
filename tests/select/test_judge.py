"""The verdict on two rows, worked out by hand and by an oracle of its own."""

import itertools
import math

import pytest

from attnexp.select.judge import Judgement, judge, modes_of
from attnexp.select.sample import Sample, standings
from attnexp.stats.compare import Word

WITHIN = 0.02


def share(*values: float, chance: float = 0.1) -> Sample:
    own = {seed: {0: value} for seed, value in enumerate(values)}
    return Sample("exact_match", own, "share", "higher", {"chance": chance})


def judged(one: Sample, other: Sample) -> Judgement:
    standing, _ = standings([one, other], WITHIN, reference=1)
    return judge(one, other, standing, WITHIN)


@pytest.mark.parametrize(
    ("one", "other", "word"),
    [
        ([0.9] * 6, [0.1] * 6, Word.BETTER),
        ([0.1] * 6, [0.9] * 6, Word.WORSE),
        ([0.1, 0.12, 0.11, 0.1, 0.12, 0.1], [0.12, 0.1, 0.11, 0.13, 0.1, 0.1], Word.NEITHER_LEARNS),
        ([0.99] * 6, [0.985] * 6, Word.BOTH_SOLVE),
        ([0.5] * 6, [0.505] * 6, Word.EQUAL),
        ([0.5, 0.4, 0.6, 0.5, 0.4, 0.6], [0.4, 0.6, 0.5, 0.4, 0.7, 0.5], Word.TIED),
        ([0.5, 0.6, 0.5], [0.3, 0.4, 0.3], Word.FEW),
        # of few seeds one kind learned: none, and that is all that they say
        ([0.1] * 3, [0.1] * 3, Word.NEITHER_LEARNS),
        # three of six against none: p is 0.18, and the means are not told apart either
        ([0.9, 0.9, 0.9, 0.1, 0.1, 0.1], [0.1] * 6, Word.TIED),
        # lower means at every seed, though nothing learned: the means are told apart
        ([0.2, 0.21, 0.2, 0.22, 0.2, 0.21], [0.11, 0.1, 0.12, 0.1, 0.11, 0.1], Word.BETTER),
    ],
)
def test_rows_are_judged_by_seeds_that_learned_and_then_by_means(one, other, word):
    assert judged(share(*one), share(*other)).word is word


def test_seeds_that_learned_decide_before_means():
    found = judged(share(*[0.9] * 5, 0.1), share(0.9, *[0.05] * 5, chance=0.05))
    assert found.because == ""  # p is 0.08
    found = judged(share(*[0.9] * 6), share(0.9, *[0.05] * 5, chance=0.05))
    assert found.because == "6 of 6 and 1 of 6 seeds learned, p = 0.015"


def test_the_larger_share_is_better_and_not_the_larger_number():
    found = judged(share(*[0.9] * 8, *[0.1] * 12), share(*[0.9] * 6))
    assert found.because == "8 of 20 and 6 of 6 seeds learned, p = 0.017"
    assert found.word is Word.WORSE


def fisher_by_counting(one: int, other: int, n: int) -> float:
    """Return p of two rows of n seeds, over all ways to draw who learned."""
    everyone = itertools.combinations(range(2 * n), one + other)
    counts = [sum(seed < n for seed in who) for who in everyone]
    chance = {count: counts.count(count) / len(counts) for count in {*counts}}
    return sum(p for p in chance.values() if p <= chance[one] * (1 + 1e-9))


@pytest.mark.parametrize("counts", [*itertools.product(range(7), repeat=2)], ids=str)
def test_p_of_learning_is_that_of_all_ways_to_draw_it(counts):
    rows = [share(*[1.0] * count, *[0.0] * (6 - count), chance=0.0) for count in counts]
    found = judged(*rows)
    told = fisher_by_counting(counts[0], counts[1], 6) <= 0.05
    assert bool(found.because) is told
    if told:
        assert found.word is (Word.BETTER if counts[0] > counts[1] else Word.WORSE)


def test_the_other_row_has_the_opposite_verdict():
    turned = {Word.BETTER: Word.WORSE, Word.WORSE: Word.BETTER}
    rows = [[each] * 6 for each in (0.9, 0.1, 0.5, 0.505, 0.99)] + [[0.4, 0.6, 0.5, 0.4, 0.7, 0.5]]
    for one, other in itertools.combinations([share(*row) for row in rows], 2):
        found, back = judged(one, other), judged(other, one)
        assert back.word is turned.get(found.word, found.word)
        assert found.difference is not None
        assert back.difference is not None
        assert back.difference.mean == pytest.approx(-found.difference.mean)
        assert (back.difference.better, back.difference.worse) == (
            found.difference.worse,
            found.difference.better,
        )
        standing, _ = standings([one, other], WITHIN, reference=1)
        again, _ = standings([other, one], WITHIN, reference=1)
        assert again.turned().word is standing.word
        assert again.turned().difference is not None
        assert again.turned().difference.low == pytest.approx(standing.difference.low)


def test_a_metric_without_a_range_has_no_modes():
    assert modes_of(Sample("loss", {0: {0: 0.1}}, better="lower")) is None
    assert modes_of(share(0.5)) is None
    assert math.isinf(Sample("score", {}, better="higher").best)

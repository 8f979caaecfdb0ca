"""Verdicts: by hand, and in simulations where the truth is known."""

from itertools import combinations

import numpy as np
import pytest

from attnexp.core.language import in_language
from attnexp.stats.compare import Rule, against, compare
from attnexp.stats.paired import Values, every_pair, paired

LOWER = Rule("lower")


def rows(*several: list[float]) -> list[Values]:
    """Rows of one value a seed, the seeds counted from 0."""
    return [{seed: {0: value} for seed, value in enumerate(values)} for values in several]


def standings(*several: list[float], rule: Rule = LOWER) -> list[str | None]:
    return [in_language(verdict.text(), "en") for verdict in compare(rows(*several), rule)]


ONE, TWO = [1.0, 1.1, 0.9, 1.05, 1.0, 0.95], [2.0, 2.1, 1.95, 2.1, 2.05, 1.9]
WIDE = [1.0, 1.5, 0.5, 1.2, 0.9, 1.1]
TWENTY = [[float(row) + 0.01 * seed for seed in range(6)] for row in range(20)]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ([ONE, TWO], ["best", "worse"]),
        ([WIDE, [1.1, 1.0, 1.4, 0.8, 1.3, 1.05]], ["best", "tied"]),
        ([[0.0] * 3, [9.0] * 3], ["best", "worse on 3 of 3 seeds"]),
        ([[0.0] * 5, [9.0] * 5], ["best", "worse on 5 of 5 seeds"]),
        ([[0.0] * 6, [9.0] * 6], ["best", "worse"]),
        (TWENTY, ["best", *["worse"] * 19]),
        ([[1.0] * 2, [1.0] * 2], ["best", "best"]),
        ([[1.0] * 6, [1.0] * 6, [2.0] * 6], ["best", "best", "worse"]),
        ([[0.0, 2.0] * 3, [1.0] * 6], ["best", "best"]),
        ([[0.1], [1.0, 1.1], [2.0, 2.1]], ["one seed", "best", "worse on 2 of 2 seeds"]),
        ([[0.1], [0.2]], ["one seed", "one seed"]),
        ([[0.1, 0.2], [0.2]], ["alone", "one seed"]),
    ],
    ids=[
        *("a clear difference", "an unclear one", "three seeds", "five seeds", "six seeds"),
        *("twenty rows", "equal rows", "two of three are equal", "equal means", "one of one seed"),
        *("all of one seed", "one that can be compared with none"),
    ],
)
def test_a_table_has_its_verdicts(table, words):
    assert standings(*table) == words


def test_higher_may_be_better():
    assert standings(ONE, TWO, rule=Rule("higher")) == ["worse", "best"]


def test_a_row_without_a_value_has_no_verdict():
    assert standings([], [0.2, 0.1], [0.3, 0.1])[0] == "no value"


def test_parts_share_the_level():
    assert standings(ONE, TWO, rule=Rule("lower", parts=2)) == ["best", "worse on 6 of 6 seeds"]
    # 1/64 is within half of 1/32 + (0.05 - 1/32)(1 - 6/7), and 1/128 within a quarter of that at 9
    assert [Rule("lower", parts=parts).least for parts in (1, 2, 4)] == [6, 7, 8]


def test_rows_within_what_nobody_needs_are_equal():
    near = [value + (0.01, -0.005)[place % 2] for place, value in enumerate(WIDE)]
    assert standings(WIDE, near, rule=Rule("lower", equal_within=0.1))[1] == "equal"
    assert standings(WIDE, near, rule=Rule("lower", equal_within=0.001))[1] == "tied"


def test_rows_within_the_margin_are_equal_if_every_seed_is_a_little_worse():
    above = [value + 0.001 + 0.0001 * place for place, value in enumerate(WIDE)]
    assert standings(WIDE, above)[1] == "worse"
    assert standings(WIDE, above, rule=Rule("lower", equal_within=0.02))[1] == "equal"
    for gap, word in ((0.001, "equal"), (0.1, "better")):
        below = rows([value - gap for value in WIDE])
        (found,) = against(rows(WIDE)[0], below, Rule("lower", 0.02))
        assert found.text() == word


def test_the_interval_leaves_out_zero_where_the_row_is_worse():
    rng = np.random.default_rng(0)
    for _ in range(60):
        table = rng.normal(size=(3, 8)) + rng.normal(size=(3, 1))
        for verdict in compare(rows(*table.tolist()), LOWER):
            found = verdict.difference
            if found is not None:
                assert (verdict.word == "worse") == (found.low > 0)
                assert found.better + found.worse == found.pairs == 8


def test_pairing_sees_what_strangers_hide():
    ground = [1.0, 5.0, 2.0, 9.0, 4.0, 3.0]
    above = [value + 0.1 for value in ground]
    assert standings(ground, above) == ["best", "worse"]
    strangers = [{10 + seed: value for seed, value in rows(above[3:] + above[:3])[0].items()}]
    found = compare([*rows(ground), *strangers], LOWER)
    assert [verdict.word for verdict in found] == ["alone", "alone"]


def test_only_common_seeds_and_settings_are_paired():
    one = {seed: {0: 1.0 + 0.01 * seed} for seed in range(5)}
    two = {seed: {0: 2.0 - 0.01 * seed, 1: 0.0} for seed in range(3, 8)}
    assert paired(two, one) == pytest.approx({3: 0.94, 4: 0.92})
    three = {seed: {0: 10.0 * seed} for seed in (7, 5, 6, 8)}
    assert paired(three, one) == {}
    assert paired(three, two) == pytest.approx({5: 48.05, 6: 58.06, 7: 68.07})


def test_all_pairs_at_once_are_the_pairs_one_by_one():
    """With seeds and settings that rows lack, and rows that share no seed."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        table = [
            {
                int(seed): {
                    int(block): round(rng.normal(), 1)
                    for block in rng.permutation(3)[: rng.integers(1, 4)]
                }
                for seed in rng.permutation(7)[: rng.integers(2, 8)]
            }
            for _ in range(5)
        ]
        pairs = [paired(one, other) for one, other in combinations(table, 2)]
        seeds = sorted({seed for pair in pairs for seed in pair})
        expected = np.array([[pair.get(seed, np.nan) for pair in pairs] for seed in seeds])
        found = every_pair(table)
        assert found[0] == seeds
        assert found[1] == pytest.approx(expected, nan_ok=True)


LUCK = np.random.default_rng(0).normal(scale=5, size=40)


def on(seeds, worse: float) -> Values:
    """A row that is worse by a number, whose seeds have the luck that all rows share."""
    return {seed: {0: float(LUCK[seed]) + worse + 0.01 * (seed % 3)} for seed in seeds}


def words(*table: Values, rule: Rule = LOWER) -> list[str | None]:
    return [in_language(verdict.text(), "en") for verdict in compare(table, rule)]


def test_a_row_with_lucky_seeds_is_not_best():
    """Each has one seed of its own: the second row's is the best of all, and it is behind."""
    one = {seed: {0: value} for seed, value in zip(range(14, 22), [9.0, *[1.0] * 7], strict=True)}
    two = {seed: {0: value} for seed, value in zip(range(15, 23), [*[1.5] * 7, -9.0], strict=True)}
    assert words(one, two) == ["best", "worse"]
    assert words(two, one, rule=Rule("higher")) == ["best", "worse"]


@pytest.mark.parametrize("better", ["lower", "higher"])
def test_rows_in_windows_of_seeds_stand_as_with_all_seeds(better):
    rng = np.random.default_rng(1)
    for _ in range(20):
        starts = rng.integers(0, 4, 5)
        worse = rng.permutation(5) * (1.0 if better == "lower" else -1.0)
        table = [on(range(a, a + 12), b) for a, b in zip(starts, worse, strict=True)]
        expected = ["best" if gap == 0 else "worse" for gap in worse]
        assert words(*table, rule=Rule(better)) == expected


def test_rows_without_a_way_of_shared_seeds_are_alone():
    both = on(range(8), 0.0), on(range(2, 10), 1.0)
    assert words(*both, on(range(20, 28), -9.0)) == ["best", "worse", "alone"]
    assert words(on(range(20, 28), -9.0), *both) == ["alone", "best", "worse"]
    assert words(*both, on((20,), -9.0), {}) == ["best", "worse", "one seed", "no value"]
    # a chain: the last shares seeds with the second alone
    assert words(*both, on(range(8, 16), 2.0))[2] == "alone"
    assert words(*both, on(range(7, 16), 2.0))[2] == "worse on 1 of 1 seeds"


def test_a_row_that_shares_no_seed_with_the_reference_is_alone():
    rows_ = on(range(8), 1.0), on(range(20, 28), 1.0), on(range(7, 15), 1.0)
    found = against(on(range(8), 0.0), rows_, LOWER)
    assert [in_language(one.text(), "en") for one in found] == [
        "worse",
        "alone",
        "worse on 1 of 1 seeds",
    ]
    (alone,) = against(on(range(8), 0.0), rows_[1:2], LOWER)
    assert alone.word == "alone"


def test_splits_of_a_file_are_compared_on_shared_ones_too():
    rule = Rule("lower", overlap=0.25)
    table = on(range(12), 0.0), on(range(3, 15), 1.0), on(range(30, 40), 1.0), on((14, 15), 2.0)
    assert words(*table, rule=rule) == ["best", "worse", "alone", "alone"]


def flat(*parts) -> Values:
    """A row with one value at all seeds of each part."""
    return {seed: {0: float(value)} for seeds, value in parts for seed in seeds}


def test_no_row_is_best_that_another_beats():
    """Each row is beaten by another on the seeds they share, until the first beats both."""
    a, b, c = range(8), range(20, 32), range(40, 52)
    first, second, third = flat((a, 0.0), (b, 4.0)), flat((a, 1.0), (c, -4.0)), flat((b, 0), (c, 0))
    found = compare([first, second, third], LOWER)
    assert [one.word for one in found] == [*["worse"] * 3]
    # the first beats the second, the second the third, and the third the first
    assert [one.beaten_by for one in found] == [2, 0, 1]
    ahead = flat((a, 0.0), (b, -1.0))
    assert words(ahead, second, third)[:2] == ["best", "worse"]


def test_differences_that_vary_by_rounding_do_not_vary():
    accuracies = np.array([0.91, 0.93, 0.97], dtype=np.float32)
    both = accuracies, accuracies + np.float32(1e-8)
    values = [{seed: {0: float(v)} for seed, v in enumerate(own)} for own in both]
    assert set(paired(values[0], values[1]).values()) == {0.0}
    assert (every_pair(values)[1] == 0.0).all()


def test_splits_of_a_file_need_a_larger_difference():
    rng = np.random.default_rng(0)
    one = rng.normal(size=12).tolist()
    two = [value + 1 + rng.normal() for value in one]
    alone, split = (
        compare(rows(one, two), Rule("lower", overlap=overlap))[1] for overlap in (0.0, 0.25)
    )
    assert alone.difference.low > split.difference.low
    assert alone.p < split.p


def test_six_seeds_of_many_rows_have_an_end_of_their_interval():
    """One row is ahead on all seeds, but among ten such rows that is no verdict."""
    others = (np.random.default_rng(4).normal(size=(8, 6)) + 1).tolist()
    verdicts = compare(rows([0.0] * 6, [0.01, 2.0, 0.02, 0.01, 0.03, 0.02], *others), LOWER)
    found = [verdict.difference for verdict in verdicts if verdict.difference is not None]
    assert all(np.isfinite([each.low, each.high]).all() for each in found)
    for verdict in verdicts:
        if verdict.difference is not None:
            zero = verdict.difference.low <= 0 <= verdict.difference.high
            assert zero == (verdict.word == "tied")
    assert (found[0].worse, found[0].low) == (6, 0.0)


@pytest.mark.parametrize(("count", "seeds"), [(2, 2), (2, 6), (4, 3), (4, 10)])
def test_equals_are_called_different_in_at_most_one_table_of_twenty(seeds: int, count: int):
    """500 tables of equal rows; other distributions are in tests/benchmarks/test_honesty.py."""
    tables = np.random.default_rng(count * 100 + seeds).normal(size=(500, count, seeds))
    claimed = sum("worse" in standings(*table.tolist()) for table in tables)
    assert claimed <= 25 + 2.3 * np.sqrt(500 * 0.05 * 0.95)


def test_settings_within_a_seed_do_not_pass_for_seeds():
    """Four settings a seed that share the seed's luck are still only six seeds."""
    rng = np.random.default_rng(0)
    claimed = 0
    for luck in rng.normal(size=(500, 2, 6, 1)):
        table = luck + 0.1 * rng.normal(size=(2, 6, 4))
        values = [{s: dict(enumerate(blocks)) for s, blocks in enumerate(row)} for row in table]
        claimed += "worse" in [verdict.word for verdict in compare(values, LOWER)]
    assert claimed <= 36


@pytest.mark.parametrize("gap", [0.0, 0.3, 2.0])
def test_the_standing_of_the_other_row_is_turned(gap: float):
    draws = np.random.default_rng(0).normal(size=(20, 2, 8))
    for one, two in draws + [[0.0], [gap]]:
        first, second = rows(one.tolist(), two.tolist())
        (of_first,) = against(second, [first], LOWER)
        (of_second,) = against(first, [second], LOWER)
        turned = of_second.turned()
        assert turned.word == of_first.word
        assert turned.p == pytest.approx(of_first.p)
        ours, theirs = of_first.difference, turned.difference
        assert (theirs.mean, theirs.low, theirs.high) == pytest.approx(
            (ours.mean, ours.low, ours.high)
        )
        assert (theirs.better, theirs.worse) == (ours.better, ours.worse)

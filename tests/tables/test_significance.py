"""Verdicts: by hand, and in simulations where the truth is known."""

import numpy as np
import pytest

from attnexp.tables.significance import Pairing, Values, compare, least_seeds, pair
from attnexp.tables.statistics import betting_p, student_p


def rows(*several: list[float]) -> list[Values]:
    """Rows of one value a seed, the seeds counted from 0."""
    return [{seed: {0: value} for seed, value in enumerate(values)} for values in several]


def standings(*several: list[float], better: str = "lower", test=student_p) -> list[str]:
    return [verdict.standing for verdict in compare(rows(*several), better, test)]


ONE, TWO = [1.0, 1.1, 0.9, 1.05, 1.0, 0.95], [2.0, 2.1, 1.95, 2.1, 2.05, 1.9]


def test_clear_differences_are_claimed():
    assert standings(ONE, TWO) == ["best", "worse"]
    assert standings(ONE, TWO, better="higher") == ["worse", "best"]


def test_unclear_differences_are_ties():
    one, two = [1.0, 1.5, 0.5, 1.2, 0.9, 1.1], [1.1, 1.0, 1.4, 0.8, 1.3, 1.05]
    assert standings(one, two) == ["best", "tied"]


def test_few_seeds_have_no_verdict_however_clear_it_seems():
    # The sign test of five that agree has p = 1/16, and of six 1/32.
    assert standings([0.0] * 5, [9.0] * 5) == ["best", "too few seeds"]
    assert standings([0.0] * 6, [9.0] * 6) == ["best", "worse"]


def test_the_fewest_seeds_grow_with_the_table():
    # 2^(1 - n) <= 0.05 / 28 from n = 11 on. The betting test asks for no spread but for distance.
    assert [least_seeds(count, student_p) for count in (2, 4, 8)] == [6, 8, 11]
    assert [least_seeds(count, betting_p) for count in (2, 4, 8)] == [7, 10, 13]


def test_a_late_jump_that_has_not_been_seen_is_no_verdict():
    """Ten seeds of 1 beside ten of 0.88: with a chance of 0.11 even where 1 in 5 falls to 0.4."""
    good, level = [1.0 - 0.001 * (i % 3) for i in range(10)], [0.88] * 10
    assert standings(good, level, better="higher", test=betting_p) == ["best", "tied"]
    assert standings(good, [0.1] * 10, better="higher", test=betting_p) == ["best", "worse"]


def test_pairing_sees_what_strangers_hide():
    ground = [1.0, 5.0, 2.0, 9.0, 4.0, 3.0]
    small = [0.1, 0.12, 0.09, 0.11, 0.1, 0.1]
    above = [a + b for a, b in zip(ground, small, strict=True)]
    assert standings(ground, above) == ["best", "worse"]
    shuffled = above[3:] + above[:3]
    strangers = [{10 + seed: value for seed, value in rows(shuffled)[0].items()}]
    found = compare([*rows(ground), *strangers], "lower", student_p)
    assert [verdict.standing for verdict in found] == ["best", "tied"]


def test_only_common_seeds_are_paired():
    one = {seed: {0: 1.0 + 0.01 * seed} for seed in range(5)}
    two = {seed: {0: 2.0 - 0.01 * seed} for seed in range(3, 8)}
    assert compare([one, two], "lower", student_p)[1].pairs == 2
    three = {seed: {0: 2.0 - 0.01 * seed} for seed in range(4, 8)}
    assert pair(three, one).pairs == 0


def test_rows_that_share_no_seeds_are_paired_in_the_order_of_their_seeds():
    one = {seed: {0: float(seed)} for seed in (2, 0, 1)}
    two = {seed: {0: 10.0 * seed} for seed in (7, 5, 6, 8)}
    assert pair(two, one) == Pairing((50.0, 59.0, 68.0), scale=70.0, pairs=0)


def test_only_common_settings_are_compared():
    # The second row was also run at a much better setting, which the first was not.
    one = {seed: {0: 1.0 + 0.1 * seed} for seed in range(6)}
    two = {seed: {0: 1.0 + 0.1 * seed, 1: 0.0} for seed in range(6)}
    verdicts = compare([one, two], "lower", student_p)
    assert [verdict.standing for verdict in verdicts] == ["tied", "best"]
    assert verdicts[0].p == 1.0


def test_one_seed_is_never_best_and_never_compared():
    assert standings([0.1], [1.0, 1.1], [2.0, 2.1]) == ["one seed", "best", "too few seeds"]
    assert standings([0.1], [0.2]) == ["one seed", "one seed"]
    assert standings([0.1, 0.2], [0.2]) == ["alone", "one seed"]
    assert standings([], [0.2, 0.1], [0.3, 0.1])[0] == "no value"


@pytest.mark.parametrize("test", [student_p, betting_p])
def test_equal_rows_are_tied(test):
    values = [0.1 * seed for seed in range(10)]
    verdict = compare(rows(values, values), "lower", test)[1]
    assert (verdict.standing, verdict.p) == ("tied", 1.0)


def test_p_values_are_corrected_for_all_pairs():
    two = compare(rows(ONE, TWO), "lower", student_p)[1]
    three = compare(rows(ONE, TWO, [9.0, 1.0, 5.0, 3.0, 2.0, 7.0]), "lower", student_p)[1]
    assert two.p is not None
    assert three.p == pytest.approx(3 * two.p)


@pytest.mark.parametrize(("count", "seeds"), [(2, 2), (2, 6), (4, 3), (4, 10)])
def test_equals_are_called_different_in_at_most_one_table_of_twenty(seeds: int, count: int):
    """1,000 tables of equal rows; other distributions are in tests/benchmarks/test_honesty.py.

    It is 5% of them, and 2.3 standard errors.
    """
    tables = np.random.default_rng(count * 100 + seeds).normal(size=(1000, count, seeds))
    claimed = sum("worse" in standings(*table.tolist()) for table in tables)
    assert claimed <= 50 + 2.3 * np.sqrt(1000 * 0.05 * 0.95)


@pytest.mark.parametrize("overlap", [0, 1, 3])
def test_equals_on_other_seeds_are_not_called_different_either(overlap: int):
    rng = np.random.default_rng(overlap)
    claimed = 0
    for one, two in rng.normal(size=(1000, 2, 5)).tolist():
        rows = [dict(enumerate(one)), dict(enumerate(two, start=5 - overlap))]
        values = [{seed: {0: value} for seed, value in row.items()} for row in rows]
        claimed += "worse" in [verdict.standing for verdict in compare(values, "lower", student_p)]
    assert claimed <= 66


def test_settings_within_a_seed_do_not_pass_for_seeds():
    """Four settings a seed that share the seed's luck are still only three seeds."""
    rng = np.random.default_rng(0)
    claimed = 0
    for luck in rng.normal(size=(1000, 2, 3, 1)):
        table = luck + 0.1 * rng.normal(size=(2, 3, 4))
        values = [{s: dict(enumerate(blocks)) for s, blocks in enumerate(row)} for row in table]
        claimed += "worse" in [verdict.standing for verdict in compare(values, "lower", student_p)]
    assert claimed <= 66

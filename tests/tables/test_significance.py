"""Verdicts: by hand, and in simulations where the truth is known."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from attnexp.tables.significance import Values, compare


def rows(*several: list[float]) -> list[Values]:
    """Rows of one value a seed, the seeds counted from 0."""
    return [{seed: {0: value} for seed, value in enumerate(values)} for values in several]


def standings(*several: list[float], better: str = "lower") -> list[str]:
    return [verdict.standing for verdict in compare(rows(*several), better)]


def pairs(one: Values, two: Values) -> int:
    test = compare([one, two], "lower")[1].test
    assert test is not None
    return test.pairs


def test_clear_differences_are_claimed():
    one, two = [1.0, 1.1, 0.9, 1.05], [2.0, 2.1, 1.95, 2.1]
    assert standings(one, two) == ["best", "worse"]
    assert standings(one, two, better="higher") == ["worse", "best"]


def test_unclear_differences_are_ties():
    assert standings([1.0, 1.5, 0.5], [1.1, 1.0, 1.4]) == ["best", "tied"]


def test_pairing_sees_what_strangers_hide():
    ground = [1.0, 5.0, 2.0, 9.0, 4.0]
    small = [0.1, 0.12, 0.09, 0.11, 0.1]
    above = [a + b for a, b in zip(ground, small, strict=True)]
    assert standings(ground, above) == ["best", "worse"]
    strangers = [{10 + seed: value for seed, value in rows(above)[0].items()}]
    assert [v.standing for v in compare([*rows(ground), *strangers], "lower")] == ["best", "tied"]


def test_only_common_seeds_are_paired():
    one = {seed: {0: 1.0 + 0.01 * seed} for seed in range(5)}
    two = {seed: {0: 2.0 - 0.01 * seed} for seed in range(3, 8)}
    assert pairs(one, two) == 2
    three = {seed: {0: 2.0 - 0.01 * seed} for seed in range(4, 8)}
    assert pairs(one, three) == 0


def test_only_common_settings_are_compared():
    # The second row was also run at a much better setting, which the first was not.
    one = {seed: {0: 1.0 + 0.1 * seed} for seed in range(4)}
    two = {seed: {0: 1.0 + 0.1 * seed, 1: 0.0} for seed in range(4)}
    verdicts = compare([one, two], "lower")
    assert [verdict.standing for verdict in verdicts] == ["tied", "best"]
    assert verdicts[0].p == 1.0


def test_one_seed_is_never_best_and_never_compared():
    assert standings([0.1], [1.0, 1.1], [2.0, 2.1]) == ["one seed", "best", "tied"]
    assert standings([0.1], [0.2]) == ["one seed", "one seed"]
    assert standings([0.1, 0.2], [0.2]) == ["alone", "one seed"]
    assert standings([], [0.2, 0.1], [0.3, 0.1])[0] == "no value"


def test_equal_rows_are_tied_and_no_seeds_would_tell():
    verdict = compare(rows([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]), "lower")[1]
    assert (verdict.standing, verdict.p, verdict.more) == ("tied", 1.0, None)


def test_a_tie_says_how_many_more_seeds_would_tell():
    # Differences 1, 2, 3: effect 2. At 5%, t needs 5 pairs for a power of 80%; 3 are there.
    verdict = compare(rows([0.0, 0.0, 0.0], [1.0, 2.0, 3.0]), "lower")[1]
    assert (verdict.standing, verdict.more) == ("tied", 2)


def test_p_values_are_corrected_for_all_pairs():
    two = compare(rows([1.0, 1.1, 0.9], [1.5, 1.4, 1.6]), "lower")[1]
    three = compare(rows([1.0, 1.1, 0.9], [1.5, 1.4, 1.6], [9.0, 1.0, 5.0]), "lower")[1]
    assert two.p is not None
    assert three.p == pytest.approx(3 * two.p)


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    return rng.normal(size=shape)


def skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Losses, now and then one that is much larger."""
    return rng.lognormal(0, 1.5, size=shape)


def shared(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Half of the noise belongs to the seed, as where all rows see the same data."""
    return rng.normal(size=shape) + rng.normal(size=(shape[0], 1, shape[2]))


def ceiling(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Accuracies of 200 examples, many of them exactly 1, in single precision."""
    return (rng.binomial(200, 0.995, size=shape) / np.float32(200)).astype(float)


def uneven(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """The same mean with very different spreads."""
    return rng.normal(size=shape) * np.geomspace(0.1, 10, shape[1])[:, None]


@pytest.mark.parametrize(
    "draw",
    [
        normal,
        ceiling,
        *(pytest.param(draw, marks=pytest.mark.slow) for draw in (skewed, shared, uneven)),
    ],
)
@pytest.mark.parametrize(("count", "seeds"), [(2, 2), (2, 5), (4, 3), (4, 10)])
def test_equals_are_called_different_in_at_most_one_table_of_twenty(
    draw: Callable[..., NDArray[np.float64]], seeds: int, count: int
):
    """1,000 tables in which all rows are equal. 5% of them, and 2.3 standard errors."""
    tables = draw(np.random.default_rng(count * 100 + seeds), (1000, count, seeds))
    claimed = sum("worse" in standings(*table.tolist()) for table in tables)
    assert claimed <= 50 + 2.3 * np.sqrt(1000 * 0.05 * 0.95)


@pytest.mark.parametrize("overlap", [0, 1, 3])
def test_equals_on_other_seeds_are_not_called_different_either(overlap: int):
    rng = np.random.default_rng(overlap)
    claimed = 0
    for one, two in rng.normal(size=(1000, 2, 5)).tolist():
        rows = [dict(enumerate(one)), dict(enumerate(two, start=5 - overlap))]
        values = [{seed: {0: value} for seed, value in row.items()} for row in rows]
        claimed += "worse" in [verdict.standing for verdict in compare(values, "lower")]
    assert claimed <= 66


def test_settings_within_a_seed_do_not_pass_for_seeds():
    """Four settings a seed that share the seed's luck are still only three seeds."""
    rng = np.random.default_rng(0)
    claimed = 0
    for luck in rng.normal(size=(1000, 2, 3, 1)):
        table = luck + 0.1 * rng.normal(size=(2, 3, 4))
        values = [{s: dict(enumerate(blocks)) for s, blocks in enumerate(row)} for row in table]
        claimed += "worse" in [verdict.standing for verdict in compare(values, "lower")]
    assert claimed <= 66


def test_true_differences_are_found():
    """The correction leaves some power: differences of two deviations, four rows, ten seeds."""
    rng = np.random.default_rng(0)
    found = 0
    for table in rng.normal(size=(200, 4, 10)):
        table[1:] += 2 * np.sqrt(2)
        found += standings(*table.tolist()).count("worse")
    assert found / 600 > 0.95

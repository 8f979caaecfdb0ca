"""Means of rows with unlike seeds, next to a fit of indicator variables by least squares."""

from statistics import fmean

import numpy as np
import pytest

from attnexp.stats.additive import levels
from attnexp.stats.paired import paired, seed_means


def drawn(rng, rows: int, seeds: int, blocks: int = 1, share: float = 0.6):
    """Rows with a value at some seeds and blocks, which all have seed 0."""
    luck = rng.normal(scale=3, size=(seeds, blocks))
    table = []
    for _ in range(rows):
        row = {}
        for seed in range(seeds):
            there = [b for b in range(blocks) if seed == 0 or rng.random() < share]
            if there:
                row[seed] = {b: float(luck[seed, b] + rng.normal()) for b in there}
        table.append(row)
    return table


def by_indicators(rows):
    """The means of rows at all cells, by a column for each row and each cell."""
    found = [
        (r, (s, b), y)
        for r, row in enumerate(rows)
        for s, own in row.items()
        for b, y in own.items()
    ]
    cells = sorted({cell for _, cell, _ in found})
    seeds = [seed for seed, _ in cells]
    weight = {cell: 1 / seeds.count(cell[0]) for cell in cells}
    design = np.zeros((len(found), len(rows) + len(cells)))
    for line, (r, cell, _) in enumerate(found):
        design[line, [r, len(rows) + cells.index(cell)]] = 1
    root = np.sqrt([weight[cell] for _, cell, _ in found])
    values = np.array([y for *_, y in found])
    fit = np.linalg.lstsq(design * root[:, None], values * root, rcond=None)[0]
    own, of_cells = fit[: len(rows)], fit[len(rows) :]
    return own + np.average(of_cells, weights=[weight[cell] for cell in cells])


@pytest.mark.parametrize("blocks", [1, 3])
def test_means_are_those_of_least_squares(blocks):
    rng = np.random.default_rng(blocks)
    for rows in (2, 3, 5, 9):
        table = drawn(rng, rows, 8, blocks)
        assert levels(table) == pytest.approx(by_indicators(table).tolist())


def test_rows_of_the_same_seeds_have_their_plain_means():
    rows = drawn(np.random.default_rng(0), 4, 7, 2, share=1.0)
    assert levels(rows) == [fmean(seed_means(row)) for row in rows]
    assert levels([*rows, {}]) == [*levels(rows), None]


def test_two_rows_differ_by_the_mean_of_their_pairs():
    rng = np.random.default_rng(0)
    for _ in range(5):
        one, two = drawn(rng, 2, 9)
        first, second = levels([one, two])
        assert first - second == pytest.approx(np.mean(list(paired(one, two).values())))


def at(seeds, value=0.0):
    return {seed: {0: value + seed} for seed in seeds}


@pytest.mark.parametrize(
    ("rows", "inside"),
    [
        ([at((0, 1)), at((1, 2)), at((2, 3))], [True, True, True]),  # a chain
        ([at((0, 1)), at((5, 6)), at((6, 7))], [False, True, True]),
        ([at((5, 6)), at((0, 1))], [False, True]),  # as large: the smallest seed
        ([at((5, 6)), at((0,)), at((0,)), at((6,))], [True, False, False, True]),
        ([{}, at((3, 4))], [False, True]),
        ([{0: {0: 1.0}, 1: {0: 2.0}}, {0: {1: 1.0}, 1: {1: 2.0}}], [True, False]),  # no block
    ],
)
def test_rows_compare_if_shared_seeds_lead_from_one_to_the_other(rows, inside):
    assert [level is not None for level in levels(rows)] == inside
    mirrored = levels(rows[::-1])[::-1]
    assert [level is not None for level in mirrored] == inside


@pytest.mark.parametrize("power", [-1060, 1000])
def test_huge_and_tiny_values_keep_their_places(power):
    rows = [at((1, 2, 3)), at((2, 3, 4), 0.5), at((3, 4, 5), -2.0)]
    moved = [{s: {0: own[0] * 2.0**power} for s, own in row.items()} for row in rows]
    assert np.array(levels(moved)) / 2.0**power == pytest.approx(np.array(levels(rows)))


def test_a_row_of_one_seed_changes_no_other():
    rows = drawn(np.random.default_rng(3), 3, 6)
    before, after = np.array(levels(rows)), np.array(levels([*rows, at((5,), 99.0)])[:3])
    assert np.diff(after) == pytest.approx(np.diff(before))

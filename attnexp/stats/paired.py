"""Rows of numbers by seed, and their differences in pairs."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations, compress

import numpy as np
from jaxtyping import Float

from attnexp.stats.intervals import ROUNDING
from attnexp.stats.scaled import MOST, difference, factors, mean

Values = dict[int, dict[int, float]]
"""The values of a metric by seed and, within a seed, by block: an index of the other settings."""


def seed_means(values: Values) -> list[float]:
    """Return the mean of each seed over its blocks: seeds are the independent units."""
    return [mean(blocks.values()) for blocks in values.values()]


def paired(row: Values, other: Values, ahead_by: float | None = None) -> dict[int, float]:
    """Return the mean difference of two rows by seed, over the blocks that both have.

    Seeds without shared blocks are left out. Differences within the rounding of the values are 0.
    With `ahead_by` the differences are `net_shares`.
    """
    if ahead_by is not None:
        seeds, shares = net_shares([row, other], ahead_by)
        return dict(zip(seeds, shares[:, 0].tolist(), strict=True))
    found: dict[int, list[tuple[float, float]]] = {}
    for seed in sorted(row.keys() & other.keys()):
        blocks = row[seed].keys() & other[seed].keys()
        if blocks:
            found[seed] = [(row[seed][block], other[seed][block]) for block in blocks]
    differences = {seed: mean(difference(a, b) for a, b in both) for seed, both in found.items()}
    numbers = (number for both in found.values() for each in both for number in each)
    scale = max(map(abs, numbers), default=0.0)
    return {seed: d if abs(d) > ROUNDING * scale else 0.0 for seed, d in differences.items()}


def in_columns(
    pairs: Sequence[Mapping[int, float]],
) -> tuple[list[int], Float[np.ndarray, "seeds pairs"]]:
    """Return the seeds of pairs, ascending, and the differences: NaN where a pair lacks a seed."""
    seeds = sorted({seed for pair in pairs for seed in pair})
    return seeds, np.array([[pair.get(seed, np.nan) for pair in pairs] for seed in seeds])


def every_pair(
    rows: Sequence[Values],
) -> tuple[list[int], Float[np.ndarray, "seeds pairs"]]:
    """Return the seeds and differences of every two of two rows or more, as in `in_columns`.

    Differences are those of `paired`. Pairs are in the order of `itertools.combinations`.
    """
    blocks = sorted({(seed, block) for row in rows for seed, own in row.items() for block in own})
    values = np.array([[row.get(s, {}).get(b, np.nan) for s, b in blocks] for row in rows])
    seeds, starts = np.unique([seed for seed, _ in blocks], return_index=True)
    found = np.full((len(starts), math.comb(len(rows), 2)), np.nan)
    end = 0
    for i, own in enumerate(values[:-1]):
        others = values[i + 1 :]
        first, end = end, end + len(others)
        with np.errstate(over="ignore"):
            apart = np.clip(own - others, -MOST, MOST)
        both = ~np.isnan(apart)
        factor = factors(np.where(both, abs(apart), 0.0).max(axis=1, keepdims=True))
        shared = np.add.reduceat(both, starts, axis=1, dtype=int)
        sums = np.add.reduceat(np.where(both, apart * factor, 0.0), starts, axis=1)
        means = np.divide(sums, shared, out=np.full(sums.shape, np.nan), where=shared > 0)
        means /= factor
        scale = np.where(both, np.maximum(abs(own), abs(others)), 0.0).max(axis=1, keepdims=True)
        means[abs(means) <= ROUNDING * scale] = 0.0
        found[:, first:end] = means.T
    shared_by_some = ~np.isnan(found).all(axis=1)
    return seeds[shared_by_some].tolist(), found[shared_by_some]


def net_shares(
    rows: Sequence[Values], ahead_by: float
) -> tuple[list[int], Float[np.ndarray, "units pairs"]]:
    """Return the units and the net shares of every two rows, as `every_pair`.

    With x_b the difference of two rows in block b of the unit, the net share is

        sum of the x_b with |x_b| > ahead_by / sum of the |x_b|

    which has no scale: 1 if all x_b are above ahead_by, -1 if all are below -ahead_by, and 0 if
    all are 0.
    """
    units = sorted({unit for row in rows for unit in row})
    found = np.full((len(units), math.comb(len(rows), 2)), np.nan)
    for place, unit in enumerate(units):
        for pair, (one, other) in enumerate(combinations(rows, 2)):
            own, others = one.get(unit, {}), other.get(unit, {})
            if own.keys() & others.keys():
                whole = float(abs(block_differences(own, others)).sum())
                ahead = float(block_differences(own, others, ahead_by).sum())
                found[place, pair] = ahead / whole if whole else 0.0
    shared_by_some = ~np.isnan(found).all(axis=1)
    return list(compress(units, shared_by_some)), found[shared_by_some]


def block_differences(
    row: Mapping[int, float], other: Mapping[int, float], ahead_by: float = 0.0
) -> Float[np.ndarray, " blocks"]:
    """Return the differences of two rows in shared blocks, 0 if within `ahead_by` plus rounding."""
    blocks = sorted(row.keys() & other.keys())
    own, others = (np.array([each[block] for block in blocks]) for each in (row, other))
    with np.errstate(over="ignore"):
        apart = np.clip(own - others, -MOST, MOST)
    least = ahead_by + ROUNDING * np.maximum(abs(own), abs(others))
    return np.where(abs(apart) > least, apart, 0.0)

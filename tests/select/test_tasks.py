from itertools import combinations, product

import numpy as np
import pytest

from attnexp.select.sample import Sample
from attnexp.select.tasks import OverTasks
from attnexp.stats.compare import Word


def task(values, better="lower"):
    """Return a task from values of shape (rows, seeds)."""
    sign = 1 if better == "lower" else -1
    return {
        row: Sample("m", {seed: {0: sign * v} for seed, v in enumerate(own)}, better=better)
        for row, own in enumerate(np.asarray(values).tolist())
    }


def by_hand(values):
    """Return p of each pair of rows by all signs of its net shares, and p among all pairs.

    `values` are of shape (tasks, rows, seeds). The first is of the pair alone, the second of the
    largest statistic of all pairs.
    """
    tasks, rows, _ = values.shape
    pairs = [(i, j) for i in range(rows) for j in range(i)]
    apart = [values[:, i] - values[:, j] for i, j in pairs]
    net = np.array([each.sum(axis=1) / abs(each).sum(axis=1) for each in apart])
    norm = np.sqrt((net**2).sum(axis=1))
    seen = abs(net.sum(axis=1)) / norm
    signs = list(product([1, -1], repeat=tasks))
    flipped = np.array([abs(net @ np.array(s)) / norm for s in signs])
    alone = (flipped >= seen * (1 - 1e-9)).mean(axis=0)
    among = (flipped.max(axis=1, keepdims=True) >= seen * (1 - 1e-9)).mean(axis=0)
    return {p: (a, m) for p, a, m in zip(pairs, alone, among, strict=True)}


@pytest.mark.parametrize("seed", range(5))
def test_two_rows_are_told_apart_by_the_signs_of_their_net_shares(seed):
    values = np.random.default_rng(seed).normal(size=(8, 2, 5))
    values[:, 1] += 0.4
    standing = OverTasks([*map(task, values)], 2).beside(0)[1]
    assert standing.p == pytest.approx(by_hand(values)[1, 0][0])


@pytest.mark.parametrize("seed", range(5))
def test_the_clearest_of_several_pairs_has_the_p_of_the_largest_statistic(seed):
    values = np.random.default_rng(seed).normal(size=(8, 4, 5))
    values[:, 3] += 0.5
    found = by_hand(values)
    (one, other), (_, p) = min(found.items(), key=lambda item: item[1][1])
    assert OverTasks([*map(task, values)], 4).beside(other)[one].p == pytest.approx(p)


def test_tasks_of_unlike_metrics_and_scales_compare():
    values = np.random.default_rng(0).normal(size=(8, 3, 6))
    values[:, 2] += 2
    scales = np.geomspace(1e-6, 1e6, 8)
    same = OverTasks([*map(task, values)], 3)
    unlike = OverTasks(
        [
            task(scale * own, "lower" if i % 2 else "higher")
            for i, (scale, own) in enumerate(zip(scales, values, strict=True))
        ],
        3,
    )
    assert unlike.ranks == pytest.approx(same.ranks)
    assert [s.p for s in unlike.standings] == [s.p for s in same.standings]
    assert same.standings[2].word is Word.WORSE


def test_five_tasks_decide_nothing_and_six_do():
    values = [[0.0, 0.1], [1.0, 1.1]]
    assert OverTasks([task(values)] * 5, 2).standings[1].word is Word.FEW
    assert OverTasks([task(values)] * 6, 2).standings[1].word is Word.WORSE


def test_the_best_row_is_not_one_that_another_beats():
    # Row 1 is ahead more often, and by less: row 0 is ahead by far where it is.
    values = np.tile([[0.0, 0.0, 5.0, 5.0, 5.0], [9.0, 9.0, 4.9, 4.9, 4.9]], (8, 1, 1))
    found = OverTasks([*map(task, values)], 2)
    assert found.ranks[1] < found.ranks[0]
    assert (found.best, found.standings[1].word) == (0, Word.WORSE)


def test_verdicts_by_task_are_those_of_each_table():
    clear = [[0.0] * 6, [0.1 * i + 1 for i in range(6)]]
    tasks = [task(clear), task(clear[::-1]), task(clear), task([[0.0, 1.0] * 3, [1.0, 0.0] * 3])]
    words = OverTasks(tasks, 2).verdicts(0)[1]
    assert (words[Word.BETTER], words[Word.WORSE], words[Word.TIED]) == (1, 2, 1)


def test_tied_rows_are_the_largest_sets_of_which_no_two_are_told_apart():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(10, 6, 6)) + np.array([0, 0.1, 0.6, 3, 3.1, 9])[:, None]
    found = OverTasks([*map(task, values)], 6)
    told = [
        {row for row, own in enumerate(found.beside(i)) if own.word in (Word.BETTER, Word.WORSE)}
        for i in range(6)
    ]
    sets = [{*each} for n in range(2, 7) for each in combinations(range(6), n)]
    alike = [own for own in sets if not any(told[row] & own for row in own)]
    largest = [own for own in alike if not any(own < other for other in alike)]
    assert sorted(map(sorted, found.tied)) == sorted(map(sorted, largest))
    assert len(largest) > 1


def test_a_row_without_some_tasks_is_compared_on_the_others():
    values = np.random.default_rng(4).normal(size=(9, 3, 6)) + np.array([0, 3, 6])[:, None]
    tasks = [*map(task, values)]
    tasks[0] = {row: own for row, own in tasks[0].items() if row != 2}
    found = OverTasks(tasks, 3)
    assert [own.word for own in found.standings] == [Word.BEST, Word.WORSE, Word.WORSE]
    assert found.standings[2].difference.pairs == 8

import math

import pytest
import torch

from attnexp.attention.alignment import scorecard


def on(row, key):
    """The share of a row's largest weight that is on a key: ties are split."""
    tops = [i for i, w in enumerate(row) if w == max(row) and w > 0]
    return (key in tops) / len(tops) if tops else 0.0


def card_by_loops(rows, gold, keys):
    """The same numbers for one head, one query at a time."""
    hits = sum(on(row, g) for row, g in zip(rows, gold, strict=True) if g >= 0)
    aligned = [(row, g) for row, g in zip(rows, gold, strict=True) if g >= 0]
    shared = [[w / sum(row) for w in row] if sum(row) else row for row in rows]
    entropies = [-sum(p * math.log(p) for p in row if p > 0) for row in shared]
    return {
        "alignment_accuracy": hits / len(aligned),
        "before": sum(on(r, g - 1) for r, g in aligned) / len(aligned),
        "after": sum(on(r, g + 1) for r, g in aligned) / len(aligned),
        "gold_mass": sum(row[g] for row, g in aligned) / len(aligned),
        "entropy": sum(entropies) / len(rows),
        "relative_entropy": sum(e / math.log(keys) for e in entropies) / len(rows),
        "peaked": sum(max(row) > 0.99 for row in rows) / len(rows),
        "support": sum(sum(w > 0 for w in row) for row in rows) / len(rows),
        "sink_mass": sum(1 - sum(row) for row in rows) / len(rows),
        "gold_sink_mass": sum(1 - sum(row) for row, _ in aligned) / len(aligned),
    }


ROWS = [
    [0.7, 0.1, 0.1, 0.1],  # on gold
    [0.1, 0.1, 0.7, 0.1],  # one after gold
    [0.995, 0.005, 0.0, 0.0],  # one before gold, peaked
    [0.25, 0.25, 0.25, 0.25],  # no gold: the end symbol
    [0.1, 0.0, 0.4, 0.1],  # sums to 0.6
    [0.9, 0.9, 0.0, 0.3],  # sums to more than 1
    [0.0, 0.0, 0.0, 0.0],  # looks nowhere
    [0.4, 0.4, 0.2, 0.0],  # a tie, split between gold and the one before
]
GOLD = [0, 1, 1, -1, 2, 2, 0, 1]


def test_equals_loops_and_ignores_padding():
    weights = torch.tensor([ROWS, [[1.0, 0, 0, 0]] * 8])[:, None, None]
    alignment = torch.tensor([GOLD, [-1] * 8])
    mask = torch.ones(2, 1, 4, dtype=torch.bool)
    target_mask = torch.tensor([[True] * 8, [False] * 8])
    metrics = scorecard(weights, alignment, mask, target_mask).of_head((0, 0))
    assert metrics == pytest.approx(card_by_loops(ROWS, GOLD, 4), abs=1e-6)


@pytest.mark.parametrize("keys", [2, 5, 10])
def test_a_uniform_map_has_entropy_log_n_and_one_nth_on_gold(keys):
    weights = torch.full((1, 1, 1, keys, keys), 1 / keys)
    mask = torch.ones(1, 1, keys, dtype=torch.bool)
    metrics = scorecard(weights, torch.arange(keys)[None], mask, mask[0]).of_head((0, 0))
    assert metrics["entropy"] == pytest.approx(math.log(keys), rel=1e-5)
    assert metrics["relative_entropy"] == pytest.approx(1, rel=1e-5)
    assert metrics["gold_mass"] == pytest.approx(1 / keys)
    assert metrics["alignment_accuracy"] == pytest.approx(1 / keys)
    assert metrics["before"] == metrics["after"] == pytest.approx((keys - 1) / keys**2)


def test_a_query_that_sees_one_key_has_no_relative_entropy():
    """Its entropy of 0 counts in the mean of entropies alone."""
    weights = torch.tensor([[[[[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]]]])
    mask = torch.tensor([[[True, False, False], [True, True, True]]])
    metrics = scorecard(weights, torch.zeros(1, 2, dtype=torch.int64), mask, mask[:, :, 0])
    found = metrics.of_head((0, 0))
    assert found["entropy"] == pytest.approx(math.log(2) / 2)
    assert found["relative_entropy"] == pytest.approx(math.log(2) / math.log(3))


def test_each_head_is_scored_and_the_best_leads():
    good, bad = torch.eye(3), torch.eye(3).roll(1, dims=1)
    weights = torch.stack([torch.stack([bad, good]), torch.stack([bad, bad])])[None]
    mask = torch.ones(1, 1, 3, dtype=torch.bool)
    card = scorecard(weights, torch.arange(3)[None], mask, mask[:, 0])
    assert card.best() == (0, 1)
    metrics = card.of_head(card.best()) | card.by_head()
    assert metrics["alignment_accuracy"] == 1
    assert metrics["alignment_accuracy.layer1.head2"] == 1
    assert metrics["alignment_accuracy.layer2.head1"] == 0
    assert metrics["after.layer1.head1"] == pytest.approx(2 / 3)

"""Laws of interventions: weights by hand."""

import pytest
import torch
from torch.testing import assert_close

from attnexp.probe import laws
from attnexp.probe.laws import Rows

WEIGHTS = torch.tensor([[0.5, 0.25, 0.25, 0.0], [0.2, 0.2, 0.1, 0.0], [0.0, 0.0, 0.0, 0.0]])
VALID = torch.tensor([[True, True, True, False]]).expand(3, 4)


def rows(weights=WEIGHTS, valid=VALID, gold=None, seed=0) -> Rows:
    """Rows of one head of one example."""
    generator = torch.Generator().manual_seed(seed)
    return Rows(
        weights[None, None],
        valid[None, None],
        None if gold is None else torch.tensor([gold]),
        lambda: torch.rand((1, 1, *weights.shape), generator=generator),
    )


def applied(law, **given):
    return law(rows(**given))[0, 0]


def test_uniform_shares_the_sum_of_a_row_over_its_valid_keys():
    third = torch.tensor([1.0, 1.0, 1.0, 0.0]) / 3
    assert_close(applied(laws.uniform), torch.stack([third, third / 2, third * 0]))


def test_uniform_on_a_uniform_map_changes_nothing():
    even = VALID / VALID.sum(dim=-1, keepdim=True)
    assert_close(applied(laws.uniform, weights=even), even)


def test_gold_moves_all_of_a_row_to_its_gold_key_and_leaves_rows_without_one():
    found = applied(laws.gold, gold=[2, -1, 0])
    assert_close(found, torch.stack([torch.tensor([0.0, 0.0, 1.0, 0.0]), WEIGHTS[1], WEIGHTS[2]]))


def test_gold_on_a_perfect_map_changes_nothing():
    perfect = torch.eye(4)[:3]
    assert_close(applied(laws.gold, weights=perfect, gold=[0, 1, 2]), perfect)


def test_a_gold_key_that_is_masked_is_no_gold_key():
    assert_close(applied(laws.gold, gold=[3, 3, 3]), WEIGHTS)


def test_hard_is_topk_of_one_and_ties_share():
    expected = torch.tensor([[1.0, 0, 0, 0], [0.25, 0.25, 0, 0], [0, 0, 0, 0]])
    assert_close(applied(laws.hard), expected)
    assert_close(applied(laws.topk(1)), expected)


def test_topk_of_all_keys_changes_nothing():
    for count in (3, 4, 100):
        assert_close(applied(laws.topk(count)), WEIGHTS)


def test_without_topk_leaves_the_others_in_their_proportions():
    found = applied(laws.without_topk(1))
    assert_close(found[0], torch.tensor([0.0, 0.5, 0.5, 0.0]))
    assert_close(found[1], torch.tensor([0.0, 0.0, 0.5, 0.0]))


def test_a_row_without_another_weight_stays():
    one = torch.tensor([[1.0, 0.0, 0.0, 0.0]])
    assert_close(applied(laws.without_topk(1), weights=one, valid=VALID[:1]), one)


def test_shuffled_permutes_the_weights_of_valid_keys():
    several = torch.stack([applied(laws.shuffled, seed=seed) for seed in range(200)])
    assert_close(several.sort(dim=-1).values, WEIGHTS.sort(dim=-1).values.expand(200, 3, 4))
    assert (several[..., 3] == 0).all()
    assert_close(several[:, 0, :3].mean(dim=0), torch.full((3,), 1 / 3), atol=0.03, rtol=0)


def test_random_is_dirichlet_over_valid_keys_with_the_sum_of_the_row():
    several = torch.stack([applied(laws.random, seed=seed) for seed in range(2000)])
    assert_close(several.sum(dim=-1), WEIGHTS.sum(dim=-1).expand(2000, 3))
    assert (several[..., 3] == 0).all()
    shares = several[:, 0, :3]  # of Dirichlet(1, 1, 1): mean 1/3, variance 2/9 / 4
    assert_close(shares.mean(dim=0), torch.full((3,), 1 / 3), atol=0.015, rtol=0)
    assert_close(shares.var(dim=0), torch.full((3,), 1 / 18), atol=0.006, rtol=0)


def test_zero_leaves_nothing():
    assert (applied(laws.zero) == 0).all()


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_a_ladder_goes_from_the_learned_weights_to_the_law(share):
    found = applied(laws.interpolate(laws.uniform, share))
    assert_close(found, (1 - share) * WEIGHTS + share * applied(laws.uniform))


def test_the_unit_form_has_rows_that_sum_to_one():
    found = applied(laws.unit(laws.uniform))
    assert_close(found.sum(dim=-1), torch.tensor([1.0, 1.0, 0.0]))

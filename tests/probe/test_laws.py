"""Laws of interventions: weights by hand."""

import pytest
import torch
from torch.testing import assert_close

from attnexp.probe.laws.base import Rows
from attnexp.probe.laws.gold import Gold
from attnexp.probe.laws.hard import Hard
from attnexp.probe.laws.interpolate import Interpolate
from attnexp.probe.laws.largest import TopK
from attnexp.probe.laws.random import Random
from attnexp.probe.laws.shuffled import Shuffled
from attnexp.probe.laws.uniform import Uniform
from attnexp.probe.laws.unit import Unit
from attnexp.probe.laws.without_largest import WithoutTopK
from attnexp.probe.laws.zero import Zero

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
    return law.replace(rows(**given))[0, 0]


def test_uniform_shares_the_sum_of_a_row_over_its_valid_keys():
    third = torch.tensor([1.0, 1.0, 1.0, 0.0]) / 3
    assert_close(applied(Uniform()), torch.stack([third, third / 2, third * 0]))


def test_uniform_on_a_uniform_map_changes_nothing():
    even = VALID / VALID.sum(dim=-1, keepdim=True)
    assert_close(applied(Uniform(), weights=even), even)


def test_gold_moves_all_of_a_row_to_its_gold_key_and_leaves_rows_without_one():
    found = applied(Gold(), gold=[2, -1, 0])
    assert_close(found, torch.stack([torch.tensor([0.0, 0.0, 1.0, 0.0]), WEIGHTS[1], WEIGHTS[2]]))


def test_gold_on_a_perfect_map_changes_nothing():
    perfect = torch.eye(4)[:3]
    assert_close(applied(Gold(), weights=perfect, gold=[0, 1, 2]), perfect)


def test_a_gold_key_that_is_masked_is_no_gold_key():
    assert_close(applied(Gold(), gold=[3, 3, 3]), WEIGHTS)


def test_hard_is_topk_of_one_and_ties_share():
    expected = torch.tensor([[1.0, 0, 0, 0], [0.25, 0.25, 0, 0], [0, 0, 0, 0]])
    assert_close(applied(Hard()), expected)
    assert_close(applied(TopK(1)), expected)


def test_topk_of_all_keys_changes_nothing():
    for count in (3, 4, 100):
        assert_close(applied(TopK(count)), WEIGHTS)


def test_without_topk_leaves_the_others_in_their_proportions():
    found = applied(WithoutTopK(1))
    assert_close(found[0], torch.tensor([0.0, 0.5, 0.5, 0.0]))
    assert_close(found[1], torch.tensor([0.0, 0.0, 0.5, 0.0]))


def test_a_row_without_another_weight_stays():
    one = torch.tensor([[1.0, 0.0, 0.0, 0.0]])
    assert_close(applied(WithoutTopK(1), weights=one, valid=VALID[:1]), one)


def test_shuffled_permutes_the_weights_of_valid_keys():
    several = torch.stack([applied(Shuffled(), seed=seed) for seed in range(200)])
    assert_close(several.sort(dim=-1).values, WEIGHTS.sort(dim=-1).values.expand(200, 3, 4))
    assert (several[..., 3] == 0).all()
    assert_close(several[:, 0, :3].mean(dim=0), torch.full((3,), 1 / 3), atol=0.03, rtol=0)


def test_random_is_dirichlet_over_valid_keys_with_the_sum_of_the_row():
    several = torch.stack([applied(Random(), seed=seed) for seed in range(2000)])
    assert_close(several.sum(dim=-1), WEIGHTS.sum(dim=-1).expand(2000, 3))
    assert (several[..., 3] == 0).all()
    shares = several[:, 0, :3]  # of Dirichlet(1, 1, 1): mean 1/3, variance 2/9 / 4
    assert_close(shares.mean(dim=0), torch.full((3,), 1 / 3), atol=0.015, rtol=0)
    assert_close(shares.var(dim=0), torch.full((3,), 1 / 18), atol=0.006, rtol=0)


def test_zero_leaves_nothing():
    assert (applied(Zero()) == 0).all()


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_a_ladder_goes_from_the_learned_weights_to_the_law(share):
    found = applied(Interpolate(Uniform(), share))
    assert_close(found, (1 - share) * WEIGHTS + share * applied(Uniform()))


def test_the_unit_form_has_rows_that_sum_to_one():
    found = applied(Unit(Uniform()))
    assert_close(found.sum(dim=-1), torch.tensor([1.0, 1.0, 0.0]))

"""Laws of interventions: weights by hand."""

from dataclasses import replace

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


EVEN = VALID / VALID.sum(dim=-1, keepdim=True)
UNIFORM = [[1 / 3, 1 / 3, 1 / 3, 0.0], [1 / 6, 1 / 6, 1 / 6, 0.0], [0.0] * 4]
QUARTER = (0.75 * WEIGHTS + 0.25 * torch.tensor(UNIFORM)).tolist()
HARD = [[1.0, 0, 0, 0], [0.25, 0.25, 0, 0], [0, 0, 0, 0]]
PERFECT = torch.eye(4)[:3]
ONE = torch.tensor([[1.0, 0.0, 0.0, 0.0]])
BY_HAND = {
    "uniform": (Uniform(), {}, UNIFORM),
    "uniform on a uniform map": (Uniform(), {"weights": EVEN}, EVEN.tolist()),
    "gold": (Gold(), {"gold": [2, -1, 0]}, [[0.0, 0.0, 1.0, 0.0], *WEIGHTS[1:].tolist()]),
    "gold on a perfect map": (Gold(), {"gold": [0, 1, 2], "weights": PERFECT}, PERFECT.tolist()),
    "a gold key that is masked": (Gold(), {"gold": [3, 3, 3]}, WEIGHTS.tolist()),
    "hard, where ties share": (Hard(), {}, HARD),
    "the largest": (TopK(1), {}, HARD),
    "all of the largest": (TopK(3), {}, WEIGHTS.tolist()),
    "more of the largest than there are": (TopK(100), {}, WEIGHTS.tolist()),
    "without the largest": (
        WithoutTopK(1),
        {},
        [[0.0, 0.5, 0.5, 0.0], [0.0, 0.0, 0.5, 0.0], [0.0] * 4],
    ),
    "without the only one": (WithoutTopK(1), {"weights": ONE, "valid": VALID[:1]}, ONE.tolist()),
    "zero": (Zero(), {}, [[0.0] * 4] * 3),
    "no step to a law": (Interpolate(Uniform(), 0.0), {}, WEIGHTS.tolist()),
    "a quarter of the way": (Interpolate(Uniform(), 0.25), {}, QUARTER),
    "all of the way": (Interpolate(Uniform(), 1.0), {}, UNIFORM),
}


@pytest.mark.parametrize(("law", "given", "expected"), BY_HAND.values(), ids=BY_HAND)
def test_by_hand(law, given, expected):
    assert_close(applied(law, **given), torch.tensor(expected))


SIGNED = torch.tensor([[0.9, -0.5, 0.501, 0.0], [-2.0, 1.0, 0.5, 0.0], [0.5, -0.5, 0.25, 0.0]])


@pytest.mark.parametrize(
    ("law", "expected"),
    [
        (TopK(1), [[0.9, 0, 0, 0], [-2, 0, 0, 0], [0.5, -0.5, 0, 0]]),
        (TopK(2), [[0.9, 0, 0.501, 0], [-2, 1, 0, 0], [0.5, -0.5, 0, 0]]),
        (WithoutTopK(1), [[0, -0.5, 0.501, 0], [0, 1, 0.5, 0], [0, 0, 0.25, 0]]),
        (WithoutTopK(3), [[0.0] * 4] * 3),
    ],
)
def test_signed_weights_are_ranked_by_size_and_stay_as_they_are(law, expected):
    signed = replace(rows(weights=SIGNED), signed=True)
    torch.testing.assert_close(law.replace(signed)[0, 0], torch.tensor(expected))


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


def test_the_unit_form_has_rows_that_sum_to_one():
    found = applied(Unit(Uniform()))
    assert_close(found.sum(dim=-1), torch.tensor([1.0, 1.0, 0.0]))

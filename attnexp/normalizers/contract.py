"""The contract of a normalizer, as checks that a test can run.

A check takes a function from a number of heads to the normalizer, such as its class, and raises
AssertionError with a sentence if the normalizer breaks the contract.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.func import functional_call

from attnexp.normalizers.base import Normalizer
from attnexp.scores.contract import (
    MANY_KEYS,
    another_order,
    at_any_parameters,
    is_close,
    require,
    require_close,
    with_other_parameters,
)

NormalizerMaker = Callable[[int], Normalizer]
"""Makes a normalizer for this many heads, with the same parameters each time."""

BATCH, HEADS, QUERIES, KEYS = 2, 3, 5, 7
"""Unequal primes, so that a normalizer with swapped axes fails."""

MASK = torch.arange(KEYS) < torch.tensor([4, KEYS])[:, None, None, None]
"""The first example has four keys."""

GAPS = torch.tensor([False, True, True, False, True, True, False])
"""The keys that are left by a mask with gaps, the first and the last key among them."""


def draw_scores(keys: int = KEYS) -> Tensor:
    """Return random scores in float64, of shape (batch, heads, queries, keys)."""
    generator = torch.Generator().manual_seed(11)
    return 2 * torch.randn(BATCH, HEADS, QUERIES, keys, generator=generator, dtype=torch.float64)


@at_any_parameters
def takes_any_leading_axes(make: NormalizerMaker) -> None:
    """A normalizer takes any axes before queries and keys, and treats each row alone."""
    normalizer, scores = make(1), draw_scores()
    for part in (scores, scores[0], scores[0, 0]):
        weights = normalizer(part)
        require(weights.shape == part.shape, f"scores {part.shape} have weights {weights.shape}")
    require_close(normalizer(scores)[0, 0], normalizer(scores[0, 0]), "a row depends on others")


def gives_weights_of_at_least_zero(make: NormalizerMaker) -> None:
    """Weights are finite and never negative, in float32 and float64 and for huge scores.

    Without keys there are no weights.
    """
    none = make(1)(draw_scores()[..., :0])
    require(none.shape == (BATCH, HEADS, QUERIES, 0), f"no keys have weights {none.shape}")
    for dtype in (torch.float32, torch.float64):
        for scale in (1.0, 1e4, 1e30, 5e37):
            weights = make(1)(draw_scores().to(dtype) * scale)
            require(weights.dtype == dtype, f"scores of {dtype} have weights of {weights.dtype}")
            sound = bool((weights.isfinite() & (weights >= 0)).all())
            require(sound, f"scores near {scale:g} have a weight that is negative or not finite")


@at_any_parameters
def gives_masked_keys_nothing(make: NormalizerMaker) -> None:
    """A masked key has weight zero, whatever its score, and counts as if it were absent."""
    normalizer, scores = make(1), draw_scores()
    weights = normalizer(scores, MASK)
    require_close(weights[0, ..., :4], normalizer(scores[0, ..., :4]), "masked keys have influence")
    left = normalizer(scores, GAPS)[..., GAPS]
    require_close(left, normalizer(scores[..., GAPS]), "masked keys between others have influence")
    for junk in (math.nan, math.inf, -math.inf, 1e300):
        same = normalizer(scores.where(MASK, junk), MASK)
        require_close(same, weights, f"a masked score of {junk} changes weights")


def tells_low_scores_from_masked_keys(make: NormalizerMaker) -> None:
    """Keys that are left keep their weights even if they have the lowest finite score."""
    for dtype in (torch.float32, torch.float64):
        scores = torch.full((1, KEYS), torch.finfo(dtype).min, dtype=dtype)
        mask = torch.arange(KEYS) < 2
        weights = make(1)(scores, mask)[:, :2].detach()
        same = "a masked key takes weight from one with the lowest score"
        require_close(weights, make(1)(scores[:, :2]), same)
        total = float(weights.sum())
        require(not make(1).sums_to_one or abs(total - 1) < 1e-5, f"{same}: the sum is {total:g}")


def leaves_an_empty_row_at_zero(make: NormalizerMaker) -> None:
    """A row without a key has weights of zero and gradient zero."""
    scores = draw_scores().requires_grad_()
    weights = make(1)(scores, torch.tensor([False, True])[:, None, None, None])
    weights.square().sum().backward()
    assert scores.grad is not None
    require(bool((weights[0] == 0).all()), "a row without a key has weights")
    require(bool((scores.grad[0] == 0).all()), "a row without a key has a gradient")


def passes_on_what_is_not_a_number(make: NormalizerMaker) -> None:
    """A score of NaN makes a weight of its row NaN, so that it is noticed."""
    scores = draw_scores()
    scores[0, 0, 0, 0] = math.nan
    require(bool(make(1)(scores)[0, 0, 0].isnan().any()), "NaN among the scores is swallowed")


def tells_the_truth_about_its_class(make: NormalizerMaker) -> None:
    """`sums_to_one`, `shift_invariant` and `treats_keys_alike` agree with the weights."""
    scores, order = draw_scores(MANY_KEYS), another_order(MANY_KEYS)
    mask = torch.arange(MANY_KEYS) < torch.tensor([4, MANY_KEYS])[:, None, None, None]
    facts = {"sums_to_one": True, "shift_invariant": True, "treats_keys_alike": True}
    for each in with_other_parameters(make):
        normalizer = each(1)
        weights = normalizer(scores, mask)
        sums = weights.sum(dim=-1)
        moved, still = normalizer(scores[..., order]), normalizer(scores)[..., order]
        facts["sums_to_one"] &= is_close(sums, torch.ones_like(sums))
        facts["shift_invariant"] &= is_close(normalizer(scores + 1.5, mask), weights)
        facts["treats_keys_alike"] &= is_close(moved, still)
    for name, found in facts.items():
        require(getattr(make(1), name, None) == found, f"{name} must be {found}")


def has_right_gradients(make: NormalizerMaker) -> None:
    """Gradients are those of finite differences, in scores and parameters."""
    normalizer = make(HEADS).double()
    names = list(dict(normalizer.named_parameters()))

    def weights(scores: Tensor, *values: Tensor) -> Tensor:
        return functional_call(normalizer, dict(zip(names, values, strict=True)), (scores, MASK))

    inputs = [draw_scores()[..., :2, :], *normalizer.parameters()]
    leaves = [each.detach().clone().requires_grad_() for each in inputs]
    right = torch.autograd.gradcheck(weights, leaves, raise_exception=False)
    require(right, "a gradient is not that of finite differences")


def loads_what_it_saved(make: NormalizerMaker) -> None:
    """A normalizer learns only its parameters: another with equal ones has the same weights."""
    first, second = make(HEADS), make(HEADS)
    with torch.no_grad():
        for parameter in first.parameters():
            parameter.add_(1.0)
    second.load_state_dict(first.state_dict())
    same = "another normalizer with the same parameters has other weights"
    require_close(second(draw_scores()), first(draw_scores()), same)


NORMALIZER_CONTRACT: tuple[Callable[[NormalizerMaker], None], ...] = (
    takes_any_leading_axes,
    gives_weights_of_at_least_zero,
    gives_masked_keys_nothing,
    tells_low_scores_from_masked_keys,
    leaves_an_empty_row_at_zero,
    passes_on_what_is_not_a_number,
    tells_the_truth_about_its_class,
    has_right_gradients,
    loads_what_it_saved,
)

import math

import pytest
import torch

from attnexp.masks import length_mask
from attnexp.normalizers.softmax import Softmax

masked_softmax = Softmax(heads=1)


def softmax_by_hand(row, valid):
    """exp over the sum of exp, of the valid entries alone."""
    total = sum(math.exp(a) for a, ok in zip(row, valid, strict=True) if ok)
    return [math.exp(a) / total if ok else 0.0 for a, ok in zip(row, valid, strict=True)]


@pytest.fixture
def scores():
    generator = torch.Generator().manual_seed(0)
    return torch.randn(2, 3, 5, generator=generator, dtype=torch.float64)


def test_without_a_mask_it_is_the_softmax(scores):
    torch.testing.assert_close(masked_softmax(scores), scores.softmax(dim=-1))


def test_one_length_a_sequence(scores):
    weights = masked_softmax(scores, torch.tensor([2, 4]))
    for example, length in enumerate((2, 4)):
        valid = [key < length for key in range(5)]
        oracle = [softmax_by_hand(row, valid) for row in scores[example].tolist()]
        torch.testing.assert_close(weights[example], torch.tensor(oracle, dtype=torch.float64))


def test_one_length_a_query(scores):
    lengths = [[1, 3, 5], [5, 2, 4]]
    weights = masked_softmax(scores, torch.tensor(lengths))
    for example in range(2):
        for query in range(3):
            valid = [key < lengths[example][query] for key in range(5)]
            oracle = softmax_by_hand(scores[example, query].tolist(), valid)
            assert weights[example, query].tolist() == pytest.approx(oracle)


def test_the_textbooks_example():
    """Zero scores, lengths 2 and 3: halves and thirds."""
    weights = masked_softmax(torch.zeros(2, 2, 4), torch.tensor([2, 3]))
    assert weights[0, 0].tolist() == [0.5, 0.5, 0, 0]
    torch.testing.assert_close(weights[1, 1], torch.tensor([1 / 3, 1 / 3, 1 / 3, 0]))


@pytest.mark.parametrize("nothing", ["length", "mask", "scores"])
def test_a_row_with_nothing_left_is_zero_with_a_finite_gradient(scores, nothing):
    scores.requires_grad_()
    if nothing == "length":
        weights = masked_softmax(scores, torch.tensor([0, 5]))
    elif nothing == "mask":
        weights = masked_softmax(scores, torch.tensor([False, True])[:, None, None])
    else:
        hidden = scores.masked_fill(torch.tensor([True, False])[:, None, None], -torch.inf)
        weights = masked_softmax(hidden)
    assert (weights[0] == 0).all()
    torch.testing.assert_close(weights[1].sum(dim=-1), torch.ones(3, dtype=torch.float64))
    (weights**2).sum().backward()
    assert scores.grad.isfinite().all()
    assert (scores.grad[0] == 0).all()
    assert (scores.grad[1] != 0).any()


def test_masked_scores_may_be_anything(scores):
    mask = length_mask(torch.tensor([2, 4]), 5)
    for junk in (math.nan, math.inf, -math.inf, 1e300):
        weights = masked_softmax(scores.masked_fill(~mask, junk), mask)
        torch.testing.assert_close(weights, masked_softmax(scores, mask))


def test_huge_scores_do_not_overflow():
    weights = masked_softmax(torch.tensor([[1e30, 1e30, -1e30]]))
    assert weights.tolist() == [[0.5, 0.5, 0.0]]


@pytest.mark.parametrize("lengths", [[6, 1], [-1, 3]])
def test_lengths_out_of_range_are_refused(scores, lengths):
    with pytest.raises(ValueError, match=r"valid_lens must lie between 0 .* 5, got \["):
        masked_softmax(scores, torch.tensor(lengths))


def test_gradients_are_right(scores):
    scores.requires_grad_()
    assert torch.autograd.gradcheck(lambda a: masked_softmax(a, torch.tensor([0, 3])), scores)


def test_heads_share_the_lengths_of_their_sequence(scores):
    """As many heads as examples, so that lengths of the wrong axis would pass unseen."""
    several = torch.stack([scores, scores + 1], dim=1)
    for lengths in (torch.tensor([2, 4]), torch.tensor([[1, 3, 5], [5, 2, 4]])):
        weights = masked_softmax(several, lengths)
        for head in range(2):
            torch.testing.assert_close(weights[:, head], masked_softmax(several[:, head], lengths))


def test_scores_without_a_batch_take_a_length_a_query(scores):
    weights = masked_softmax(scores[0], torch.tensor([1, 3, 5]))
    assert weights.shape == (3, 5)
    torch.testing.assert_close(weights, masked_softmax(scores[:1], torch.tensor([[1, 3, 5]]))[0])


@pytest.mark.parametrize("shape", [(3,), (1,)])
def test_lengths_of_another_shape_are_refused(scores, shape):
    with pytest.raises(ValueError, match=r"valid_lens of shape .* do not fit scores of shape"):
        masked_softmax(scores, torch.ones(shape, dtype=torch.long))

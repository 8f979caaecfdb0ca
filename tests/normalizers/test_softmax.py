import math

import pytest
import torch

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


@pytest.mark.parametrize("lengths", [[2, 4], [[1, 3, 5], [5, 2, 4]]])
def test_lengths_of_sequences_and_of_queries(scores, lengths):
    weights = masked_softmax(scores, torch.tensor(lengths))
    for example, own in enumerate(lengths):
        for query, length in enumerate(own if isinstance(own, list) else [own] * 3):
            valid = [key < length for key in range(5)]
            oracle = softmax_by_hand(scores[example, query].tolist(), valid)
            assert weights[example, query].tolist() == pytest.approx(oracle)


@pytest.mark.parametrize("lengths", [[6, 1], [-1, 3]])
def test_lengths_out_of_range_are_refused(scores, lengths):
    with pytest.raises(ValueError, match=r"valid_lens must lie between 0 .* 5, got \["):
        masked_softmax(scores, torch.tensor(lengths))


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

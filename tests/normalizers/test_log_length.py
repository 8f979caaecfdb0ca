import math

import pytest
import torch

from attnexp.normalizers.log_length import LogLength


def test_by_hand():
    """exp(s log(n) a) = n^(s a), with n = 3 of 4 keys."""
    scores = torch.tensor([[1.0, 0.0, -2.0, 5.0]])
    for scale in (1.0, 0.5):
        weights = LogLength(heads=1, scale=scale)(scores, torch.tensor([3]))
        powers = [3 ** (scale * a) for a in (1.0, 0.0, -2.0)]
        assert weights[0].tolist() == pytest.approx([*(p / sum(powers) for p in powers), 0])


def test_the_largest_weight_does_not_fade_as_the_row_gets_longer():
    """A score that is 2 above the others keeps n^2 / (n^2 + n - 1); the softmax goes to 0."""
    for n in (10, 1000):
        scores = torch.cat([torch.full((1, 1), 2.0), torch.zeros(1, n - 1)], dim=-1)
        expected = n**2 / (n**2 + n - 1)
        assert LogLength(heads=1)(scores)[0, 0].item() == pytest.approx(expected, rel=1e-4)
        assert expected > math.exp(2) / (math.exp(2) + n - 1)


@pytest.mark.parametrize("scale", [0.0, -1.0])
def test_the_scale_must_be_positive(scale):
    with pytest.raises(ValueError, match="scale of normalizer=log_length must be greater than 0"):
        LogLength(heads=1, scale=scale)

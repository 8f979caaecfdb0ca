"""Normalizers with exponents or thresholds of their own, against cases worked by hand."""

import math

import pytest
import torch

from attnexp.normalizers.adaptive_temperature import AdaptiveTemperature
from attnexp.normalizers.entmax import Entmax
from attnexp.normalizers.entmax15 import Entmax15
from attnexp.normalizers.log_length import LogLength
from attnexp.normalizers.relu import Relu
from attnexp.normalizers.sigmoid import Sigmoid
from attnexp.normalizers.softmax_one import SoftmaxOne
from attnexp.normalizers.sparsemax import Sparsemax
from attnexp.normalizers.ssmax import Ssmax
from attnexp.normalizers.topk import TopK

INF = math.inf

P = [math.exp(2) / (math.exp(2) + 3)] + 3 * [1 / (math.exp(2) + 3)]
H = -sum(p * math.log(p) for p in P)
B = -0.037 * H**4 + 0.481 * H**3 - 2.3 * H**2 + 4.917 * H - 1.791
"""The softmax of the scores 2, 0, 0, 0, its entropy and the inverse temperature that follows."""


def shares(*heights, more=0.0):
    total = sum(heights) + more
    return [height / total for height in heights]


def logistic(a):
    return 1 / (1 + math.exp(-a))


@pytest.mark.parametrize(
    ("normalizer", "scores", "seen", "weights"),
    [
        (Relu(heads=1), [3.0, -1.0, 6.0, 5.0], 3, [1, 0, 2]),
        (Relu(heads=1), [-1.0, 0.0, -3.0], 3, [0, 0, 0]),
        (Sigmoid(heads=1), [0.5, -1.0, 9.0], 2, [logistic(a - math.log(2)) for a in (0.5, -1)]),
        (Sigmoid(heads=1), [math.log(2), -INF, 0], 3, [1 / 2, 0, 1 / 3]),
        (Sigmoid(heads=1, bias=1.5), [0.5, -1.0], 2, [logistic(2.0), logistic(0.5)]),
        (SoftmaxOne(heads=1), [0.3, -2.0, 1.1], 2, shares(math.exp(0.3), math.exp(-2.0), more=1)),
        (SoftmaxOne(heads=1), [-200.0, -300.0], 2, [0, 0]),
        (TopK(heads=1, k=2), [1.0, 0.0, 3.0, 2.0], 3, shares(math.e, 0, math.exp(3))),
        (TopK(heads=1, k=2), [1, 3, 1, 0, 1], 5, shares(math.e, math.exp(3), math.e, 0, math.e)),
        (TopK(heads=1, k=9), [1.0, 0.0], 2, shares(math.e, 1)),
        *((Sparsemax(heads=1), [0, d], 2, [1 / 2 - d / 2, 1 / 2 + d / 2]) for d in (0, 0.5, 1)),
        (Sparsemax(heads=1), [0, 3, 3], 2, [0, 1]),
        # exp(s log(n) a) = n^(s a): 3 of 4 keys, and a score that is 2 above 999 others.
        (LogLength(heads=1), [1.0, 0.0, -2.0, 5.0], 3, shares(3, 1, 3**-2)),
        (LogLength(heads=1, scale=0.5), [1, 0, -2], 3, shares(3**0.5, 1, 1 / 3)),
        (LogLength(heads=1), [2.0] + 999 * [0.0], 1000, shares(1e6, *999 * [1.0])),
        (Ssmax(heads=1), [1.0, 0.0, -2.0, 5.0], 3, shares(3, 1, 3**-2)),
        (Ssmax(heads=1, initial_scale=0.5), [1, 0, -2], 3, shares(3**0.5, 1, 1 / 3)),
        # The entropy of two keys is at most log 2, where the polynomial is below 1. Of eight equal
        # ones it is log 8, and whatever the temperature they stay equal.
        (AdaptiveTemperature(heads=1), [1.0, 0.0, 9.0], 2, shares(math.e, 1)),
        (AdaptiveTemperature(heads=1), 8 * [0.3], 8, 8 * [1 / 8]),
        (AdaptiveTemperature(heads=1), [40.0, 0.0, -INF], 3, [1, 0, 0]),
        # a and three equal ones below: b is above 1
        (AdaptiveTemperature(heads=1), [2.0, 0, 0, 0], 4, shares(math.exp(2 * B), 1, 1, 1)),
    ],
)
def test_by_hand(normalizer, scores, seen, weights):
    found = normalizer(torch.tensor([scores], dtype=torch.float32), torch.tensor([seen]))
    assert found[0, :seen].tolist() == pytest.approx(weights, rel=1e-4)
    assert (found[0, seen:] == 0).all()


@pytest.mark.parametrize("d", [0.0, 0.3, 0.9, 1.0, 2.0])
def test_entmax15_of_two_keys(d):
    """With scores 0 and 2d: (d/2 + r)^2 and (r - d/2)^2 sum to 1, so r^2 = 1/2 - d^2/4."""
    r = math.sqrt(0.5 - d * d / 4) if d < 1 else 0.5
    upper = min(1.0, (d / 2 + r) ** 2)
    weights = Entmax15(heads=1)(torch.tensor([[0.0, 2 * d]], dtype=torch.float64))
    assert weights[0].tolist() == pytest.approx([1 - upper, upper], abs=1e-12)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: TopK(heads=1, k=0), "k of normalizer=topk must be at least 1, got 0"),
        (lambda: Ssmax(heads=1, initial_scale=0.0), "initial_scale of normalizer=ssmax must be"),
        (lambda: Entmax(heads=1, alpha=1.0), "alpha of normalizer=entmax must be within 1.01 to 2"),
        (lambda: LogLength(heads=1, scale=0.0), "scale of normalizer=log_length must be greater"),
    ],
)
def test_settings_that_cannot_work_are_refused(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()

import math

import pytest
import torch

from attnexp.architectures.positions.t5 import T5, bucket_of

EXACT = [(0, 0), (1, 1), (7, 7), (-1, 17), (-7, 23)]
COARSE = [
    (distance, 8 + int(math.log(distance / 8) / math.log(16) * 8)) for distance in (8, 11, 12, 40)
]


@pytest.mark.parametrize(
    ("distance", "bucket"), [*EXACT, *COARSE, (127, 15), (128, 15), (9999, 15), (-9999, 31)]
)
def test_buckets(distance, bucket):
    assert int(bucket_of(torch.tensor(distance))) == bucket


def test_all_buckets_are_used():
    distances = torch.arange(-200, 201)
    # a key behind its query is at least one place away: the bucket of -0 is empty
    assert set(bucket_of(distances).tolist()) == set(range(32)) - {16}


def test_the_bias_is_that_of_the_bucket():
    positions = T5(4, 2, 9)
    with torch.no_grad():
        positions.biases.copy_(torch.arange(64.0).view(2, 32))
    bias = positions.bias(torch.tensor([[0, 2]]), torch.tensor([[0, 1, 2]]))
    assert bias.shape == (1, 2, 2, 3)
    assert bias[0, 0].tolist() == [[0, 17, 18], [2, 1, 0]]
    assert bias[0, 1].tolist() == [[32, 49, 50], [34, 33, 32]]


@pytest.mark.parametrize("length", [5, 65])
def test_the_biases_are_trained(length):
    """Also where the fused kernel takes the bias for a mask."""
    from attnexp.attention.multihead import MultiHead
    from attnexp.scores.scaled_dot import ScaledDot

    torch.manual_seed(0)
    positions, places = T5(12, 2, 9), torch.arange(length)
    attention = MultiHead(ScaledDot, 12, heads=2)
    x = torch.randn(3, length, 12)
    gradients = []
    for need_weights in (True, False):
        memory = attention.remember(x, x)
        bias = positions.bias(places, places)
        context, _ = attention.attend(x, memory, need_weights, None, bias)
        (gradient,) = torch.autograd.grad(context.square().sum(), positions.biases)
        gradients.append(gradient)
    assert gradients[0].abs().sum() > 0
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-5)

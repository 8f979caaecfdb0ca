import pytest
import torch

from attnexp.architectures.positions.alibi import Alibi, slopes_of
from attnexp.attention.multihead import MultiHead
from attnexp.scores.additive import Additive
from attnexp.scores.gaussian import Gaussian
from attnexp.scores.scaled_dot import ScaledDot


@pytest.mark.parametrize(
    ("heads", "exponents"),
    [
        (1, [8]),
        (2, [4, 8]),
        (8, [1, 2, 3, 4, 5, 6, 7, 8]),
        (3, [4, 8, 2]),
        (6, [2, 4, 6, 8, 1, 3]),
    ],
)
def test_slopes_by_hand(heads, exponents):
    assert slopes_of(heads) == [2**-exponent for exponent in exponents]


def test_the_bias_by_hand():
    bias = Alibi(4, 2, 9).bias(torch.tensor([0, 2]), torch.arange(3))
    expected = [[[0, -1, -2], [-2, -1, 0]], [[0, -1, -2], [-2, -1, 0]]]
    slopes = torch.tensor([2**-4, 2**-8])
    torch.testing.assert_close(bias, torch.tensor(expected) * slopes[:, None, None])


@pytest.mark.parametrize("build", [ScaledDot, Additive, Gaussian])
def test_the_bias_is_added_to_any_score(build):
    """The weights of equal keys fall by exp(-m) with each place."""
    torch.manual_seed(0)
    positions, places = Alibi(12, 2, 9), torch.arange(5)
    attention = MultiHead(build, 12, 12, 12, 12, heads=2, head_dim=6)
    order = positions.order(places, places)
    queries, keys = torch.randn(3, 5, 12), torch.randn(3, 1, 12).expand(3, 5, 12)
    memory = attention.remember(keys, keys, None, order.turn)
    _, weights = attention.attend(queries, memory, True, order.turn, order.bias)
    distance = (places[:, None] - places).abs()
    for head, slope in enumerate([2**-4, 2**-8]):
        expected = (-slope * distance).softmax(dim=-1).expand(3, 5, 5)
        torch.testing.assert_close(weights[:, head], expected)


def test_the_fused_kernel_adds_the_bias_too():
    torch.manual_seed(0)
    positions, places = Alibi(12, 2, 9), torch.arange(65)
    attention = MultiHead(ScaledDot, 12, 12, 12, 12, heads=2, head_dim=6)
    bias = positions.bias(places, places)
    x = torch.randn(3, 65, 12)
    causal = torch.ones(1, 65, 65, dtype=torch.bool).tril()
    for mask in (None, causal):
        memory = attention.remember(x, x, mask)
        plain, _ = attention.attend(x, memory, True, None, bias)
        fused, _ = attention.attend(x, memory, False, None, bias)
        torch.testing.assert_close(fused, plain)
        assert not torch.allclose(attention.attend(x, memory, False)[0], plain, atol=1e-3)

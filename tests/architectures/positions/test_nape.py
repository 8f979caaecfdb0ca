import pytest
import torch

from attnexp.architectures.positions.alibi import Alibi
from attnexp.architectures.positions.nape import Nape


@pytest.mark.parametrize(
    ("heads", "slopes"),
    [
        (1, [2**-8]),
        (2, [0, 2**-8]),
        (3, [0, 2**-4, 2**-8]),
        (4, [0, 0, 2**-4, 2**-8]),
    ],
)
def test_slopes_by_hand(heads, slopes):
    assert Nape(12, heads, 9).slopes.tolist() == slopes


def test_half_of_the_heads_have_no_positions():
    places = torch.arange(5)
    bias = Nape(8, 4, 9).bias(places, places)
    assert not bias[:2].any()
    torch.testing.assert_close(bias[2:], Alibi(8, 2, 9).bias(places, places))

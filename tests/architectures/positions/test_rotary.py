import math

import pytest
import torch
from hydra.utils import instantiate

from attnexp.architectures.positions.rotary import Rotary
from attnexp.attention.multihead import MultiHead


def test_each_pair_is_a_complex_number_turned_at_its_own_rate():
    x = torch.randn(2, 3, 5, 6, dtype=torch.float64)
    places = torch.tensor([[0, 1, 2, 3, 4], [7, 3, 0, 90, 2]])
    turned = Rotary(18, 3, 100).double().turn(places)(x)
    for example in range(2):
        for i in range(5):
            for k in range(3):
                rate = 10000 ** (-2 * k / 6)
                angle = complex(0, int(places[example, i]) * rate)
                for head in range(3):
                    pair = x[example, head, i, 2 * k : 2 * k + 2]
                    number = complex(*pair.tolist()) * complex(math.e) ** angle
                    found = turned[example, head, i, 2 * k : 2 * k + 2]
                    assert complex(*found.tolist()) == pytest.approx(number, abs=1e-12)


def test_scores_depend_on_the_distance_alone_where_angles_and_lengths_decide(
    model_name, settings_of
):
    torch.manual_seed(0)
    positions = Rotary(12, 2, 50).double()
    build = instantiate(settings_of("model", model_name), _partial_=True)
    attention = MultiHead(build, 12, 12, 12, 12, heads=2, head_dim=6).double()
    x = torch.randn(3, 5, 12, dtype=torch.float64)

    def weights_at(places):
        order = positions.order(places, places)
        memory = attention.remember(x, x, None, order.turn)
        return attention.attend(x, memory, True, order.turn, order.bias)[1]

    here, further = weights_at(torch.arange(5)), weights_at(torch.arange(5) + 31)
    alone = model_name not in ("adaptive_scale", "additive", "bilinear", "elu")
    assert torch.allclose(further, here) is alone
    if model_name in ("scaled_dot", "cosine", "gaussian"):
        assert not torch.allclose(weights_at(2 * torch.arange(5)), here)


def turned(places, **settings):
    x = torch.ones(1, 1, len(places), 6, dtype=torch.float64)
    return Rotary(6, 1, 100, **settings).double().turn(torch.tensor(places))(x)[0, 0]


def test_a_scale_makes_places_those_of_shorter_sequences():
    torch.testing.assert_close(turned([0, 4, 8], scale=4), turned([0, 1, 2]))
    torch.testing.assert_close(turned([3], scale=0.5), turned([6]))


def test_a_base_that_grows_slows_the_slowest_pair_alone():
    """NTK-aware scaling to sequences four times as long."""
    now, before = turned([4], base=10_000 * 4 ** (6 / 4))[0], turned([4])[0]
    torch.testing.assert_close(now[:2], before[:2])
    torch.testing.assert_close(now[4:], turned([1])[0][4:])
    assert not torch.allclose(now[2:4], before[2:4])


@pytest.mark.parametrize("settings", [{"base": 0}, {"scale": 0}, {"scale": -1}])
def test_what_is_not_above_0_is_refused(settings):
    (name,) = settings
    with pytest.raises(ValueError, match=f"{name} must be greater than 0"):
        Rotary(6, 1, 100, **settings)

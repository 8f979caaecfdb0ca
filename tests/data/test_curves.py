import math

import pytest
import torch

from attnexp.data.sine import Sine
from attnexp.data.sine_v1 import SineV1


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture(params=[Sine, SineV1])
def curve(request):
    return request.param


def test_the_textbooks_sizes():
    sine, later = Sine(generator()), SineV1(generator())
    assert sine.train.keys.shape == (1, 50, 1)
    assert later.train.keys.shape == (1, 40, 1)
    for data in (sine, later):
        expected = torch.tensor([step / 10 for step in range(50)])
        torch.testing.assert_close(data.test.queries.flatten(), expected)


def test_truth_by_hand():
    sine, later = Sine(generator()), SineV1(generator())
    for step in (0, 7, 49):
        x = step / 10
        assert sine.test.targets[0, step, 0] == pytest.approx(2 * math.sin(x) + x**0.8, abs=1e-6)
        assert later.test.targets[0, step, 0] == pytest.approx(2 * math.sin(x) + x, abs=1e-6)


def test_training_points_are_sorted_and_in_range(curve):
    x = curve(generator(), num_train=500, low=1.0, high=3.0).train.keys.flatten()
    assert (x.diff() >= 0).all()
    assert x.min() >= 1
    assert x.max() < 3


def test_noise_has_the_asked_spread(curve):
    data = curve(generator(), num_train=20_000, noise=0.25)
    error = data.train.values[0, :, 0] - data.truth(data.train.keys[0, :, 0])
    assert error.mean() == pytest.approx(0, abs=0.01)
    assert error.std() == pytest.approx(0.25, rel=0.02)


def test_no_noise_is_the_truth(curve):
    data = curve(generator(), noise=0.0)
    torch.testing.assert_close(data.train.values[0, :, 0], data.truth(data.train.keys[0, :, 0]))


def test_training_hides_each_point_from_itself_and_testing_hides_none(curve):
    data = curve(generator(), num_train=7)
    assert (data.train.mask[0] == ~torch.eye(7, dtype=torch.bool)).all()
    assert data.test.mask.all()
    assert data.train.queries is data.train.keys or data.train.queries.equal(data.train.keys)


def test_same_seed_same_bits(curve):
    first, again, other = curve(generator(3)), curve(generator(3)), curve(generator(4))
    assert first.train.values.equal(again.train.values)
    assert first.train.keys.equal(again.train.keys)
    assert not first.train.values.equal(other.train.values)


def test_the_global_generator_is_left_alone(curve):
    before = torch.default_generator.get_state()
    curve(generator())
    assert torch.default_generator.get_state().equal(before)


def test_the_last_test_point_is_below_high(curve):
    x = curve(generator(), low=0.0, high=1.0, step=0.3).test.queries.flatten()
    torch.testing.assert_close(x, torch.tensor([0.0, 0.3, 0.6, 0.9]))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"num_train": 1}, "num_train must be at least 2 .* got 1"),
        ({"noise": -0.5}, "noise must be 0 or more, got -0.5"),
        ({"step": 0.0}, "step must be greater than 0, got 0.0"),
        ({"low": 3.0, "high": 2.0}, "low must be less than high, got low 3.0 and high 2.0"),
    ],
)
def test_settings_that_cannot_work_are_refused(curve, settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        curve(generator(), **settings)


def test_negative_x_has_no_power():
    with pytest.raises(ValueError, match=r"low must be 0 or more, because of x\^0.8, got -1"):
        Sine(generator(), low=-1.0)

import pytest
import torch

from attnexp.data.sine import Sine
from attnexp.data.sine_v1 import SineV1


@pytest.fixture(params=[Sine, SineV1])
def curve(request):
    return request.param


@pytest.mark.parametrize(("curve", "points", "power"), [(Sine, 50, 0.8), (SineV1, 40, 1)])
def test_the_textbooks_sizes_and_the_truth_by_hand(curve, points, power, generator):
    data = curve(generator(), num_train=points)
    assert data.train.keys.shape == (1, points, 1)
    x = torch.arange(50, dtype=torch.float64) / 10
    torch.testing.assert_close(data.test.queries.flatten().double(), x)
    torch.testing.assert_close(data.test.targets.flatten().double(), 2 * x.sin() + x**power)


def test_negative_x_has_no_power(generator):
    with pytest.raises(
        ValueError, match=r"low must be 0 or more, because x\^0.8 has no value at -"
    ):
        Sine(generator(), low=-1.0)


def test_training_points_are_sorted_and_in_range(curve, generator):
    x = curve(generator(), num_train=500, low=1.0, high=3.0).train.keys.flatten()
    assert (x.diff() >= 0).all()
    assert x.min() >= 1
    assert x.max() < 3


def test_noise_has_the_asked_spread(curve, generator):
    sets = [curve(generator(seed), num_train=1000, noise=0.25).train for seed in range(20)]
    x, y = (torch.cat([getattr(data, of).flatten() for data in sets]) for of in ("keys", "values"))
    error = y - curve(generator()).truth(x)
    assert error.mean() == pytest.approx(0, abs=0.01)
    assert error.std() == pytest.approx(0.25, rel=0.02)


def test_training_hides_each_point_from_itself_and_testing_hides_none(curve, generator):
    data = curve(generator(), num_train=7)
    assert data.train.mask.matrix.equal(~torch.eye(7, dtype=torch.bool))
    assert data.test.mask is None
    assert data.train.queries is data.train.keys or data.train.queries.equal(data.train.keys)


def test_the_queries_are_the_examples_and_share_their_keys(curve, generator):
    whole = curve(generator(), num_train=7).train
    some = whole.select(torch.tensor([5, 2]))
    assert (len(whole), len(some)) == (7, 2)
    assert some.keys.equal(whole.keys)
    assert some.queries.equal(whole.queries[:, [5, 2]])
    assert some.targets.equal(whole.targets[:, [5, 2]])
    assert some.mask.matrix.equal(whole.mask.matrix[[5, 2]])


@pytest.mark.parametrize(
    ("settings", "points"),
    [
        ({"high": 3.0, "num_test": 4}, [1.0, 1.5, 2.0, 2.5]),
        ({"high": 1.8, "step": 0.3}, [1, 1.3, 1.6]),
    ],
)
def test_test_points_are_as_many_as_asked_and_below_high(curve, generator, settings, points):
    x = curve(generator(), low=1.0, **settings).test.queries.flatten()
    assert x.tolist() == pytest.approx(points)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"num_train": 1}, "num_train must be at least 2 .* got 1"),
        ({"noise": -0.5}, "noise must be 0 or more, got -0.5"),
        ({"step": 0.0}, "step must be greater than 0, got 0.0"),
        ({"num_test": 0}, "num_test must be at least 1, or null for a step, got 0"),
        ({"low": 3.0, "high": 2.0}, "low must be less than high, got low 3.0 and high 2.0"),
    ],
)
def test_settings_that_cannot_work_are_refused(curve, generator, settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        curve(generator(), **settings)


def test_a_million_points_take_memory_in_proportion(curve, generator):
    data = curve(generator(), num_train=1_000_000, num_test=10)
    assert len(data.train) == 1_000_000
    assert data.train.mask.own.numel() == 1_000_000

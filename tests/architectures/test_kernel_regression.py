from functools import partial

import pytest
import torch

from attnexp.architectures.kernel_regression import KernelRegression
from attnexp.batch import allowed_keys
from attnexp.data.sine import Sine
from attnexp.scores.boxcar import Boxcar
from attnexp.scores.gaussian import Gaussian
from attnexp.scores.scaled_dot import ScaledDot


@pytest.fixture
def data():
    return Sine(torch.Generator().manual_seed(0), num_train=11)


def test_is_the_nadaraya_watson_estimator(data):
    """A loop in float64: the kernel-weighted mean of the training values."""
    model = KernelRegression(data.spec, Gaussian)
    x, y = data.train.keys[0, :, 0].double(), data.train.values[0, :, 0].double()
    for query, output in zip(
        data.test.queries[0, :, 0].double(), model(data.test).outputs[0, :, 0], strict=True
    ):
        kernel = [torch.exp(-((query - point) ** 2) / 2) for point in x]
        oracle = sum(k * value for k, value in zip(kernel, y, strict=True)) / sum(kernel)
        assert output.item() == pytest.approx(oracle.item(), abs=1e-5)


def test_leave_one_out_is_the_estimator_without_the_point(data):
    model = KernelRegression(data.spec, Gaussian)
    x, y = data.train.keys[0, :, 0].double(), data.train.values[0, :, 0].double()
    outputs = model(data.train, need_weights=True).outputs[0, :, 0]
    for point in range(11):
        rest = [other for other in range(11) if other != point]
        kernel = torch.exp(-((x[point] - x[rest]) ** 2) / 2)
        assert outputs[point].item() == pytest.approx(
            (kernel @ y[rest] / kernel.sum()).item(), abs=1e-5
        )


@pytest.mark.parametrize("split", ["train", "test"])
def test_without_a_point_in_reach_the_answer_is_the_mean_of_the_values(data, split):
    """Leave-one-out takes the mean of the others."""
    batch = getattr(data, split)
    outputs = KernelRegression(data.spec, partial(Boxcar, width=1e6))(batch).outputs[0, :, 0]
    for query, allowed in enumerate(allowed_keys(batch)[0]):
        mean = data.train.values[0, :, 0][allowed].double().mean().item()
        assert outputs[query].item() == pytest.approx(mean, abs=1e-5)


def test_without_a_point_in_reach_the_answer_may_be_nan(data):
    narrow = partial(Boxcar, width=20.0)
    usual = KernelRegression(data.spec, narrow)(data.test, need_weights=True)
    missing = KernelRegression(data.spec, narrow, empty="nan")(data.test).outputs[0, :, 0]
    reached = usual.weights["pooling"][0, 0, 0].sum(dim=-1) > 0
    assert 0 < reached.sum() < len(reached)
    assert missing.isnan().equal(~reached)
    assert missing[reached].equal(usual.outputs[0, :, 0][reached])


def test_weights_have_axes_for_layers_and_heads(data):
    single = KernelRegression(data.spec, Gaussian)(data.test, need_weights=True)
    several = KernelRegression(data.spec, ScaledDot, heads=3)(data.test, need_weights=True)
    assert single.weights["pooling"].shape == (1, 1, 1, 50, 11)
    assert several.weights["pooling"].shape == (1, 1, 3, 50, 11)
    assert KernelRegression(data.spec, Gaussian)(data.test).weights == {}


def test_queries_and_keys_share_the_feature_map(data):
    model = KernelRegression(data.spec, ScaledDot, features=5)
    names = {name for name, _ in model.named_parameters()}
    assert names == {"phi.W_1.weight", "phi.W_1.bias", "phi.W_2.weight", "phi.W_2.bias"}
    assert model.pooling.score.query_dim == 5


def test_refuses_sizes_that_cannot_work(data):
    with pytest.raises(ValueError, match=r"features must be 0 \(raw x\) or more, got -2"):
        KernelRegression(data.spec, Gaussian, features=-2)
    with pytest.raises(ValueError, match="heads must be greater than 0, got 0"):
        KernelRegression(data.spec, Gaussian, heads=0)

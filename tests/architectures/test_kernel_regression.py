from dataclasses import replace
from functools import partial

import pytest
import torch
from conftest import choice_names
from hydra.utils import instantiate

from attnexp.architectures.kernel_regression import KernelRegression
from attnexp.core.batch import allowed_keys
from attnexp.data.sine import Sine
from attnexp.scores.boxcar import Boxcar
from attnexp.scores.gaussian import Gaussian
from attnexp.scores.scaled_dot import ScaledDot


@pytest.fixture
def data():
    return Sine(torch.Generator().manual_seed(0), num_train=11)


@pytest.mark.parametrize("split", ["train", "test"])
def test_is_the_nadaraya_watson_estimator(data, split):
    """A loop in float64: the kernel-weighted mean of the values; training leaves its point out."""
    batch = getattr(data, split)
    outputs = KernelRegression(data.spec, Gaussian)(batch).outputs[0, :, 0]
    x, y = (part[0, :, 0].double() for part in (batch.keys, batch.values))
    for i, allowed in enumerate(allowed_keys(batch)[0]):
        kernel = torch.exp(-((batch.queries[0, i, 0].double() - x[allowed]) ** 2) / 2)
        expected = (kernel @ y[allowed] / kernel.sum()).item()
        assert outputs[i].item() == pytest.approx(expected, abs=1e-5)


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


def test_queries_and_keys_share_the_feature_map(data):
    model = KernelRegression(data.spec, ScaledDot, features=5)
    names = {name for name, _ in model.named_parameters()}
    assert names == {"phi.W_1.weight", "phi.W_1.bias", "phi.W_2.weight", "phi.W_2.bias"}
    assert model.pooling.score.query_dim == 5


@pytest.mark.parametrize("name", choice_names("attention"))
def test_no_answer_reads_the_value_of_the_point_that_is_left_out(data, name, settings_of):
    """By the derivative of each answer to its own value, which an attention leaks or is refused."""
    attention = partial(instantiate, settings_of("attention", name))

    def build():
        return KernelRegression(data.spec, ScaledDot, features=4, heads=2, attention=attention)

    if name == "shifted":
        with pytest.raises(ValueError, match="a point that is left out would count at the next"):
            build()
        return
    values = data.train.values.clone().requires_grad_()
    answers = build()(replace(data.train, values=values)).outputs[0, :, 0]
    for i, answer in enumerate(answers):
        (derivatives,) = torch.autograd.grad(answer, values, retain_graph=True)
        assert derivatives[0, i, 0] == 0
        assert derivatives.any()

import math
from copy import copy
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from attnexp.architectures.kernel_regression import KernelRegression
from attnexp.core.batch import Batch, Prediction, in_units
from attnexp.data.sine import Sine
from attnexp.data.tabular import Tabular, random_split
from attnexp.scores.additive import Additive
from attnexp.scores.average import Average
from attnexp.scores.boxcar import Boxcar
from attnexp.scores.dot import Dot
from attnexp.scores.gaussian import Gaussian
from attnexp.tasks import regression
from attnexp.tasks.base import ScoreOverflowError
from attnexp.tasks.regression import Regression


@pytest.fixture
def data():
    return Sine(torch.Generator().manual_seed(0))


def evaluate(score, data, **sizes):
    with torch.no_grad():
        return Regression().evaluate(KernelRegression(data.spec, score, **sizes), data)


def tiny_batch(target_mask):
    column = torch.tensor([[[1.0], [2.0], [4.0]]])
    mask = torch.ones(1, 3, 3, dtype=torch.bool)
    return Batch(column, column, column, column, mask, torch.tensor([target_mask]))


def test_loss_by_hand():
    prediction = Prediction(torch.zeros(1, 3, 1), {})
    whole = tiny_batch([True, True, True])
    assert Regression().loss(prediction, whole) == pytest.approx((1 + 4 + 16) / 3)
    padded = tiny_batch([True, False, True])
    assert Regression().loss(prediction, padded) == pytest.approx((1 + 16) / 2)
    assert Regression(reduction="sum").loss(prediction, padded) == 17


def test_average_pooling_is_the_trivial_answer(data):
    metrics = evaluate(Average, data).metrics
    assert metrics["test_mse"] == pytest.approx(metrics["baseline_mse"], rel=1e-5)
    assert metrics["neighbours"] == pytest.approx(50, rel=1e-4)


def test_neighbours_and_bandwidth_by_hand(data):
    """A boxcar weighs its keys alike: exp(H) counts them."""
    metrics = evaluate(lambda **k: Boxcar(**k, width=2.0), data).metrics
    gaps = (data.test.queries[0] - data.train.keys[0, :, 0]).abs()
    near = gaps <= 0.5
    reach = [math.sqrt(sum(gaps[q][near[q]] ** 2) / near[q].sum()) for q in range(50)]
    assert metrics["neighbours"] == pytest.approx(near.sum(dim=1).float().mean().item(), rel=1e-4)
    assert metrics["bandwidth"] == pytest.approx(sum(reach) / 50, rel=1e-4)
    assert metrics["support"] == pytest.approx(near.sum(dim=1).float().mean().item(), rel=1e-6)
    assert metrics["sink_mass"] == 0


def test_collapse_to_average_pooling_is_said(data):
    collapsed = evaluate(lambda **k: Gaussian(**k, width="learned", initial_width=0.01), data)
    assert "collapsed to average pooling" in collapsed.notes[-1]
    assert not evaluate(lambda **k: Gaussian(**k, width="learned", initial_width=1.0), data).notes
    assert not evaluate(Average, data).notes


def test_queries_without_a_key_in_reach_are_counted(data):
    evaluation = evaluate(lambda **k: Boxcar(**k, width=50.0), data)
    gaps = (data.test.queries[0] - data.train.keys[0, :, 0]).abs()
    empty = int((gaps > 1 / 50).all(dim=-1).sum())
    assert empty > 0
    assert evaluation.notes[-1].startswith(f"{empty} of 50 test queries have no training point")


def test_an_answer_without_neighbours_does_not_depend_on_the_zero_of_y(data):
    """With y + 100 every error is the same, because everything moves with y."""
    score = lambda **k: Boxcar(**k, width=50.0)  # noqa: E731
    before = evaluate(score, data).metrics
    shifted = copy(data)
    shifted.train, shifted.test = (
        replace(split, values=split.values + 100, targets=split.targets + 100)
        for split in (data.train, data.test)
    )
    after = evaluate(score, shifted).metrics
    for name in ("test_mse", "test_mae", "loo_mse", "baseline_mse"):
        assert after[name] == pytest.approx(before[name], rel=1e-3), name


@pytest.mark.parametrize("width", [1e30, 1e25])
def test_scores_that_overflow_end_the_evaluation(data, width):
    with pytest.raises(ScoreOverflowError, match="the scores overflowed"):
        evaluate(lambda **k: Gaussian(**k, width=width), data)


def test_worse_than_the_trivial_answer_is_said(data):
    notes = evaluate(Dot, data).notes
    assert notes[0].startswith("test_mse is above baseline_mse")
    assert "arch.features=16" in notes[1]


@pytest.mark.parametrize("score", [Gaussian, Average, Additive])
def test_features_are_advised_to_products_alone(data, score):
    assert not any("arch.features" in note for note in evaluate(score, data).notes)


@pytest.fixture
def kernel(data):
    return KernelRegression(data.spec, Gaussian)


def test_metrics_are_the_same_in_portions(data, kernel, monkeypatch):
    whole = Regression().evaluate(kernel, data)
    monkeypatch.setattr(regression, "PAIRS", 7 * 50)
    portions = Regression().evaluate(kernel, data)
    assert portions.metrics == pytest.approx(whole.metrics, rel=1e-5)
    assert len(portions.rows) == 50


def test_of_many_points_some_are_left_out_and_it_is_said(data, kernel, monkeypatch):
    whole = Regression().evaluate(kernel, data).metrics["loo_mse"]
    monkeypatch.setattr(regression, "LEFT_OUT", 20 * 50)
    some = Regression().evaluate(kernel, data)
    assert some.metrics["loo_mse"] == Regression().evaluate(kernel, data).metrics["loo_mse"]
    assert some.metrics["loo_mse"] != whole
    assert some.notes[0].startswith("loo_mse is the mean over 20 of 50 training points, drawn at")


def test_of_many_queries_some_are_asked_where_they_look_and_it_is_said(data, kernel, monkeypatch):
    whole = Regression().evaluate(kernel, data).metrics
    monkeypatch.setattr(regression, "MEASURED", 10 * 50)
    some = Regression().evaluate(kernel, data)
    assert some.metrics["test_mse"] == pytest.approx(whole["test_mse"], rel=1e-5)
    assert some.metrics["neighbours"] != whole["neighbours"]
    assert some.notes[0].endswith("are means over 10 of 50 test queries, evenly spaced")


def test_a_large_map_is_thinned_and_it_is_said(data, kernel, monkeypatch):
    whole = Regression().attend(kernel, data)
    monkeypatch.setattr(regression, "KEPT", 100)
    monkeypatch.setattr(regression, "KEPT_QUERIES", 5)
    thin = Regression().attend(kernel, data)
    queries, keys = range(0, 50, 10), [50 * i // 20 for i in range(20)]
    expected = whole.weights["pooling"][..., list(queries), :][..., keys]
    torch.testing.assert_close(thin.weights["pooling"], expected)
    assert thin.shown.mask.shape == (1, 5, 20)
    assert thin.shown.keys.equal(data.test.keys[:, keys])
    (note,) = Regression().evaluate(kernel, data).notes
    assert note.startswith("5 of 50 test queries and 20 of 50 keys are kept of the attention")


@pytest.fixture
def table():
    """Rows of y = 3 a + 1000, with b beside it, in units far from 0 and 1."""
    a, b = np.linspace(100, 200, 40), np.tile([5.0, 6.0, 9.0, 7.0], 10)
    rows = np.stack([a, b, 3 * a + 1000], axis=1)
    return Tabular(*random_split(rows, 0.25, torch.Generator().manual_seed(0)), ["a", "b"], "y")


def test_errors_of_a_table_are_in_its_units(table):
    evaluation = evaluate(Average, table)
    spec, train, test = table.spec, table.train, table.test
    y, truth = (in_units(each, spec.y).flatten() for each in (train.values, test.targets))
    assert evaluation.metrics["test_mse"] == pytest.approx(
        (y.mean() - truth).square().mean().item(), rel=1e-4
    )
    assert evaluation.metrics["test_mae"] == pytest.approx(
        (y.mean() - truth).abs().mean().item(), rel=1e-4
    )
    others = (y.sum() - y) / (len(y) - 1)
    assert evaluation.metrics["loo_mse"] == pytest.approx(
        (others - y).square().mean().item(), rel=1e-4
    )
    assert evaluation.details == {
        "mean": {column.name: column.mean for column in (*spec.x, *spec.y)},
        "deviation": {column.name: column.deviation for column in (*spec.x, *spec.y)},
    }


def test_the_loss_and_the_bandwidth_of_a_table_are_in_standard_deviations(table):
    metrics = evaluate(Average, table).metrics
    gaps = table.test.queries[0].unsqueeze(1) - table.train.keys[0]
    reach = gaps.square().sum(dim=-1).mean(dim=-1).sqrt().mean()
    assert metrics["bandwidth"] == pytest.approx(reach.item(), rel=1e-4)
    with torch.no_grad():
        prediction = KernelRegression(table.spec, Average)(table.train)
        loss = Regression().loss(prediction, table.train).item()
    (y,) = table.spec.y
    assert loss * y.deviation**2 == pytest.approx(metrics["loo_mse"], rel=1e-4)


def test_what_is_kept_of_a_table_is_in_its_units(table):
    evaluation = evaluate(Average, table)
    assert {row["x.b"] for row in evaluation.rows} <= {5.0, 6.0, 9.0, 7.0}
    for row in evaluation.rows:
        assert row["truth"] == pytest.approx(3 * row["x.a"] + 1000, abs=1e-3)
    with torch.no_grad():
        shown = Regression().attend(KernelRegression(table.spec, Average), table).shown
    for x, y in ((shown.queries, shown.targets), (shown.keys, shown.values)):
        torch.testing.assert_close(y, 3 * x[..., :1] + 1000, atol=1e-3, rtol=0)


def test_the_response_to_two_inputs_is_what_the_model_answers_there(table):
    score = partial(Gaussian, width=2.0)
    rows = evaluate(score, table).response
    assert {row["varied"] for row in rows} == {"both"}
    assert (rows[0]["x.a"], rows[0]["x.b"]) == (100.0, 5.0)
    assert (rows[-1]["x.a"], rows[-1]["x.b"]) == (200.0, 9.0)
    x, y = (
        in_units(each, own)[0]
        for each, own in ((table.train.keys, table.spec.x), (table.train.values, table.spec.y))
    )
    deviations = torch.tensor([column.deviation for column in table.spec.x])
    for row in rows[::97]:
        near = ((x - torch.tensor([row["x.a"], row["x.b"]])) / deviations).square().mean(dim=-1)
        weights = torch.softmax(-(2.0**2) / 2 * near, dim=0)
        assert row["prediction"] == pytest.approx((weights @ y).item(), rel=1e-4)


def test_of_more_inputs_each_varies_alone_and_the_others_are_at_their_medians():
    numbers = np.random.default_rng(0).normal(50, 10, (31, 4)).round(1)
    sets = random_split(numbers, 0.2, torch.Generator().manual_seed(0))
    data = Tabular(*sets, ["a", "b", "c"], "y")
    rows = evaluate(Average, data).response
    medians = dict(zip(["x.a", "x.b", "x.c"], np.median(numbers, axis=0), strict=False))
    for name in "abc":
        own = [row for row in rows if row["varied"] == name]
        assert len(own) == 201
        fixed = {other for other in medians if other != f"x.{name}"}
        assert all(row[other] == medians[other] for row in own for other in fixed)
        assert len({row[f"x.{name}"] for row in own}) == 201


def test_numbers_without_units_have_no_response(data):
    evaluation = evaluate(Average, data)
    assert (list(evaluation.response), dict(evaluation.details)) == ([], {})

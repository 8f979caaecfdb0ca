"""Budgets, early stopping and the best parameters, on a scripted validation."""

from functools import partial
from typing import Any

import pytest
import torch
from composed import training

from attnexp.architectures.kernel_regression import KernelRegression
from attnexp.data.sine import Sine
from attnexp.scores.gaussian import Gaussian
from attnexp.tasks.base import Metric
from attnexp.tasks.regression import METRICS, Regression
from attnexp.training.base import TrainSettings
from attnexp.training.loop import planned_steps
from attnexp.training.schedules import Constant, Cosine


class Scripted(Regression):
    """Validation losses come from a list; each is remembered with the width it was measured at."""

    metrics = (
        *METRICS,
        Metric("exact_match", lambda _: 0.0, "scripted", better="higher", validated=True),
        Metric("entropy", lambda _: 0.0, "describes and does not rank", validated=True),
    )

    def __init__(self, losses):
        super().__init__()
        self.losses = list(losses)
        self.widths = []

    def validate(self, model, batch):
        self.widths.append(model.pooling.score.width.item())
        loss = self.losses[len(self.widths) - 1]
        return {"loss": loss, "exact_match": 1 - loss}


@pytest.fixture
def data():
    data = Sine(torch.Generator().manual_seed(0))
    data.validation = data.train
    return data


def train(data, task, schedule=None, **settings):
    model = KernelRegression(data.spec, partial(Gaussian, width="learned", initial_width=0.5))
    rows = training(
        model,
        data,
        task,
        partial(torch.optim.SGD, lr=0.1),
        schedule or Constant(),
        TrainSettings(**settings),
        torch.Generator(),
    ).epochs()
    return model, list(rows)


def test_the_parameters_of_the_lowest_validation_loss_are_kept(data):
    task = Scripted([0.9, 0.3, 0.5, 0.4])
    model, rows = train(data, task, max_epochs=4)
    assert len(rows) == 4
    assert model.pooling.score.width.item() == task.widths[1]
    assert task.widths[1] != task.widths[3]
    assert [row.validation["loss"] for row in rows] == [0.9, 0.3, 0.5, 0.4]


def test_patience_ends_training(data):
    task = Scripted([0.9, 0.3, 0.5, 0.4, 0.2])
    _, rows = train(data, task, max_epochs=5, patience=2)
    ended = "no lower validation loss for 2 epochs, in epoch 4"
    assert [row.ended for row in rows] == ["", "", "", ended]


@pytest.mark.parametrize(
    ("losses", "settings", "ended"),
    [
        ([0.9, 0.1, 0.0], {"stop_at": 0.9}, "exact_match reached 0.9 in epoch 2"),
        (
            [0.1, 0.9, 0.1, 0.05, 0.0],
            {"stop_at": 0.9, "stop_epochs": 2},
            "exact_match reached 0.9 in 2 epochs in a row, in epoch 4",
        ),
        ([0.9, 0.3, 0.1], {"stop_metric": "loss", "stop_at": 0.3}, "loss reached 0.3 in epoch 2"),
    ],
)
def test_a_target_in_its_own_direction_ends_training(data, losses, settings, ended):
    settings = {"stop_metric": "exact_match", **settings}
    _, rows = train(data, Scripted(losses), max_epochs=len(losses), **settings)
    assert rows[-1].ended == f"validation {ended}"


@pytest.mark.parametrize("metric", ["blue", "entropy", "exact"])
def test_an_unknown_target_names_the_choices(data, metric):
    sentence = rf"stop_metric must be one of loss, exact_match, got {metric}$"
    with pytest.raises(ValueError, match=sentence):
        train(data, Scripted([0.5, 0.5]), max_epochs=2, stop_metric=metric, stop_at=0.9)


def test_patience_without_validation_looks_at_the_training_loss(data):
    class Flat(Regression):
        def loss(self, prediction, batch):
            return 0.0 * super().loss(prediction, batch) + 1.0

    data.validation = None
    _, rows = train(data, Flat(), max_epochs=9, patience=3)
    assert rows[-1].ended == "no lower training loss for 3 epochs, in epoch 4"
    _, rows = train(data, Regression(), max_epochs=9, patience=3)
    assert len(rows) == 9


def test_a_target_needs_validation(data):
    data.validation = None
    with pytest.raises(ValueError, match="stop_metric is loss, but these data have no validation"):
        train(data, Regression(), max_epochs=3, stop_metric="loss", stop_at=0.1)


def test_target_and_metric_go_together():
    with pytest.raises(ValueError, match="stop_metric and stop_at go together"):
        TrainSettings(max_epochs=1, stop_at=0.9)


def test_steps_are_a_budget_that_the_schedule_knows(data):
    settings: dict[str, Any] = {"max_epochs": 8, "max_steps": 4}
    assert planned_steps(data, TrainSettings(**settings)) == 4
    _, rows = train(data, Scripted([0.5] * 4), Cosine(), **settings)
    assert rows[-1].step == 4
    assert rows[-1].ended == "train.max_steps = 4 reached in epoch 4"
    assert rows[2].lr == pytest.approx(0.05)


def test_minutes_are_a_budget(data):
    _, rows = train(data, Scripted([0.5] * 9), max_epochs=9, max_minutes=1e-9)
    assert len(rows) == 1
    assert rows[0].ended == "train.max_minutes = 1e-09 reached in epoch 1"


def test_without_validation_the_last_parameters_stay(data):
    data.validation = None
    model, rows = train(data, Regression(), max_epochs=3)
    again, _ = train(data, Regression(), max_epochs=3)
    assert rows[-1].validation == {}
    assert model.pooling.score.width.equal(again.pooling.score.width)

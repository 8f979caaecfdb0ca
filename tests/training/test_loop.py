import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from composed import training
from statsmodels.nonparametric.kernel_regression import KernelReg

from attnexp.architectures.kernel_regression import KernelRegression
from attnexp.data.sine import Sine
from attnexp.data.tabular import Tabular, random_split
from attnexp.scores.additive import Additive
from attnexp.scores.gaussian import Gaussian
from attnexp.tasks.regression import Regression
from attnexp.training.base import TrainingDivergedError, TrainSettings
from attnexp.training.loop import portions
from attnexp.training.optimizers import Rprop
from attnexp.training.schedules import Constant, Cosine


@pytest.fixture
def recipe(settings_of):
    """The default recipe, as conf/ has it."""
    optim, train = settings_of("optim", "rprop"), settings_of("train", "regression")
    assert optim.pop("_target_").endswith(".Rprop")
    train.pop("_target_")
    return {
        "optimizer": partial(Rprop, **optim),
        "schedule": Constant(),
        "settings": TrainSettings(**train),
    }


def train(data, score, seed=0, **recipe):
    torch.manual_seed(seed)
    model = KernelRegression(data.spec, score)
    order = torch.Generator().manual_seed(seed)
    return model, list(training(model, data, Regression(), order=order, **recipe).epochs())


def sine(seed, **settings):
    return Sine(torch.Generator().manual_seed(seed), **settings)


@pytest.mark.filterwarnings("ignore:After 0.17:FutureWarning")
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_default_recipe_finds_the_cross_validated_width(recipe, seed):
    """statsmodels chooses the bandwidth h = 1/w by leave-one-out least squares, on its own."""
    data = sine(seed)
    x, y = data.train.keys[0, :, 0].numpy(), data.train.values[0, :, 0].numpy()
    oracle = KernelReg(y.astype(float), x.astype(float), "c", reg_type="lc", bw="cv_ls")
    for initial_width in (0.001, 0.03, 0.2, 0.6, 0.999):
        model, _ = train(
            data, partial(Gaussian, width="learned", initial_width=initial_width), **recipe
        )
        ours = abs(model.pooling.score.width.item())
        assert ours == pytest.approx(1 / oracle.bw[0], rel=1e-3)


@pytest.mark.filterwarnings("ignore:After 0.17:FutureWarning")
def test_a_width_for_each_input_is_the_cross_validated_one(recipe):
    """statsmodels chooses a bandwidth h_j = sqrt(d) / w_j for each input, on its own."""
    draw = np.random.default_rng(1)
    x = draw.uniform(0, 5, (60, 2))
    y = 2 * np.sin(2 * x[:, 0]) + 0.3 * x[:, 1] + draw.normal(0, 0.2, 60)
    rows = np.column_stack([x, y])
    data = Tabular(*random_split(rows, 0.2, torch.Generator().manual_seed(0)), ["a", "b"], "y")
    keys, values = (each[0].double().numpy() for each in (data.train.keys, data.train.values))
    oracle = KernelReg(values[:, 0], keys, "cc", reg_type="lc", bw="cv_ls")
    score = partial(Gaussian, width="learned", initial_width=1.0, per_dimension=True)
    model, _ = train(data, score, **recipe)
    ours = model.pooling.score.width.detach().abs().double().numpy() / np.sqrt(2)
    assert ours == pytest.approx(1 / oracle.bw, rel=1e-2)


def test_leave_one_out_loss_is_the_cross_validation_score(recipe):
    data = sine(0)
    model, rows = train(data, partial(Gaussian, width="learned"), **recipe)
    x, y = data.train.keys[0, :, 0].double(), data.train.values[0, :, 0].double()
    width = model.pooling.score.width.detach().double()
    kernel = torch.exp(-((width * (x[:, None] - x)) ** 2) / 2).fill_diagonal_(0)
    oracle = ((kernel @ y / kernel.sum(dim=1) - y) ** 2).mean()
    assert rows[-1].loss == pytest.approx(oracle.item(), rel=1e-4)


def test_the_textbooks_recipe_equals_the_textbooks_loop():
    """SGD at 0.5 on the sum of squared errors, the update written out."""
    data, task = sine(0), Regression(reduction="sum")
    model = KernelRegression(data.spec, partial(Gaussian, width="learned", initial_width=0.4))
    recipe = {"optimizer": partial(torch.optim.SGD, lr=0.5), "schedule": Constant()}
    rows = list(
        training(
            model, data, task, order=torch.Generator(), settings=TrainSettings(5), **recipe
        ).epochs()
    )
    x, y = data.train.keys[0, :, 0].double(), data.train.values[0, :, 0].double()
    width = torch.tensor(0.4, dtype=torch.float64, requires_grad=True)
    for row in rows:
        kernel = -((width * (x[:, None] - x)) ** 2) / 2
        weights = kernel.fill_diagonal_(-torch.inf).softmax(dim=1)
        loss = ((weights @ y - y) ** 2).sum()
        assert row.loss == pytest.approx(loss.item(), rel=1e-3)
        (gradient,) = torch.autograd.grad(loss, width)
        width = (width - 0.5 * gradient).detach().requires_grad_()
    assert model.pooling.score.width.item() == pytest.approx(width.item(), rel=1e-3)


@pytest.mark.parametrize("seed", range(6))
def test_the_default_recipe_ends_when_nothing_moves_any_more(recipe, seed):
    """What is left out would have changed nothing."""
    model, rows = train(sine(seed), partial(Gaussian, width="learned"), seed, **recipe)
    assert 20 < len(rows) < 60
    assert [row.converged for row in rows] == [False] * (len(rows) - 1) + [True]
    assert rows[-1].ended == ""
    to_the_end = recipe | {"settings": replace(recipe["settings"], tolerance=None)}
    longer, more_rows = train(sine(seed), partial(Gaussian, width="learned"), seed, **to_the_end)
    assert len(more_rows) == 100
    assert [row.loss for row in rows] == [row.loss for row in more_rows[: len(rows)]]
    assert rows[-1].loss == pytest.approx(more_rows[-1].loss, rel=1e-5)
    widths = [each.pooling.score.width.item() for each in (model, longer)]
    assert widths[0] == pytest.approx(widths[1], abs=2e-3)


def test_a_small_rate_is_not_taken_for_convergence():
    settings = TrainSettings(max_epochs=30, tolerance=0.001)
    for optimizer in (torch.optim.SGD, torch.optim.Adam):
        _, rows = train(
            sine(0),
            partial(Gaussian, width="learned", initial_width=0.6),
            optimizer=partial(optimizer, lr=1e-6),
            schedule=Constant(),
            settings=settings,
        )
        assert len(rows) == 30
        assert not any(row.converged for row in rows)


def test_warmup_rises_linearly_then_falls():
    cosine = Cosine(warmup=0.5)
    factors = [cosine(step, 8) for step in range(8)]
    fall = [(1 + math.cos(math.pi * t)) / 2 for t in (0, 1 / 4, 2 / 4, 3 / 4)]
    assert factors == pytest.approx([1 / 4, 2 / 4, 3 / 4, 1, *fall])
    assert all(Cosine(warmup=w)(0, n) > 0 for w in (0, 0.1, 0.99) for n in (1, 2, 7, 100))
    with pytest.raises(ValueError, match="warmup must be at least 0 and less than 1, got 1"):
        Cosine(warmup=1)


def test_clipping_bounds_the_step():
    model, _ = train(
        sine(0),
        partial(Gaussian, width="learned", initial_width=0.9),
        optimizer=partial(torch.optim.SGD, lr=1.0),
        schedule=Constant(),
        settings=TrainSettings(max_epochs=1, clip_norm=0.01),
    )
    assert abs(model.pooling.score.width.item() - 0.9) == pytest.approx(0.01, rel=1e-3)


def test_the_gradient_before_clipping_is_the_slope_of_the_loss():
    def first_epoch(width, clip_norm=None):
        return train(
            sine(0),
            partial(Gaussian, width="learned", initial_width=width),
            optimizer=partial(torch.optim.SGD, lr=0.0),
            schedule=Constant(),
            settings=TrainSettings(max_epochs=1, clip_norm=clip_norm),
        )[1][0]

    slope = (first_epoch(0.91).loss - first_epoch(0.89).loss) / 0.02
    for clip_norm in (0.01, 100.0):
        assert first_epoch(0.9, clip_norm).gradient_norm == pytest.approx(abs(slope), rel=0.01)
    assert first_epoch(0.9).gradient_norm is None


def test_a_loss_that_is_not_finite_before_any_step_is_no_matter_of_the_rate():
    class Nowhere(Additive):
        def compare(self, queries, keys):
            return super().compare(queries, keys) * torch.nan

    message = "the loss is nan at update 1, in epoch 1; no parameter was changed before: look at"
    with pytest.raises(TrainingDivergedError, match=message):
        train(
            sine(0),
            Nowhere,
            optimizer=partial(torch.optim.SGD, lr=0.1),
            schedule=Constant(),
            settings=TrainSettings(50),
        )


def test_divergence_is_an_error_that_names_the_rate():
    def overshoot(params):
        return torch.optim.SGD(params, lr=torch.inf)

    with pytest.raises(
        TrainingDivergedError, match=r"parameters are no .* update 1, in epoch 1; .* below inf"
    ):
        train(
            sine(0), Additive, optimizer=overshoot, schedule=Constant(), settings=TrainSettings(50)
        )


@pytest.mark.parametrize("name", ["max_epochs", "batch_size", "clip_norm"])
def test_budgets_must_be_positive(name):
    settings: dict[str, Any] = {"max_epochs": 1, name: 0}
    with pytest.raises(ValueError, match=f"{name} must be greater than 0, got 0"):
        TrainSettings(**settings)


def test_portions_cover_every_example_once():
    batch = sine(0).train
    many = batch.select(torch.zeros(7, dtype=torch.long))
    parts = list(portions(many, 3, torch.Generator()))
    assert [len(part) for part in parts] == [3, 3, 1]
    assert next(portions(batch, 50, torch.Generator())) is batch


def test_portions_of_points_have_the_loss_and_gradient_of_all_points_in_the_mean():
    """Each portion compares a few points with all the others: its gradient is unbiased."""
    whole = sine(0).train
    model = KernelRegression(sine(0).spec, partial(Gaussian, width="learned", initial_width=2.0))
    slopes = [
        torch.autograd.grad(Regression().loss(model(part), part), list(model.parameters()))[0]
        for part in (whole, *portions(whole, 10, torch.Generator().manual_seed(3)))
    ]
    assert len(slopes) == 6
    torch.testing.assert_close(torch.stack(slopes[1:]).mean(), slopes[0])

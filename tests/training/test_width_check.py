"""A learned width is checked after training: the run ends in the best valley, and says so."""

import csv

import numpy as np
import pytest
import torch
from composed import prepared
from curves_to_smooth import CURVES, LARGE, best_of_grid, by_line, by_mean, error_of, spread_of

from attnexp.runs.summary import read_summary
from attnexp.tasks.regression import Regression
from attnexp.training.base import Epoch, TrainingDivergedError
from attnexp.training.execute import execute
from attnexp.training.loop import Training
from attnexp.training.replicas.group import Replicas
from attnexp.training.width_check import _falls_to_the_end, check_width, learned_width
from attnexp.training.width_check import spread_of as torch_spread_of

WIDTH = "pooling.score.width"

FAR_OFF = ("model.initial_width=0.01", "optim.scalar_lr=0.001", "train.max_epochs=6")
"""A width that training does not bring far."""

TABLES = [pytest.param(n, marks=pytest.mark.slow) if n in LARGE else n for n in CURVES]


def table_of(points, folder):
    """The words that name the points as a table."""
    x, y = points
    path = folder / "points.csv"
    names = [f"x{i}" for i in range(x.shape[1])]
    with path.open("w") as file:
        csv.writer(file).writerows([[*names, "y"], *np.column_stack([x, y]).tolist()])
    return ("data=table", f"data.path={path}", f"data.x=[{','.join(names)}]", "data.y=y")


def executed(folder, *words):
    """A run, and its summary."""
    run = prepared("figures=false", *words)
    return run, execute(run, folder)


def points_of(run):
    """The training points of a run, in double precision."""
    train = run.dataset.train
    return train.keys[0].double().numpy(), train.values[0, :, 0].double().numpy()


@pytest.mark.check
@pytest.mark.first(8)
@pytest.mark.parametrize(
    ("estimator", "fit", "within"),
    [("local_constant", by_mean, 1.02), ("local_linear", by_line, 1.03)],
)
@pytest.mark.parametrize("name", TABLES)
def test_a_run_ends_about_as_low_as_the_best_of_a_fine_grid(name, estimator, fit, within, tmp_path):
    """Lines are fitted in double precision.

    In single precision a line is flat by rounding where one neighbour counts alone, and the best of
    the run's own errors is up to 5% above that of the grid.
    """
    words = table_of(CURVES[name](), tmp_path)
    precision = "fp64" if estimator == "local_linear" else "fp32"
    run, summary = executed(tmp_path, *words, f"estimator={estimator}", f"precision={precision}")
    x, y = points_of(run)
    ours = summary.metrics["loo_mse"] / summary.details["deviation"]["y"] ** 2
    assert ours <= within * best_of_grid(error_of(x, y, fit), *spread_of(x))


@pytest.mark.parametrize("seed", [0, 1])
def test_a_run_in_the_right_valley_keeps_its_bits_and_its_curve(seed, tmp_path):
    words = ("figures=false", f"seed={seed}")
    one, with_check = executed(tmp_path, *words)
    other = prepared(*words, "model.check_width=false")
    rows = list(Training(other).epochs())
    assert torch.equal(one.model.get_parameter(WIDTH), other.model.get_parameter(WIDTH))
    assert with_check.metrics["steps"] == rows[-1].step
    assert with_check.notes == []
    check = with_check.width_check
    assert check.epoch is None
    assert check.trained == check.learned == (with_check.metrics[WIDTH], check.trained[1])
    assert check.trained[1] == pytest.approx(with_check.metrics["loo_mse"], rel=1e-6)
    assert (check.points, check.whole, len(check.row)) == (50, 50, 96)


def test_the_row_has_the_errors_of_its_widths(tmp_path):
    run, summary = executed(tmp_path, *FAR_OFF)
    x, y = points_of(run)
    error = error_of(x, y, by_mean)
    for width, own in summary.width_check.row[::7]:
        assert own == pytest.approx(error(width), rel=1e-3)


def test_a_run_without_a_finite_error_at_any_width_is_refused(tmp_path, monkeypatch):
    """A prediction that is not a number at every width has no best one, and no run ends with it."""
    monkeypatch.setattr(Regression, "choosing_error", lambda *_: float("nan"))
    with pytest.raises(TrainingDivergedError, match="not a finite number at any of 96 widths"):
        executed(tmp_path)


def test_training_goes_on_from_a_better_width_and_a_sentence_says_so(tmp_path):
    _, summary = executed(tmp_path, *FAR_OFF)
    check = read_summary(tmp_path).width_check
    assert check == summary.width_check
    assert check.epoch == 6
    assert summary.metrics["steps"] == 12
    (note,) = summary.notes
    trained, found = check.trained, check.found
    assert note == (
        f"training had ended at width {trained[0]:.3g}, error {trained[1]:.3g}; "
        f"{found[1]:.3g} was found at {found[0]:.3g}"
    )
    assert summary.metrics["loo_mse"] == pytest.approx(check.learned[1], rel=1e-6)
    assert check.learned[1] <= check.found[1] < check.trained[1]
    with (tmp_path / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["epoch"]) for row in rows] == list(range(1, 13))
    seconds = [float(row["seconds"]) for row in rows]
    assert seconds == sorted(seconds)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_the_start_is_kept_where_training_leaves_it_for_a_worse_width(optimizer, tmp_path):
    words = (f"optim={optimizer}", "optim.lr=5", "train.max_epochs=2", "model.initial_width=30")
    _, summary = executed(tmp_path, *words)
    check = summary.width_check
    assert check.epoch == 2
    assert check.learned == check.found
    assert summary.metrics[WIDTH] == pytest.approx(check.found[0], rel=1e-6)


@pytest.mark.parametrize(
    "words",
    [
        ("model=gaussian", "model.width=30"),
        ("arch.features=2",),
        ("arch.heads=2",),
        ("model.check_width=false",),
        ("model=scaled_dot",),
    ],
)
def test_only_a_learned_width_of_the_inputs_is_checked(words, tmp_path):
    _, summary = executed(tmp_path, *words, "train.max_epochs=1")
    assert summary.width_check is None


@pytest.mark.parametrize("model", ["parabola_learned", "epanechnikov_learned"])
def test_without_an_answer_a_width_does_not_count(model, tmp_path):
    words = (f"model={model}", "arch.empty='nan'", "optim.scalar_lr=0.001", "train.max_epochs=3")
    _, summary = executed(tmp_path, *words, "model.initial_width=0.05")
    check = summary.width_check
    assert check.row[-1][1] is None
    assert check.row[0][1] is not None
    assert check.epoch == 3
    assert np.isfinite(summary.metrics["loo_mse"])


def test_widths_of_several_inputs_move_by_one_factor(tmp_path):
    table = table_of(CURVES["two inputs"](), tmp_path)
    words = ("model.per_dimension=true", "optim.lr=0.001", "train.max_epochs=1")
    run = prepared(*table, *words)
    (last,) = Training(run).epochs()
    width = learned_width(run.model)
    assert width is not None
    before = width.detach().clone()
    second = check_width(run, last)
    assert torch.equal(width, before)
    start = second.model[WIDTH]
    assert torch.allclose(start / start[0], before / before[0])
    assert start.square().mean().sqrt().item() == pytest.approx(second.check.found[0], rel=1e-5)


def test_a_short_season_is_said_to_fall_towards_the_nearest_neighbours(tmp_path):
    x = np.arange(80.0)
    season = (x[:, None], np.sin(2 * np.pi * x / 6))
    _, summary = executed(tmp_path, *table_of(season, tmp_path), "data.test=0.01")
    assert summary.width_check.nearest
    assert any("nearest neighbours" in note for note in summary.notes)


@pytest.mark.parametrize("size", [1.0, 3.5, 5.0, 6.3, 8.0])
def test_errors_that_are_level_but_for_rounding_fall_to_the_end(size):
    """Where only the last digits of float32 differ, the narrowest kernel is as good as the best."""
    noise = np.random.default_rng(int(10 * size)).normal(size=30) * 1e-4
    level = (size * (1 + noise)).tolist()
    assert _falls_to_the_end([9 * size, 4 * size, 2 * size, *level])
    assert not _falls_to_the_end(level)
    assert not _falls_to_the_end([0.0] * 30)
    assert not _falls_to_the_end([9 * size, 0.9 * size, *level])
    assert not _falls_to_the_end([*level, float("inf")])


def test_many_points_are_judged_by_fewer_and_the_sentence_has_their_number(tmp_path):
    words = ("data.num_train=1000", "data.num_test=9", *FAR_OFF)
    _, summary = executed(tmp_path, *words)
    check = summary.width_check
    assert (check.points < 500, check.whole) == (True, 1000)
    assert f"on {check.points} of 1,000 points" in summary.notes[0]


def test_a_replica_has_the_same_bits_as_alone_after_a_second_start(tmp_path):
    _, alone = executed(tmp_path, *FAR_OFF, "batched=true")
    runs = [prepared(*FAR_OFF, "batched=true", f"seed={seed}") for seed in (0, 1)]
    rows = [row for number, row in Replicas(runs).fit() if number == 0 and isinstance(row, Epoch)]
    second = check_width(runs[0], rows[-1])
    assert second.check.row == alone.width_check.row
    assert second.check.found == alone.width_check.found


@pytest.mark.parametrize("features", [1, 3])
def test_the_spread_of_inputs(features):
    draw = np.random.default_rng(features)
    x = draw.integers(0, 40, (60, features)) / 7
    assert torch_spread_of(torch.tensor(x)) == pytest.approx(spread_of(x))
    assert torch_spread_of(torch.ones(5, features)) is None

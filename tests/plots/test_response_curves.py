"""Pictures of tables: a curve, a surface, a curve along each input."""

import numpy as np
import pytest

from attnexp.core.errors import RequestError
from attnexp.plots.base import Options
from attnexp.plots.catalogue import draw_run
from attnexp.plots.fit import draw_fit
from attnexp.plots.lines import fitted_curve, held_out_points, responses, training_points
from attnexp.runs import files
from attnexp.runs.folder import load_run
from attnexp.runs.summary import read_summary
from attnexp.select.configurations import Comparison


@pytest.fixture
def table_run(regression_run):
    """Writes a run of a table whose columns have these names."""

    def write(x, name="run"):
        folder = regression_run(name)
        tensors, _ = files.read_tensors(folder / files.ATTENTION)
        generator = np.random.default_rng(0)
        for side, count in (("queries", 7), ("keys", 5)):
            tensors[side] = generator.uniform(0, 9, (1, count, len(x)))
        columns = {"x": [{"name": each} for each in x], "y": [{"name": "y $1"}]}
        files.write_tensors(folder / files.ATTENTION, tensors, columns)
        heads = ["x"] if len(x) == 1 else [f"x.{each}" for each in x]
        varied = ["both"] if len(x) == 2 else x
        rows = [
            {"varied": each, **dict(zip(heads, map(float, point), strict=True)), "prediction": 1.5}
            for each in varied
            for point in (np.ndindex(4, 3) if len(x) == 2 else np.eye(4, len(x)))
        ]
        files.write_rows(folder / files.RESPONSE, rows)
        return folder

    return write


def figures(folder):
    draw_run(folder, read_summary(folder))
    return sorted(path.name for path in (folder / files.FIGURES).iterdir())


@pytest.mark.parametrize("inputs", [1, 2, 3, 14])
def test_a_table_has_its_fit_in_one_picture(table_run, inputs):
    folder = table_run([f"in put {i}" for i in range(inputs)])
    assert "fit.png" in figures(folder)


def test_a_curve_of_a_table_is_its_response_and_has_no_truth(table_run):
    run = load_run(table_run(["age"]))
    x, truth, prediction = fitted_curve(run)
    assert x.tolist() == [1, 0, 0, 0]
    assert truth is None
    assert prediction.tolist() == [1.5] * 4
    assert (training_points(run).shape, held_out_points(run).shape) == ((5, 2), (7, 2))


def test_a_response_for_each_input_and_one_where_two_vary_together(table_run):
    three = responses(load_run(table_run(["a", "b", "c"])))
    assert [each.varied for each in three] == ["a", "b", "c"]
    assert three[1].x.tolist() == np.eye(4, 3).tolist()
    (both,) = responses(load_run(table_run(["a", "b"], name="two")))
    assert both.x.shape == (12, 2)


def test_a_response_that_is_not_a_number_is_named(table_run):
    folder = table_run(["age"])
    files.write_rows(folder / files.RESPONSE, [{"varied": "a", "x": 1, "prediction": "?"}])
    with pytest.raises(RequestError, match=r"response\.csv does not hold numbers"):
        responses(load_run(folder))


def test_tables_of_several_inputs_are_not_compared(table_run):
    runs = [load_run(table_run(["a", "b"], name=name)) for name in ("one", "two")]
    configurations = tuple(Comparison.of(run).configurations[0] for run in runs)
    assert list(draw_fit(Comparison("table", configurations), Options())) == []
    ((name, _),) = draw_fit(Comparison.of(runs[0]), Options())
    assert name == "fit"

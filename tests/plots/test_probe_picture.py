"""The picture of interventions."""

from dataclasses import replace

import numpy as np
import pytest

from attnexp.plots.base import Options
from attnexp.plots.picture_style import Style, of_width
from attnexp.plots.probe_picture import draw_interventions
from attnexp.runs.folder import load_run
from attnexp.runs.probed import HIGH, LEARNED, LOW, Probed, write_probed
from attnexp.select.configurations import Comparison, comparisons

FIELDS = {"primary": "exact_match", "status": "finished"}


def rows(values):
    return [
        Probed("test", "decoded", name, {"exact_match": value}) for name, value in values.items()
    ]


@pytest.fixture
def drawn(write_run):
    def draw(*runs):
        folders = []
        for i, (model, seed, values) in enumerate(runs):
            choices = {"model": model, "data": "reverse"}
            settings = {"seed": seed, "model._target_": model}
            folder = write_run(str(i), settings, choices=choices, **FIELDS)
            write_probed(folder, rows(values))
            folders.append(folder)
        (compared,) = comparisons([load_run(folder) for folder in folders])
        return list(draw_interventions(compared, Options()))

    return draw


ONE = {LEARNED: 1.0, "uniform": 0.1, "hard": 0.6}
HEADS = {"zero=cross.1.1": 0.9, "zero=cross.2.2": 0.4}


def test_a_row_for_each_intervention_and_a_line_where_the_metric_was(drawn):
    ((name, figure),) = drawn(("dot", 0, ONE), ("dot", 1, ONE | {"hard": 0.8}))
    (axes,) = figure.axes
    assert name == "interventions"
    assert [label.get_text() for label in axes.get_yticklabels()] == ["uniform", "hard"]
    learned, *lines = axes.lines
    assert list(learned.get_xdata()) == [1.0, 1.0]
    bars, dots = lines[::2], lines[1::2]
    assert [list(bar.get_xdata()) for bar in bars] == [[0.1, 0.1], [0.6, 0.8]]
    assert [float(np.squeeze(dot.get_xdata())) for dot in dots] == pytest.approx([0.1, 0.7])


def test_one_run_has_the_interval_of_its_change_over_examples(write_run):
    folder = write_run("one", {"seed": 0}, choices={"data": "reverse"}, **FIELDS)
    learned, hard = rows({LEARNED: 1.0, "hard": 0.6})
    ends = {f"exact_match{LOW}": -0.5, f"exact_match{HIGH}": -0.2}
    write_probed(folder, [learned, replace(hard, numbers={**hard.numbers, **ends})])
    ((_, figure),) = draw_interventions(Comparison.of(load_run(folder)), Options())
    _, interval, dot = figure.axes[0].lines
    assert np.asarray(interval.get_xdata()).tolist() == pytest.approx([0.5, 0.8])
    assert float(np.squeeze(dot.get_xdata())) == 0.6


def test_heads_of_one_configuration_are_a_grid_of_layers_and_heads(drawn):
    ((_, figure),) = drawn(("dot", 0, ONE | HEADS))
    grid, dots = figure.axes
    assert [label.get_text() for label in dots.get_yticklabels()] == ["uniform", "hard"]
    (image,) = grid.images
    changes = image.get_array()
    assert changes.shape == (2, 2)
    assert changes[0, 0] == pytest.approx(-0.1)
    assert changes[1, 1] == pytest.approx(-0.6)
    assert np.ma.getmaskarray(changes).tolist() == [[False, True], [True, False]]
    assert grid.get_title() == "cross"
    subtitle = figure.texts[1].get_text()
    assert subtitle.endswith("squares: change of exact_match when the head is taken out")


def test_grids_of_heads_are_below_each_other_in_a_narrow_picture(write_run):
    """Two grids of four heads take 2.8 inches each."""
    folder = write_run("one", {"seed": 0}, choices={"data": "reverse"}, **FIELDS)
    heads = {f"zero={part}.1.{head}": 0.5 for part in ("cross", "encoder") for head in range(1, 5)}
    write_probed(folder, rows(ONE | heads))
    for asked, columns in ((Style(), 2), (of_width(3.3), 1), (of_width(6), 2)):
        comparison = Comparison.of(load_run(folder))
        ((_, figure),) = draw_interventions(comparison, Options(style=asked))
        assert figure.axes[0].get_gridspec().ncols == columns


def test_of_several_configurations_heads_are_rows(drawn):
    ((_, figure),) = drawn(("dot", 0, ONE | HEADS), ("bilinear", 0, ONE | HEADS))
    Style().finish(figure)
    (axes,) = figure.axes
    assert len(axes.get_yticklabels()) == 4
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["bilinear", "dot"]
    assert len({line.get_marker() for line in axes.lines} - {"None"}) == 2


def test_heads_alone_are_rows(drawn):
    ((_, figure),) = drawn(("dot", 0, {LEARNED: 1.0} | HEADS))
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == list(HEADS)


@pytest.mark.parametrize("values", [{}, {LEARNED: 1.0}])
def test_nothing_is_drawn_of_runs_that_were_not_probed(drawn, values):
    """The distance of an adversary has no metric."""
    assert drawn(("dot", 0, values)) == []

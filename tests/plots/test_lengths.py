import numpy as np
import pytest

from attnexp.core.errors import RequestError
from attnexp.plots.base import Options
from attnexp.plots.catalogue import drawn
from attnexp.plots.lengths import draw_lengths
from attnexp.runs.folder import load_run
from attnexp.select.collect import collect
from attnexp.select.configurations import Comparison, comparisons

TRAINED = {"shortest": 3.0, "longest": 5.0}


def details(*shares, first=3, trained=TRAINED):
    by_length = {str(first + i): share for i, share in enumerate(shares)}
    return {"exact_match_by_length": by_length, "lengths_in_training": trained}


def shaded(axes):
    (span,) = axes.patches
    return span.get_x(), span.get_x() + span.get_width()


def test_a_run_has_a_line_and_the_lengths_of_training_shaded(sequence_run):
    """Lengths come as text: 10 stands behind 9."""
    run = load_run(sequence_run(details=details(*[1.0] * 7, 0.5)))
    ((name, figure),) = draw_lengths(Comparison.of(run), Options())
    (axes,) = figure.axes
    (line,) = axes.lines
    assert name == "lengths"
    assert line.get_xdata().tolist() == list(range(3, 11))
    assert line.get_ydata().tolist() == [1.0] * 7 + [0.5]
    assert shaded(axes) == (2.5, 5.5)
    assert line.get_marker() not in ("", "None")


def test_lengths_that_span_a_wide_range_have_a_logarithmic_axis(sequence_run):
    shares = {"16": 1.0, "256": 0.8, "2048": 0.4}
    told = {"exact_match_by_length": shares, "lengths_in_training": TRAINED}
    run = load_run(sequence_run(details=told))
    ((_, figure),) = draw_lengths(Comparison.of(run), Options())
    axes = figure.axes[0]
    assert axes.get_xscale() == "log"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["16", "256", "2,048"]
    assert axes.lines[0].get_xdata().tolist() == [16, 256, 2048]


@pytest.mark.parametrize(
    "told",
    [{}, details(1.0), {"exact_match_by_length": {"3": 1.0, "4": 0.5}}, details(1.0, 0.9, 0.8)],
)
def test_one_length_alone_an_unknown_range_or_that_of_training_is_not_drawn(sequence_run, told):
    run = load_run(sequence_run(details=told))
    assert list(draw_lengths(Comparison.of(run), Options())) == []
    with pytest.raises(RequestError, match="there is no lengths to draw: exact match was not"):
        list(drawn([run], run.folder, kinds=["lengths"]))


def test_configurations_have_a_line_each_and_a_band_over_seeds(sequence_run, tmp_path):
    """Seed 1 of the first has no example of length 5, so its line is drawn at 3 and 4."""
    shares = {("a", 0): (1.0, 0.8, 0.1), ("a", 1): (0.6, 0.4), ("b", 0): (0.5, 0.5, 0.5)}
    for (model, seed), values in shares.items():
        sequence_run(
            f"{model}{seed}",
            seed=seed,
            choices={"model": model},
            details=details(*values, trained={"shortest": 3.0, "longest": 4.0}),
        )
    sequence_run("old", choices={"model": "c"})
    (comparison,) = comparisons(collect([tmp_path]).runs)
    ((_, figure),) = draw_lengths(comparison, Options())
    axes = figure.axes[0]
    drawn = {str(line.get_label()): line for line in axes.lines}
    assert sorted(drawn) == ["a (2 seeds)", "b"]
    assert len({line.get_marker() for line in drawn.values()} - {"", "None"}) == 2
    assert drawn["a (2 seeds)"].get_xdata().tolist() == [3, 4]
    assert np.allclose(drawn["a (2 seeds)"].get_ydata(), [0.8, 0.6])
    assert drawn["b"].get_xdata().tolist() == [3, 4, 5]
    assert len(axes.collections) == 1
    assert shaded(axes) == (2.5, 4.5)

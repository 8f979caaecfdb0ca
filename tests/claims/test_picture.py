"""The picture of a claim's curves."""

import matplotlib.axes
import pytest

from attnexp.claims import picture
from attnexp.claims.evidence import Point
from attnexp.plots.drawn_from import read_drawn
from attnexp.plots.picture_style import Style
from attnexp.plots.style import save
from attnexp.runs.folder import load_run

POINTS = [
    Point(seed, curve, x, (seed + 1) * height / x)
    for seed in (0, 1)
    for curve, height in (("low", 1.0), ("high", 10.0))
    for x in (1.0, 10.0, 100.0)
]


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """Draws points, and returns the axes."""

    def draw(points):
        kept = []

        def keep(figure, paths, runs):
            kept.append(figure)
            save(figure, paths, runs)

        monkeypatch.setattr(picture, "save", keep)
        picture.draw_curves(points, "mine", ("keys", "weight"), tmp_path / "claim.png", Style())
        assert (tmp_path / "claim.png").stat().st_size > 1000
        axes: matplotlib.axes.Axes = kept[0].axes[0]
        return axes

    return draw


def test_a_curve_is_the_mean_over_its_seeds(drawn):
    axes = drawn(POINTS)
    lines = {line.get_label(): line for line in axes.lines}
    assert list(lines) == ["low", "high"]
    assert lines["low"].get_xdata().tolist() == [1, 10, 100]
    assert lines["high"].get_ydata().tolist() == pytest.approx([15, 1.5, 0.15])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("keys", "weight")
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_numbers_of_one_place_are_no_curve(drawn):
    axes = drawn([*POINTS, Point(0, "slope", 5.0, -3.0)])
    assert [line.get_label() for line in axes.lines] == ["low", "high"]
    assert axes.get_yscale() == "log"


def test_zero_and_narrow_ranges_have_plain_axes(drawn):
    axes = drawn([Point(0, "a", float(x), float(x)) for x in range(100)])
    assert (axes.get_xscale(), axes.get_yscale()) == ("linear", "linear")


def test_places_that_a_seed_lacks_are_left_out(drawn):
    axes = drawn([*POINTS, Point(2, "low", 1.0, 6.0), Point(2, "low", 10.0, 0.6)])
    lines = {line.get_label(): line for line in axes.lines}
    assert lines["low"].get_xdata().tolist() == [1, 10]
    assert lines["low"].get_ydata().tolist() == pytest.approx([3, 0.3])


def test_no_two_of_many_curves_look_alike(drawn):
    axes = drawn([Point(0, f"curve {i}", x, x + i) for i in range(20) for x in (1.0, 2.0)])
    looks = {(line.get_color(), line.get_linestyle()) for line in axes.lines}
    assert len(looks) == 20


def test_the_picture_names_the_runs_of_the_claim(regression_run, tmp_path):
    run = load_run(regression_run())
    path = tmp_path / "claim.png"
    picture.draw_curves(POINTS, "mine", ("keys", "weight"), path, Style(), [run])
    assert read_drawn(path).runs == [("0123456789", run.path)]

"""Everything that is drawn lies within its file, whatever its length."""

import numpy as np
import pytest
from matplotlib.image import imread

from attnexp.plots import style
from attnexp.plots.heatmap_grid import draw_grid
from attnexp.runs.attention import Map, MapAxis
from attnexp.select.collect import collect
from attnexp.select.configurations import comparisons

EDGE = 6
"""Pixels at each side of a picture on which nothing is drawn."""


def is_whole(path) -> bool:
    """Whether nothing is cut: the edges of the picture are white."""
    pixels = imread(path)[..., :3]
    inner = np.zeros(pixels.shape[:2], bool)
    inner[EDGE:-EDGE, EDGE:-EDGE] = True
    return bool((pixels[~inner] == 1).all() and (pixels[inner] < 1).any())


def tiny_map() -> Map:
    """Weights whose colour bar has long tick labels."""
    side = MapAxis("source", np.arange(3), symbols=tuple("abc"))
    return Map(np.eye(3) * 1.7e-3, side, side)


def test_the_label_of_a_colour_bar_is_not_cut(tmp_path):
    with style.style_context():
        figure = draw_grid([[tiny_map()] * 4], [list("abcd")], [""], "t", "s")
        style.save(figure, [tmp_path / "grid.png"])
    assert is_whole(tmp_path / "grid.png")


@pytest.mark.parametrize(("place", "inches"), [(-5.0, 5.4), (6.0, 6.7)])
def test_what_stands_far_apart_is_in_the_picture(tmp_path, place, inches):
    with style.style_context():
        figure = style.new_figure(2, 2, "title")
        figure.text(place / 2, 0.5, "far away")
        style.save(figure, [tmp_path / "far.png"])
    assert is_whole(tmp_path / "far.png")
    assert imread(tmp_path / "far.png").shape[1] / style.DPI == pytest.approx(inches, abs=0.3)


def test_a_name_is_at_the_end_of_its_line_and_apart_from_the_others():
    ends = {"low": 0.0, "near": 0.52, "high": 0.5, "top": 1.0}
    with style.style_context():
        figure = style.new_figure(5.6, 3.9, "title")
        axes = style.plot_axes(figure)
        for name, end in ends.items():
            axes.plot([0, 1], [0.5, end], label=name)
        axes.set_ylim(0, 1)
        style.name_lines(axes)
    heights = {text.get_text(): text.get_position()[1] for text in axes.texts}
    assert sorted(heights, key=lambda name: heights[name]) == ["low", "high", "near", "top"]
    assert heights["near"] == pytest.approx(0.52)
    high = style.LINE_HEIGHT / (3.9 - 0.52 - style.HEAD)
    assert heights["near"] - heights["high"] == pytest.approx(high)
    assert heights["low"] == pytest.approx(high / 2)
    assert axes.get_legend() is None


def test_lines_differ_without_colours():
    lines = style.line_styles(8)
    assert len({(line["linestyle"], line["marker"]) for line in lines}) == 8
    assert lines[0]["marker"] == ""


def drawn_ranges(count, points):
    """Lines of three seeds, drawn one after another: their axes."""
    with style.style_context():
        axes = style.plot_axes(style.new_figure(5.6, 3.9, "title"))
        x = np.arange(float(points))
        for place, line in enumerate(style.line_styles(count)):
            values = np.stack([x - 1, x, x + 2])
            style.draw_band(axes, x, values, str(place), line, place, count)
    return axes


def test_three_lines_have_bands_and_four_have_bars_at_different_places():
    assert len(drawn_ranges(3, 32).collections) == 3
    bars = drawn_ranges(4, 32).collections
    starts = [own.get_segments()[0].tolist() for own in bars]
    assert starts == [[[i, i - 1], [i, i + 2]] for i in range(4)]
    assert [len(own.get_segments()) for own in bars] == [8] * 4


def test_bars_of_few_points_are_next_to_each_other():
    axes = drawn_ranges(4, 3)
    places = [own.get_transform().transform((0, 0))[0] for own in axes.collections]
    points = np.diff(places) * 72 / axes.figure.dpi
    np.testing.assert_allclose(points, [style.ASIDE] * 3)


@pytest.mark.parametrize(("better", "grey"), [("lower", [8, 9]), ("higher", [0, 1])])
def test_lines_beyond_the_eight_best_are_grey_and_counted(regression_run, tmp_path, better, grey):
    for width in range(10):
        settings, metrics = {"model.width": 1.0 + width}, {"test_mse": 0.1 + width}
        regression_run(f"{width}", settings=settings, metrics=metrics, better={"test_mse": better})
    (comparison,) = comparisons(collect([tmp_path]).runs)
    lines = style.lines_of(comparison)
    shown = style.best_of(lines)
    assert [i for i, (_, _, line) in enumerate(shown) if line is style.OTHERS] == grey
    named = [name for i, (_, name, _) in enumerate(lines) if i not in grey]
    assert [name for i, (_, name, _) in enumerate(shown) if i not in grey] == named
    assert [shown[i][1] for i in grey] == ["2 others", "_other"]
    assert style.best_of(lines[:8]) == lines[:8]


@pytest.mark.parametrize("count", [2, 60])
def test_a_legend_beside_the_axes_is_whole(tmp_path, count):
    names = [f"model.first_setting={i}, model.another_long_setting_name={i}" for i in range(count)]
    with style.style_context():
        figure = style.new_figure(5.6, 3.9, "title")
        axes = style.plot_axes(figure)
        for name in names:
            axes.plot([0, 1], [0, 1], label=name)
        style.name_lines(axes)
        style.save(figure, [tmp_path / "lines.png"])
    texts = axes.texts if count <= style.DIRECT else axes.get_legend().get_texts()
    shown = [text.get_text() for text in texts]
    assert ["".join(text.split()) for text in shown] == ["".join(name.split()) for name in names]
    assert is_whole(tmp_path / "lines.png")


@pytest.mark.parametrize(
    ("text", "inches", "lines"),
    [
        ("gaussian", 2, ["gaussian"]),
        ("gaussian, width=1", 0.9, ["gaussian,", "width=1"]),
        ("model.hidden_dim=64", 0.9, ["model.", "hidden_dim=", "64"]),
        ("example 1\nlayer 2", 2, ["example 1", "layer 2"]),
        ("", 2, []),
        ("epanechnikov", 0.5, ["epanechnikov"]),
        ("model=epanechnikov", 0.7, ["model=", "epanechnikov"]),
        ("query_key_layer_norm", 0.9, ["query_key_", "layer_norm"]),
        ("adaptive_temperature, k=8", 0.9, ["adaptive_", "temperature,", "k=8"]),
        ("x" * 50, 0.9, ["x" * 24, "x" * 24, "xx"]),
    ],
)
def test_words_are_cut_where_people_would(text, inches, lines):
    assert style.wrapped(text, inches).splitlines() == lines


def test_characters_are_drawn_in_the_next_font_or_named_once(tmp_path, capsys):
    """A circled letter is in a font that comes with matplotlib, a hieroglyph in none."""
    circled, hieroglyph = "\N{CIRCLED LATIN CAPITAL LETTER A}", "\N{EGYPTIAN HIEROGLYPH A001}"
    for _ in range(2):
        with style.style_context():
            figure = style.new_figure(2, 2, f"{circled}{hieroglyph}")
            style.save(figure, [tmp_path / "title.png"])
    said = capsys.readouterr().out
    assert said.startswith(f"note: no installed font has {hieroglyph}, drawn as boxes: install one")
    assert said.count("note:") == 1


def test_fonts_of_a_pdf_are_truetype(tmp_path):
    with style.style_context():
        style.save(style.new_figure(2, 2, "title"), [tmp_path / "title.pdf"])
    content = (tmp_path / "title.pdf").read_bytes()
    assert b"/FontFile2" in content
    assert b"/Type3" not in content


def test_names_are_at_the_ends_of_lines_whose_limits_were_not_set():
    with style.style_context():
        axes = style.plot_axes(style.new_figure(5.6, 3.9, "title"))
        axes.plot([0, 1], [5.0, 0.0], label="falls")
        axes.plot([0, 1], [0.0, 5.0], label="rises")
        style.name_lines(axes)
    heights = {text.get_text(): text.get_position()[1] for text in axes.texts}
    assert heights["rises"] > 0.9
    assert heights["falls"] < 0.1


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ([{"model.width": 1.0}, {"model.width": 2.5}], ["width=1", "width=2.5"]),
        (
            [{"arch.dim": 1, "model.dim": 1}, {"arch.dim": 2, "model.dim": 3}],
            ["model.dim=1, arch.dim=1", "model.dim=3, arch.dim=2"],
        ),
    ],
)
def test_names_are_the_last_parts_of_settings_unless_these_are_shared(
    regression_run, tmp_path, settings, names
):
    for i, own in enumerate(settings):
        regression_run(f"{i}", settings=own)
    (comparison,) = comparisons(collect([tmp_path]).runs)
    assert [name for _, name, _ in style.lines_of(comparison)] == names
    assert style.bands_of(comparison, 2) == "seed 0"

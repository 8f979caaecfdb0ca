"""The style of pictures: size, colours, type, title and names."""

import sys
import warnings
from dataclasses import replace
from io import BytesIO
from itertools import combinations, pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.image import imread

from attnexp.core.errors import RequestError
from attnexp.plots import picture_style, style
from attnexp.plots.heatmap_grid import draw_grid
from attnexp.plots.picture_style import Style
from attnexp.runs.attention import Map, MapAxis


def pixels(asked: Style, label: str = "a line", title: str = "title", kind: str = "png") -> bytes:
    """A file of a picture with one line and a legend."""
    with style.style_context(asked.settings):
        figure = style.new_figure(5.6, 3.9, title, "subtitle")
        axes = style.plot_axes(figure)
        axes.plot([0, 1], [0, 1], color=style.PALETTE[0], label=label)
        axes.plot([0, 1], [1, 0], color=style.INK)
        asked.finish(figure)
        return style.encoded(figure, kind)


def words(content: bytes) -> list[str]:
    return [text for text in ElementTree.fromstring(content).itertext() if text.strip()]


@pytest.mark.parametrize(
    ("text", "inches"),
    [("3.3in", 3.3), ("10 cm", 10 / 2.54), ("100mm", 100 / 25.4), ("240pt", 240 / 72.27)],
)
def test_a_width_has_a_unit(text, inches):
    assert picture_style.inches(text) == pytest.approx(inches)


@pytest.mark.parametrize("text", ["3.3", "in", "-3in", "1in", "41in", "3.3em", "nan in"])
def test_another_text_is_refused(text):
    with pytest.raises(ValueError, match="is not a width from 2in to 40in: write a number and in,"):
        picture_style.inches(text)


@pytest.mark.first(3)
@pytest.mark.check
@pytest.mark.parametrize(
    ("asked", "width", "height"),
    [
        (picture_style.of_width(3.0), 900, None),
        (replace(picture_style.of_width(3.0), dpi=100), 300, None),
        (picture_style.slides(), 1920, 1080),
        (replace(picture_style.slides(), dpi=640), 3840, 2160),
        (picture_style.of_venue("neurips2024"), 1650, None),
        (picture_style.of_venue("icml2024"), 975, None),
        (picture_style.of_venue("beamer_moml"), 1653, 744),
    ],
)
@pytest.mark.parametrize("label", ["a line", "a name that is much longer than a third of it"])
def test_a_picture_has_the_size_that_is_asked_for(asked, width, height, label):
    found = imread(BytesIO(pixels(asked, label)))
    assert found.shape[1] == width
    assert height is None or found.shape[0] == height
    edge = np.concatenate([found[:6].ravel(), found[-6:].ravel(), found[:, -6:].ravel()])
    assert (edge == 1).all()


def test_a_venue_has_its_type_and_its_nearest_name():
    assert picture_style.of_venue("icml2024").sizes["font.size"] == 8
    assert picture_style.of_venue("icml2024").sizes["legend.fontsize"] == 6
    with pytest.raises(RequestError, match=r"--venue: 'nips2024' is not a choice.*'neurips2024'"):
        picture_style.of_venue("nips2024")


def test_a_venue_needs_tueplots(monkeypatch):
    monkeypatch.setitem(sys.modules, "tueplots", None)
    with pytest.raises(RequestError, match=r"--venue needs the package tueplots: pip install 'att"):
        picture_style.of_venue("icml2024")


@pytest.mark.check
@pytest.mark.parametrize("asked", [picture_style.of_width(2.0), Style(2.0, 0.2)])
def test_a_size_that_words_fill_is_refused(asked):
    with style.style_context(asked.settings):
        figure = style.new_figure(20, 4, "title", "subtitle")
        for axes in style.panels(figure, columns=9).flat:
            axes.set_ylabel("a name")
        with pytest.raises(RequestError, match=r"^2in by [\d.]+in is too small for its words"):
            asked.finish(figure)


def test_type_is_smaller_if_axes_would_vanish():
    asked = picture_style.slides()
    with style.style_context(asked.settings):
        figure = style.new_figure(6, 12, "title")
        grid = style.panels(figure, 6)
        for axes in grid.flat:
            axes.set_xlabel("x")
        asked.finish(figure)
    assert grid[0, 0].xaxis.label.get_fontsize() < asked.sizes["axes.labelsize"]
    assert figure.texts[0].get_fontsize() == asked.sizes["figure.titlesize"]
    assert all(axes.bbox.height > 0 for axes in grid.flat)


def test_labels_of_ticks_that_would_overlap_are_left_out():
    asked = picture_style.of_width(2.0)
    with style.style_context(asked.settings):
        figure = style.new_figure(20, 20, "title")
        axes = style.plot_axes(figure)
        axes.set_xticks(range(100), [f"{i:03}" for i in range(100)])
        asked.finish(figure)
    shown = [label for label in axes.get_xticklabels() if label.get_text()]
    assert 2 <= len(shown) < 12
    ends = [label.get_window_extent().intervalx for label in shown]
    assert all(one[1] < other[0] for one, other in pairwise(ends))


def test_a_dark_picture_is_light_on_dark():
    found = (imread(BytesIO(pixels(Style(dark=True)))) * 255).round().astype(int)[..., :3]
    assert found[0, 0].tolist() == [0x11, 0x14, 0x18]
    drawn = {f"#{r:02x}{g:02x}{b:02x}" for r, g, b in found.reshape(-1, 3)}
    assert {"#4a9ee8", "#e8e8e8"} <= drawn
    assert not {style.PALETTE[0], style.INK, "#ffffff"} & drawn


def contrast(one: str, other: str) -> float:
    """The contrast of WCAG 2.1, from 1 to 21."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = [
            x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts
        ]
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def test_colours_are_read_on_the_dark_background():
    for colour in picture_style.ON_DARK.values():
        assert contrast(colour, picture_style.PAPER) > 4.5
    assert len(set(picture_style.ON_DARK.values())) == len(picture_style.ON_DARK)


def test_text_in_a_vector_file_is_text():
    found = words(pixels(Style(), "a line", "The title", "svg"))
    assert {"The title", "subtitle", "a line"} <= set(found)


@pytest.mark.parametrize("asked", [Style(), picture_style.of_width(3.3)])
def test_a_title_is_replaced_or_left_out(asked):
    assert "Mine" in words(pixels(replace(asked, title="Mine"), kind="svg"))
    assert "title" not in words(pixels(replace(asked, title=""), kind="svg"))


def test_a_character_without_a_font_prints_no_warning_of_matplotlib():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pixels(picture_style.of_width(3.3), title="\N{EGYPTIAN HIEROGLYPH A002}")


def finished(figure, asked):
    asked.finish(figure)
    figure.draw_without_rendering()
    return figure


def test_a_narrow_picture_is_higher_so_that_its_maps_keep_their_shape():
    """Next to long labels the maps of a narrow picture have little width, and as little height."""
    asked = picture_style.of_width(3.3)
    side = MapAxis("source", np.arange(8), symbols=tuple("abcdefgh"))
    with style.style_context(asked.settings):
        maps = [[Map(np.eye(8), side, side)] * 2] * 3
        figure = finished(draw_grid(maps, [["one", "two"]], list("abc"), "t", "s"), asked)
    shapes = [axes.bbox.height / axes.bbox.width for axes in figure.axes if axes.images]
    assert shapes == pytest.approx([1.0] * 6, rel=0.15)


@pytest.mark.parametrize("asked", [picture_style.of_width(3.3), picture_style.slides()])
def test_all_rows_of_a_picture_keep_their_names(asked):
    with style.style_context(asked.settings):
        figure = style.new_figure(8, 4, "title")
        axes = style.plot_axes(figure)
        axes.set_gid(style.ROWS)
        axes.set_yticks(range(24), [f"configuration {i}" for i in range(24)])
        finished(figure, asked)
    boxes = [label.get_window_extent().intervaly for label in axes.get_yticklabels()]
    assert all(label.get_text() for label in axes.get_yticklabels())
    assert all(one[1] < other[0] + 1 for one, other in pairwise(boxes))


def test_titles_of_maps_are_not_wider_than_these():
    asked = picture_style.slides()
    side = MapAxis("source", np.arange(3), symbols=tuple("abc"))
    names = [f"temperature={i}" for i in range(6)]
    with style.style_context(asked.settings):
        maps = [[Map(np.eye(3), side, side)] * 6]
        figure = finished(draw_grid(maps, [names], [""], "t", "s"), asked)
    boxes = [axes.title.get_window_extent().intervalx for axes in figure.axes if axes.images]
    assert all(one[1] <= other[0] for one, other in pairwise(boxes))


DEUTERANOPIA = np.array(
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
)
"""What is left of linear red, green and blue: Machado, Oliveira and Fernandes (2009)."""

TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
WHITE = np.array([0.95047, 1.0, 1.08883])
"""Of sRGB and D65."""


def lab(linear) -> np.ndarray:
    """The place in CIELAB of linear red, green and blue."""
    shares = TO_XYZ @ linear / WHITE
    x, y, z = np.where(shares > 216 / 24389, np.cbrt(shares), (24389 / 27 * shares + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def seen(colour: str) -> np.ndarray:
    """The place in CIELAB at which a deuteranope sees a colour #rrggbb."""
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return lab(np.clip(DEUTERANOPIA @ linear, 0, 1))


def test_a_deuteranope_sees_grey_as_it_is_and_red_near_green():
    assert lab(np.ones(3)) == pytest.approx([100, 0, 0], abs=0.01)
    assert seen("#777777") == pytest.approx([50.03, 0, 0], abs=0.05)
    assert abs(seen("#ff0000")[1] - seen("#00ff00")[1]) < 20


@pytest.mark.parametrize("colours", [style.PALETTE, picture_style.LIGHT])
def test_the_colour_blind_see_lines_apart_or_with_other_dashes_and_markers(colours):
    for one, other in combinations(range(len(colours)), 2):
        apart = np.linalg.norm(seen(colours[one]) - seen(colours[other]))
        lines = style.line_styles(len(colours))
        assert lines[one]["marker"] != lines[other]["marker"]
        if max(one, other) < 6:
            assert apart > 15
        assert apart > 15 or lines[one]["linestyle"] != lines[other]["linestyle"]

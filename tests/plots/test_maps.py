"""Pictures of attention: of one run, as it grows, and of configurations compared."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.image import imread
from matplotlib.text import Text

from attnexp.core.errors import RequestError
from attnexp.plots import style
from attnexp.plots.base import Options
from attnexp.plots.heatmap_grid import draw_grid
from attnexp.plots.maps import (
    compare_attention,
    draw_attention,
    draw_growth,
    growth_frames,
    maps_of,
    subtitle_of,
)
from attnexp.plots.picture_style import of_width, slides
from attnexp.runs.attention import Map, MapAxis, View
from attnexp.runs.folder import load_run
from attnexp.select.collect import collect
from attnexp.select.configurations import Comparison, comparisons


def panels(figure):
    """The axes of maps, without that of the colour bar."""
    return [axes for axes in figure.axes if axes.images]


def titles(figure):
    return [title for axes in panels(figure) if (title := axes.get_title())]


def test_a_panel_for_each_head_of_each_layer(sequence_run):
    run = load_run(sequence_run(layers=2, heads=3))
    ((name, figure),) = draw_attention(run, Options())
    assert name == "attention"
    assert titles(figure) == ["head 1", "head 2", "head 3"]
    rows = [words for axes in panels(figure) if "layer" in (words := axes.get_ylabel())]
    assert [row.split("\n")[:2] for row in rows] == [
        ["example 1", "layer 1"],
        ["example 1", "layer 2"],
    ]
    ((_, named),) = draw_attention(run, Options(View(examples=(1, 2))))
    assert len(panels(named)) == 4 * 3


def test_one_head_has_three_examples_next_to_each_other_with_gold_outlined(sequence_run):
    run = load_run(sequence_run())
    ((_, figure),) = draw_attention(run, Options())
    assert titles(figure) == ["example 1", "example 2", "example 3"]
    for axes, one in zip(panels(figure), maps_of(run.attention, View()), strict=True):
        (outlines,) = axes.collections
        places = [path.vertices[:4].mean(axis=0).tolist() for path in outlines.get_paths()]
        assert places == [[gold, at] for at, gold in enumerate(one.gold.tolist()) if gold >= 0]


def test_growth_has_a_row_for_each_configuration_and_at_most_six_epochs(regression_run, tmp_path):
    for width in (1.0, 2.0):
        regression_run(f"w{width}", settings={"model.width": width}, snapshots=range(0, 80, 10))
    (comparison,) = comparisons(collect([tmp_path]).runs)
    ((_, figure),) = draw_growth(comparison, Options())
    assert titles(figure) == [f"epoch {epoch}" for epoch in (0, 10, 30, 40, 60, 70)]
    assert len(panels(figure)) == 2 * 6


def test_compared_regressions_have_their_seeds_in_columns(regression_run, tmp_path):
    for model in ("boxcar", "gaussian"):
        for seed in (0, 1):
            regression_run(f"{model}-{seed}", seed=seed, choices={"model": model})
    (comparison,) = comparisons(collect([tmp_path]).runs)
    ((_, figure),) = compare_attention(comparison, Options())
    assert titles(figure) == ["seed 0", "seed 1"]
    assert len(panels(figure)) == 2 * 2


SIDES = ("test x", "training x")
"""The names of the sides of a map of regression."""


def widths(regression_run, folder, count):
    """The comparison of some widths of one score, each with two seeds."""
    for width in range(1, count + 1):
        for seed in (0, 1):
            regression_run(f"w{width}-{seed}", seed=seed, settings={"model.width": float(width)})
    (comparison,) = comparisons(collect([folder]).runs)
    return comparison


def places(figure):
    """The rows and the columns in which the maps of a drawn figure are, by their corners."""
    figure.draw_without_rendering()
    boxes = [axes.get_position() for axes in panels(figure)]
    return tuple(len({round(getattr(box, side), 2) for box in boxes}) for side in ("y0", "x0"))


def axis_names(figure):
    """The names of the sides of maps that a figure has, each as often as it is written."""
    texts = [text.get_text() for text in figure.findobj(Text) if text.get_visible()]
    return sorted(line for text in texts for line in text.splitlines() if line in SIDES)


@pytest.mark.parametrize("count", [2, 4, 6])
def test_several_widths_of_one_score_are_a_row(regression_run, tmp_path, count):
    ((_, figure),) = compare_attention(widths(regression_run, tmp_path, count), Options())
    assert titles(figure) == [f"width={width}" for width in range(1, count + 1)]
    assert places(figure) == (1, count)
    assert axis_names(figure) == list(SIDES)


@pytest.mark.parametrize(("count", "laid_out"), [(4, (1, 4)), (6, (2, 3)), (8, (2, 4))])
def test_a_slide_has_maps_in_rows_and_names_each_axis_once(
    regression_run, tmp_path, count, laid_out
):
    comparison = widths(regression_run, tmp_path, count)
    options = Options(style=slides())
    with style.style_context(options.style.settings):
        ((_, figure),) = compare_attention(comparison, options)
        options.style.finish(figure)
        assert places(figure) == laid_out
    assert axis_names(figure) == list(SIDES)
    assert tuple(figure.get_size_inches()) == (6.0, 3.375)


@pytest.mark.parametrize(
    ("largest", "kind", "rooted"),
    [((0.02, 0.04, 0.1, 0.47), "numbers", True), ((0.2, 0.3, 0.4), "numbers", False),
     ((0.02, 0.4), "symbols", False)],
)  # fmt: skip
def test_maps_with_far_smaller_weights_are_seen_apart(largest, kind, rooted):
    if kind == "numbers":
        side = MapAxis("x", np.arange(5), numbers=np.arange(5.0))
    else:
        side = MapAxis("x", np.arange(5), symbols=tuple("abcde"))
    maps = [Map(np.full((5, 5), each), side, side) for each in largest]
    figure = draw_grid([maps], [["a"] * len(maps)], [""], "t", "s")
    images = [axes.images[0] for axes in panels(figure)]
    shown = [image.cmap(image.norm(x))[:3] for image, x in zip(images, largest, strict=True)]
    darkest = images[0].cmap(0.0)[:3]
    steps = [np.abs(np.subtract(*pair)).max() for pair in pairwise([darkest, *shown])]
    assert min(steps) > 0.07 or kind == "symbols"
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert ("weight, root scale" in labels) == rooted


@pytest.mark.first(2)
@pytest.mark.check
@pytest.mark.parametrize("count", [6, 20, 40, 64, 120])
def test_labels_of_many_symbols_are_legible(count):
    symbols = tuple(str(i % 20) for i in range(count - 1)) + ("<eos>",)
    side = MapAxis("source and input", np.arange(count), symbols=symbols, parts=(count // 2,))
    with style.style_context():
        figure = draw_grid(
            [[Map(np.eye(count), side, side)] * 4] * 2, [["h"] * 4], [""] * 2, "t", ""
        )
        figure.draw_without_rendering()
        for axes in panels(figure):
            for axis, sides in ((axes.xaxis, "intervalx"), (axes.yaxis, "intervaly")):
                labels = [label for label in axis.get_ticklabels() if label.get_text()]
                boxes = [sorted(getattr(label.get_window_extent(), sides)) for label in labels]
                assert all(one[1] <= other[0] for one, other in pairwise(sorted(boxes)))
                assert all(label.get_fontsize() >= 8 for label in labels)
                shown = [symbols[round(place)] for place in axis.get_majorticklocs()]
                assert [label.get_text() for label in labels] in ([], shown)


def test_compared_sequences_have_the_same_examples_in_columns(sequence_run, tmp_path):
    for model in ("additive", "dot"):
        sequence_run(model, choices={"model": model, "data": "reverse", "arch": "rnn"})
    (comparison,) = comparisons(collect([tmp_path]).runs)
    ((_, figure),) = compare_attention(comparison, Options())
    assert titles(figure) == ["example 1", "example 2", "example 3"]
    assert len(panels(figure)) == 2 * 3
    other = load_run(sequence_run("other", seed=3, settings={"seed": 0, "model.hidden_dim": 9}))
    one = comparison.configurations[0]
    (another,) = Comparison.of(other).configurations
    with pytest.raises(RequestError, match="stored attention on different examples"):
        list(compare_attention(Comparison("reverse", (one, another)), Options()))


def test_compared_heads_are_the_mean_of_the_last_layer_unless_named(sequence_run):
    attention = load_run(sequence_run(layers=2, heads=3)).attention
    last = [attention.map("cross", 0, 1, head).weights for head in range(3)]
    np.testing.assert_allclose(maps_of(attention, View())[0].weights, np.mean(last, axis=0))
    named = maps_of(attention, View(layer=0, head=2))[0]
    assert named.weights.tolist() == attention.map("cross", 0, 0, 2).weights.tolist()


def test_hidden_cells_are_hatched_and_the_subtitle_says_so(sequence_run):
    run = load_run(sequence_run())
    ((_, seen),) = draw_attention(run, Options())
    assert [axes.patch.get_hatch() for axes in panels(seen)] == [None] * 3
    hidden = np.array([[False, True], [False, False]])
    side = MapAxis("input", np.arange(2), symbols=tuple("ab"))
    one = Map(np.array([[1.0, 0.0], [0.0, 1.0]]), side, side, hidden=hidden)
    assert subtitle_of("decoder attention", "", [[one]]).endswith("hatched: hidden by a mask")
    figure = draw_grid([[one]], [[""]], [""], "t", "s")
    (axes,) = panels(figure)
    assert axes.patch.get_hatch()
    assert axes.images[0].get_alpha().tolist() == [[1, 0], [1, 1]]


def test_lines_are_between_the_parts_of_both_sides():
    rows = MapAxis("self", np.arange(3), symbols=tuple("abc"), parts=(1,))
    columns = MapAxis("self", np.arange(3), symbols=tuple("abc"), parts=(2,))
    figure = draw_grid([[Map(np.eye(3), rows, columns)]], [[""]], [""], "t", "s")
    (axes,) = panels(figure)
    places = {(*line.get_xdata(), *line.get_ydata()) for line in axes.lines}
    assert places == {(1.5, 1.5, 0, 1), (0, 1, 0.5, 0.5)}


def test_regression_says_that_a_cell_is_a_point(regression_run):
    ((_, figure),) = draw_attention(load_run(regression_run()), Options())
    assert "a cell per point, in order of x" in figure.texts[1].get_text()
    assert [panels(figure)[0].get_xlabel(), panels(figure)[0].get_ylabel()] == [
        "training x",
        "test x",
    ]


def test_each_frame_of_growth_has_its_epoch_and_the_same_scale(regression_run):
    comparison = Comparison.of(load_run(regression_run(snapshots=(0, 3, 60))))
    figures = list(growth_frames(comparison, Options()))
    heads = [figure.texts[0].get_text() for figure in figures]
    assert heads == [f"gaussian on sine, seed 0, epoch {epoch}" for epoch in (0, 3, 60)]
    assert len({panels(figure)[0].images[0].norm.vmax for figure in figures}) == 1


def test_columns_are_the_number_of_maps_next_to_each_other(sequence_run):
    run = load_run(sequence_run(layers=2, heads=3))
    ((_, figure),) = draw_attention(run, Options(columns=4))
    rows = [{axes.get_subplotspec().rowspan.start for axes in panels(figure)[i : i + 4]}
            for i in (0, 4)]  # fmt: skip
    assert rows == [{0}, {1}]
    names = [["example 1", f"layer {layer}", f"head {h}"] for layer in (1, 2) for h in (1, 2, 3)]
    assert [title.replace("\n", " ").split(", ") for title in titles(figure)] == names


@pytest.mark.check
def test_all_shows_what_is_stored(sequence_run, regression_run, tmp_path):
    everything = Options(most=1000)
    ((_, figure),) = draw_attention(load_run(sequence_run(examples=5)), everything)
    assert titles(figure) == [f"example {i}" for i in range(1, 6)]
    for width in range(1, 6):
        for seed in range(7):
            settings = {"model.width": float(width)}
            regression_run(f"all/{width}-{seed}", seed=seed, settings=settings)
    (comparison,) = comparisons(collect([tmp_path / "all"]).runs)
    ((_, figure),) = compare_attention(comparison, everything)
    assert titles(figure) == [f"seed {seed}" for seed in range(7)]
    assert len(panels(figure)) == 5 * 7
    run = load_run(regression_run("growing", snapshots=range(8)))
    ((_, figure),) = draw_growth(Comparison.of(run), everything)
    assert titles(figure) == [f"epoch {epoch}" for epoch in range(8)]


@pytest.mark.parametrize(("far", "extend", "end"), [(1, "max", 0.1), (3, "neither", 0.9)])
def test_few_far_larger_weights_are_beyond_the_end_of_the_colour_bar(far, extend, end):
    """Of 1,000 weights one is 0.1 per cent, and three are 0.3 per cent."""
    weights = np.full((20, 50), 0.1)
    weights[0, :far] = 0.9
    rows, columns = (MapAxis("x", np.arange(n), numbers=np.arange(float(n))) for n in weights.shape)
    figure = draw_grid([[Map(weights, rows, columns)]], [[""]], [""], "t", "s")
    (image,) = panels(figure)[0].images
    assert (image.cmap.name, image.norm.vmin, image.norm.vmax) == ("viridis", 0, end)
    (bar,) = [axes for axes in figure.axes if not axes.images]
    assert bar._colorbar.extend == extend  # type: ignore[attr-defined]


@pytest.mark.first(1)
@pytest.mark.check
@pytest.mark.parametrize(("rows", "columns", "keys"), [(2, 4, 24), (4, 3, 20), (1, 3, 40)])
def test_a_grid_of_many_symbols_stays_within_a_page(tmp_path, rows, columns, keys):
    side = MapAxis("source", np.arange(keys), symbols=("19",) * keys)
    cells = [[Map(np.eye(keys), side, side)] * columns] * rows
    with style.style_context():
        down = ["positions=sinusoidal"] * rows
        figure = draw_grid(cells, [["head"] * columns], down, "t", "s")
        style.save(figure, [tmp_path / "grid.png"])
        figure.draw_without_rendering()
    high, wide = imread(tmp_path / "grid.png").shape[:2]
    assert wide <= 1600
    assert high <= 1200
    boxes = [
        label.get_window_extent()
        for label in panels(figure)[-1].get_xticklabels()
        if label.get_text()
    ]
    assert all(one.x1 <= other.x0 + 1 for one, other in pairwise(boxes))


def test_numbers_below_a_map_are_apart():
    side = MapAxis("year", np.arange(80), numbers=np.arange(1871.0, 1951.0))
    with style.style_context():
        figure = draw_grid([[Map(np.eye(80), side, side)] * 4], [[""] * 4], [""], "t", "s")
        figure.draw_without_rendering()
    labels = [each for each in panels(figure)[0].get_xticklabels() if each.get_text()]
    boxes = [label.get_window_extent() for label in labels]
    assert len(labels) > 1
    assert all(one.x1 < other.x0 for one, other in pairwise(boxes))


def test_a_narrow_picture_has_fewer_maps_next_to_each_other(sequence_run):
    run = load_run(sequence_run())
    ((_, figure),) = draw_attention(run, Options(style=of_width(3.3)))
    assert titles(figure) == ["example 1", "example 2"]
    ((_, figure),) = draw_attention(run, Options(style=of_width(3.3), most=3))
    assert len(panels(figure)) == 3

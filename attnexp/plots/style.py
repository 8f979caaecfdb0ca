"""The style of all pictures, and how they become files.

Figures are made without pyplot: it costs start-up time and keeps global state.
"""

import io
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from textwrap import wrap
from types import MappingProxyType
from typing import Any

import matplotlib
import matplotlib.style
import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from matplotlib.transforms import Bbox, ScaledTranslation
from numpy.typing import NDArray
from rich.cells import cell_len

from attnexp.core import console
from attnexp.core.errors import shortened_value
from attnexp.core.language import Phrase, Text, counted, numbered, said, say, translate
from attnexp.plots.charts import CurveChart, SeedCurve, all_values, all_x
from attnexp.plots.drawn_from import metadata_of
from attnexp.plots.fonts import add_fonts
from attnexp.plots.lines import names_of, spans_powers
from attnexp.runs.files import DRAWN, write_bytes
from attnexp.runs.folder import Run
from attnexp.select.configurations import Comparison, Configuration
from attnexp.stats.scaled import mean, mean_row

INK, QUIET, FAINT = "#222222", "#5a5a5a", "#8a8a8a"
"""The colours of content, of subtitles and of helper lines."""

WRONG = "#c62828"
"""The colour of symbols that were decoded wrongly."""

HIDDEN = "#ececec"
"""The colour of the ground of cells that a mask hides."""

PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8a6d00", "#6a51a3")
"""Colours that stay apart for the colour-blind: Okabe and Ito (2008), yellow replaced."""

LINES = ("-", "--", "-.", ":")
"""Dashes, by which lines can be told apart without colours."""

MARKERS = ("", "o", "s", "^", "D", "v", "P", "X", "*")
"""Markers, by which thin lines can be told apart."""

MARKS = 8
"""The approximate number of markers on a line."""

BANDS = 3
"""The most lines that have bands. More lines have bars."""

ASIDE = 1.5
"""The distance in points between bars of different lines at the same x."""

OTHERS: Mapping[str, Any] = MappingProxyType(
    {"color": "#b5b5b5", "linestyle": "-", "linewidth": 0.7, "zorder": 1.5}
)
"""The line of a configuration that is not among the best."""

HEADLINE = "title or subtitle"

ROWS = "a name per row"
"""The gid of axes that have a name for each row."""

DIRECT = 8
"""The most lines that are named at their ends."""

LINE_HEIGHT, SPACE = 0.17, 0.08
"""Inches of a line of a name, and the space between names and a legend as a share of the axes."""

DPI = 144

FONTS = ("DejaVu Sans", "STIXGeneral")
"""The fonts of text, which come with matplotlib: the second is used if the first lacks a character.

Characters that both lack are drawn in a font that `add_fonts` finds.
"""

MARGIN = 0.12
"""Inches around a picture."""

STYLE: dict[str, Any] = {
    "font.size": 9,
    "figure.titlesize": 10.5,
    "axes.titlesize": 9,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "hatch.linewidth": 0.5,
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "savefig.bbox": "tight",
    "savefig.dpi": DPI,
    "savefig.pad_inches": MARGIN,
    "svg.fonttype": "none",
    "svg.hashsalt": "attnexp",
    "pdf.fonttype": 42,
}

PLAIN: Mapping[str, Any] = MappingProxyType({})
"""Settings that replace none of the style."""

METADATA: dict[str, dict[str, str | None]] = {
    "png": {"Software": DRAWN},
    "svg": {"Date": None, "Creator": DRAWN},
    "pdf": {"CreationDate": None, "Creator": DRAWN, "Producer": None},
}
"""The metadata of each format: the program that drew it, and no dates."""

COMPRESSION = 3
"""The compression of a PNG. More takes twice the time for files that are 5% to 10% smaller."""

HEAD = 0.62
"""Inches above the axes that title and subtitle take."""

LONGEST = 160
"""The most characters of a title or a name in a picture."""

WORD = 24
"""The most characters of a word that no line break cuts."""

SMALLEST = 5.0
"""The smallest type, in points, for words that do not fit."""

EM = 0.6
"""The mean width of a character, as a part of the font size."""

NAME = 3.0
"""The most inches of a line in a name next to the axes."""

TALLEST = 28
"""The most lines in one column of a legend."""

MISSING = re.compile(r"Glyph (\d+) .*missing from")
"""The warning of matplotlib about a character that no font has."""

Line = Mapping[str, Any]
"""The colour and the dashes of a line."""

NamedLine = tuple[str, Line]


class ShownFigure(Figure):
    """A figure that a notebook displays without pyplot."""

    def _repr_png_(self) -> bytes:
        with style_context():
            return encoded(self)


def new_figure(width: float, height: float, title: str, subtitle: str = "") -> Figure:
    """Return an empty figure of a size in inches, with title and subtitle at the upper left."""
    title, subtitle = shortened_value(title, LONGEST), shortened_value(subtitle, LONGEST)
    figure = ShownFigure(figsize=(width, height))
    FigureCanvasAgg(figure)
    left = 0.12 / width
    size = rcParams["figure.titlesize"]
    place: dict[str, Any] = {"ha": "left", "va": "top", "gid": HEADLINE}
    figure.text(left, 1 - 0.1 / height, title, fontsize=size, weight="bold", **place)
    if subtitle:
        figure.text(left, 1 - 0.31 / height, subtitle, color=QUIET, **place)
    return figure


def panels(figure: Figure, rows: int = 1, columns: int = 1, **options: Any) -> NDArray[Any]:
    """Return axes in rows and columns below the title, placed so that no labels overlap.

    `options` are those of `Figure.subplots`.
    """
    below_title(figure)
    return figure.subplots(rows, columns, squeeze=False, **options)


def below_title(figure: Figure) -> None:
    """Keep all axes of a figure below the title, and place them so that no labels overlap."""
    figure.set_layout_engine("constrained", rect=(0, 0, 1, 1 - HEAD / figure.get_figheight()))


def plot_axes(figure: Figure) -> Axes:
    """Return axes below the title, whose size does not depend on labels or a legend."""
    across, up = figure.get_size_inches()
    return figure.add_axes((0.7 / across, 0.52 / up, 1 - 0.9 / across, 1 - (0.52 + HEAD) / up))


def draw_band(
    axes: Axes,
    x: NDArray[np.float64],
    values: NDArray[np.float64],
    label: str,
    line: Line,
    place: int = 0,
    count: int = 1,
) -> None:
    """Draw the mean over seeds of `values` (seeds, points), and the range over the seeds.

    The line is number `place` of `count`, from 0. The range is a band if there are at most BANDS
    lines, else bars. Bars and markers are at about MARKS points, which differ between lines; lines
    of few points have their bars next to each other. A line of OTHERS has no range. A single point
    is a dot.
    """
    marker = line.get("marker") or ("o" if len(x) == 1 else "")
    every, several = max(len(x) // MARKS, 1), min(count, DIRECT)
    barred = count > BANDS
    first = place % several * every // several if barred else 0
    drawn = {"linewidth": 1.8, **line, "marker": marker, "markevery": (first, every)}
    axes.plot(x, mean_row(values), markersize=4.5, label=label, **drawn)
    if len(values) == 1 or line["color"] == OTHERS["color"]:
        return
    low, high = values.min(axis=0), values.max(axis=0)
    if not barred:
        axes.fill_between(x, low, high, color=line["color"], alpha=0.18, linewidth=0)
        return
    aside = (place % several - (several - 1) / 2) * ASIDE if every == 1 else 0.0
    at = slice(first, None, every)
    shifted = axes.transData + ScaledTranslation(aside / 72, 0, axes.figure.dpi_scale_trans)
    axes.vlines(x[at], low[at], high[at], color=line["color"], linewidth=1.3, transform=shifted)


def log_axis(axes: Axes, name: str, numbers: NDArray[np.float64]) -> None:
    """Make the axis `x` or `y` logarithmic.

    Ticks are at powers of ten, and at 2 and 5 times these if the numbers span less than two powers.
    """
    axis = axes.xaxis if name == "x" else axes.yaxis
    axes.set(**{f"{name}scale": "log"})
    wide = spans_powers(numbers, 100.0)
    axis.set_major_locator(LogLocator(subs=(1.0,) if wide else (1.0, 2.0, 5.0), numticks=8))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def bands_of(comparison: Comparison, count: int) -> str:
    """Return a chart's subtitle: the primary metric of a single run, else what lines mean."""
    if comparison.alone:
        return comparison.alone.primary
    if all(len(one.runs) == 1 for one in comparison.configurations):
        return translate(seed_of(comparison))
    over, spread = seeds_of(comparison), range_of(count)
    return say("line: mean over {seeds}, {range}: smallest to largest", seeds=over, range=spread)


def seeds_of(comparison: Comparison) -> Text:
    """Return how many seeds the configurations have, only the word if the numbers differ."""
    counts = {len(one.runs) for one in comparison.configurations}
    return counted("{count} seed", counts.pop()) if len(counts) == 1 else said("seeds")


def seed_of(comparison: Comparison) -> Phrase:
    """Return the seed of all runs in words, an empty text if there are several."""
    seeds = {seed for one in comparison.configurations for seed in one.seeds}
    return numbered(said("seed"), seeds.pop()) if len(seeds) == 1 else ""


def range_of(count: int) -> Text:
    """Return the word for the range over seeds in a picture of `count` lines: band or bars."""
    return said("band") if count <= BANDS else said("bars")


def line_axes(title: str, subtitle: str) -> tuple[Figure, Axes]:
    """Return a figure for lines, and its axes."""
    figure = new_figure(5.6, 3.9, title, subtitle)
    return figure, plot_axes(figure)


def chart_axes(comparison: Comparison, chart: CurveChart) -> tuple[Figure, Axes, list[NamedLine]]:
    """Return a figure for a chart of configurations, its axes, and the name and line of each."""
    every = lines_of(comparison)
    shown = best_of([every[place] for place in chart.places])
    drawn = line_axes(title_of(comparison, chart.title), bands_of(comparison, len(shown)))
    return *drawn, [(name, line) for _, name, line in shown]


def labelled(curves: Sequence[SeedCurve]) -> list[NamedLine]:
    """Return a name and a line for each curve, from its label."""
    names = [translate(one.label) for one in curves]
    return list(zip(names, line_styles(len(names)), strict=True))


def draw_chart(axes: Axes, chart: CurveChart, lines: Sequence[NamedLine]) -> None:
    """Draw the curves of a chart with the name and line of their configuration; label the axes.

    The parts of a configuration differ in dashes. Only the first part has the name.
    """
    for one in chart.curves:
        if one.place is None:
            label, dashes = translate(one.label), (0, (4, 2))
            axes.plot(one.x, one.values[0], label=label, color=INK, linestyle=dashes, linewidth=1.1)
            continue
        place = chart.places.index(one.place)
        name, line = lines[place]
        if len(chart.parts) > 1:
            line = {**line, "linestyle": LINES[one.part % len(LINES)]}
        draw_band(axes, one.x, one.values, "" if one.part else name, line, place, len(lines))
    axes.set_xlabel(translate(chart.x))
    axes.set_ylabel(translate(chart.y))
    if chart.log_x:
        log_axis(axes, "x", all_x(chart.curves))
    if chart.log:
        log_axis(axes, "y", all_values(chart.curves))


def title_of(comparison: Comparison, shown: Phrase) -> str:
    """Return the title of a picture: that of a single run, else what is shown, and the data."""
    return comparison.alone.title if comparison.alone else translate(comparison.titled(shown))


def lines_of(comparison: Comparison) -> list[tuple[Configuration, str, Line]]:
    """Return each configuration with its name and its line. A single run has no name.

    The names have the number of seeds if configurations differ in it.
    """
    several = comparison.configurations
    names = [""] if comparison.alone else names_of(comparison)
    if len({len(one.runs) for one in several}) > 1:
        names = [_with_seeds(name, one) for name, one in zip(names, several, strict=True)]
    return list(zip(several, names, line_styles(len(several)), strict=True))


def _with_seeds(name: str, one: Configuration) -> str:
    count = len(one.runs)
    seeds = counted("{count} seed", count)
    return say("{name} ({text})", name=name, text=seeds) if count > 1 else name


def best_of(
    lines: Sequence[tuple[Configuration, str, Line]],
) -> list[tuple[Configuration, str, Line]]:
    """Return the lines to draw. If there are more than DIRECT, all but the best DIRECT are grey.

    The best have the best means of the primary metric. The first of the others is named `N others`,
    and legends leave out the rest.
    """
    if len(lines) <= DIRECT:
        return list(lines)
    order = sorted(range(len(lines)), key=lambda i: _rank(lines[i][0]))
    best, found, others = set(order[:DIRECT]), iter(line_styles(DIRECT)), len(lines) - DIRECT
    shown: list[tuple[Configuration, str, Line]] = []
    grey = translate(counted("{count} other", others))
    names = iter([grey, *["_other"] * others])
    for i, (one, name, _) in enumerate(lines):
        shown.append((one, name, next(found)) if i in best else (one, next(names), OTHERS))
    return shown


def _rank(one: Configuration) -> float:
    """Return the mean of the primary metric, negated if higher is better; infinity without one."""
    summary = one.runs[0].summary
    values = [
        run.metrics[name] for run in one.runs if (name := str(summary.primary)) in run.metrics
    ]
    if not values:
        return math.inf
    middle = mean(values)
    return -middle if summary.better.get(str(summary.primary)) == "higher" else middle


def name_lines(axes: Axes, at_ends: bool = True) -> None:
    """Name the lines to the right of the axes, each at the height at which it ends.

    A legend, in the order of drawing, has the names of more than DIRECT lines, of what is not a
    line, and without `at_ends` of everything.
    """
    handles, labels = axes.get_legend_handles_labels()
    named = list(zip(handles, labels, strict=True))
    ends = [
        (line, label)
        for line, label in named
        if isinstance(line, Line2D) and line.get_linestyle() != "None" and np.size(line.get_xdata())
    ]
    top = 1.02
    if at_ends and 1 < len(ends) <= DIRECT:
        top = min(_name_ends(axes, ends) - SPACE, top)
        named = [each for each in named if each not in ends]
    if named:
        names = [wrapped(label, NAME) for _, label in named]
        columns = 1 + sum(name.count("\n") + 1 for name in names) // TALLEST
        marks = [handle for handle, _ in named]
        place: dict[str, Any] = {"bbox_to_anchor": (1.01, top), "borderaxespad": 0}
        axes.legend(marks, names, loc="upper left", ncols=columns, **place)


def _name_ends(axes: Axes, ends: Sequence[tuple[Line2D, str]]) -> float:
    """Draw a piece of each line and its name next to its end, and return the lowest height."""
    figure = axes.get_figure()
    assert figure is not None
    high = axes.get_window_extent().height / figure.dpi
    axes.get_ylim()  # brings the limits, and so transData, up to date
    heights = []
    for line, label in ends:
        x, y = np.asarray(line.get_xdata())[-1], np.asarray(line.get_ydata())[-1]
        up = axes.transAxes.inverted().transform(axes.transData.transform((x, y)))[1]
        lines = wrapped(label, NAME).count("\n") + 1
        heights.append((float(np.clip(np.nan_to_num(up), 0, 1)), lines * LINE_HEIGHT / high))
    placed = _apart([at for at, _ in heights], [size for _, size in heights])
    for (line, label), at in zip(ends, placed, strict=True):
        piece = Line2D(
            [1.02, 1.07], [at, at], transform=axes.transAxes, clip_on=False,
            color=line.get_color(), linestyle=line.get_linestyle(), linewidth=1.8,
            marker=line.get_marker(), markersize=4.5, markevery=[0],
        )  # fmt: skip
        figure.add_artist(piece)
        name = wrapped(label, NAME)
        axes.text(1.085, at, name, transform=axes.transAxes, va="center", fontsize=8.5)
    return min(placed)


def _apart(heights: Sequence[float], sizes: Sequence[float]) -> list[float]:
    """Return heights that are as far apart as the sizes of names need, in the order of `heights`.

    From the top down, each name goes below the one above it. If the lowest name leaves the axes, it
    moves up, and so do those in its way.
    """
    order = sorted(range(len(heights)), key=lambda i: -heights[i])
    placed = dict[int, float]()
    ceiling = math.inf
    for i in order:
        placed[i] = min(heights[i], ceiling - sizes[i] / 2)
        ceiling = placed[i] - sizes[i] / 2
    floor = 0.0
    for i in reversed(order):
        placed[i] = max(placed[i], floor + sizes[i] / 2)
        floor = placed[i] + sizes[i] / 2
    return [placed[i] for i in range(len(heights))]


def text_width(text: str, size: float) -> float:
    """Return the approximate width in inches of a line of text in a font size in points."""
    return cell_len(text) * EM * size / 72


def wrapped(text: str, inches: float) -> str:
    """Return a text in lines of about this many inches, and of at least eight characters.

    A word that is too long is cut after `.`, `_` or `=`, and elsewhere only if more than WORD
    characters have none of these. A text of more than LONGEST characters loses its middle.
    """
    text = shortened_value(text, LONGEST)
    most = max(int(inches / text_width("m", STYLE["font.size"])), 8)
    lines = []
    for line in text.splitlines():
        for row in wrap(line, most, break_long_words=False):
            lines += _parts_of(row, most)
    return "\n".join(lines)


def _parts_of(row: str, most: int) -> list[str]:
    """Return a row cut into parts of at most `most` characters, where `wrapped` allows it."""
    lines: list[str] = []
    for word in re.findall(rf"[^._=]{{1,{WORD}}}[._=]?|[._=]", row):
        if lines and cell_len(lines[-1] + word) <= most:
            lines[-1] += word
        else:
            lines.append(word)
    return lines


def fitting_size(text: str, inches: float, size: float) -> float:
    """Return the size of type in points, at most `size`, at which all lines of a text fit.

    The size is never below SMALLEST.
    """
    taken = max((text_width(line, size) for line in text.splitlines()), default=0.0)
    return max(size * min(1.0, inches / taken), SMALLEST) if taken else size


@contextmanager
def style_context(settings: Mapping[str, Any] = PLAIN) -> Iterator[None]:
    """Draw in our style inside the block, whatever the user's matplotlibrc says.

    `settings` are settings of matplotlib that replace those of the style.
    """
    fonts = {"font.family": list(FONTS)}
    with matplotlib.style.context(["default", STYLE | fonts | dict(settings)]):
        yield


def save(figure: Figure, paths: Sequence[Path], runs: Sequence[Run] = ()) -> None:
    """Write a figure into files in the formats of their endings, each file whole or not at all.

    The metadata of the files say which runs are drawn, and by which command. Characters that no
    installed font has become boxes, and a warning names them.
    """
    for path in paths:
        kind = path.suffix.removeprefix(".")
        content = encoded(figure, kind, metadata_of(kind, runs))
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, content)


def encoded(figure: Figure, kind: str = "png", metadata: Mapping[str, str] = PLAIN) -> bytes:
    """Return a figure as the content of a file. In our style the file is as large as the drawing.

    `metadata` is added to the name of the program that drew the figure.
    """
    add_fonts(figure)
    content = io.BytesIO()
    options: dict[str, Any] = {"metadata": {**METADATA[kind], **metadata}}
    layout: AbstractContextManager[Bbox | None] = nullcontext()
    if kind == "png":
        layout = _laid_out(figure)
        options["pil_kwargs"] = {"compress_level": COMPRESSION}
    recording = warnings.catch_warnings(record=True, action="always", category=UserWarning)
    with recording as caught, layout as box:
        figure.savefig(content, format=kind, bbox_inches=box, **options)
    found = (MISSING.match(str(warning.message)) for warning in caught)
    _warn_of_boxes("".join(sorted({chr(int(match[1])) for match in found if match})))
    return content.getvalue()


@contextmanager
def _laid_out(figure: Figure) -> Iterator[Bbox | None]:
    """Lay a figure out for a PNG, and yield the box of its drawing in inches, None for all of it.

    Inside the block the figure has no layout engine. With an engine, or with a tight box, `savefig`
    would draw the figure twice. Other formats measure text in another way.
    """
    engine, dpi = figure.get_layout_engine(), figure.dpi
    figure.dpi = rcParams["savefig.dpi"]
    if engine is not None:
        engine.execute(figure)
    tight = rcParams["savefig.bbox"] == "tight"
    box = figure.get_tightbbox().padded(rcParams["savefig.pad_inches"]) if tight else None
    figure.set_layout_engine(None)
    try:
        yield box
    finally:
        figure.set_layout_engine(engine)
        figure.dpi = dpi


@cache
def _warn_of_boxes(characters: str) -> None:
    """Warn of characters that are drawn as boxes, once per process."""
    if characters:
        shown = characters if len(characters) <= 10 else f"{characters[:10]}..."
        console.warn(
            f"no installed font has {shown}, drawn as boxes: install one that does, such as "
            "Noto Sans CJK for Chinese, Japanese and Korean"
        )


def line_styles(count: int) -> Sequence[Line]:
    """Return `count` distinct lines: each has a colour, dashes and, but for the first, a marker."""
    return [
        {
            "color": PALETTE[i % len(PALETTE)],
            "linestyle": LINES[(i + i // len(PALETTE)) % len(LINES)],
            "marker": MARKERS[i % len(MARKERS)],
        }
        for i in range(count)
    ]

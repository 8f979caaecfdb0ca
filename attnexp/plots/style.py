"""The look of all pictures, and how they become files.

Figures are made without pyplot: it costs start-up time and keeps global state.
"""

import io
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from numpy.typing import NDArray
from PIL import Image

from attnexp import console
from attnexp.plots.fonts import BASE, advice, families, lacking
from attnexp.runs.files import write_bytes

if TYPE_CHECKING:
    from attnexp.runs.configurations import Comparison

INK, FAINT = "#222222", "#8a8a8a"
"""Colours of what matters and of what only helps."""

PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8a6d00", "#6a51a3")
"""Colours that stay apart for the colour-blind: Okabe and Ito (2008), yellow replaced."""

LINES = ("-", "--", ":", "-.")
"""A second way to tell lines apart, when the colours come round again."""

DPI = 144
"""Dots per inch of a PNG."""

STYLE: dict[str, Any] = {
    "font.family": [BASE],
    "font.size": 9,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.labelsize": 9,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
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
    "lines.solid_capstyle": "round",
    "savefig.dpi": DPI,
    "svg.hashsalt": "attnexp",
    "pdf.fonttype": 42,
}

NO_DATES: dict[str, dict[str, None]] = {
    "png": {},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""Each format, and what matplotlib would write into it that changes from day to day."""

COMPRESSION = 3
"""The effort for a PNG: more takes twice the time for files that are 5% to 10% smaller."""

FORMATS = tuple(NO_DATES)

HEAD = 0.62
"""Inches above the axes for title and subtitle."""

MARGIN = 0.12
"""Inches around what is drawn."""

NAME = 3.0
"""Inches after which a name beside the axes goes on in the next line."""

TALLEST = 28
"""Lines of names in one column beside the axes."""


class ShownFigure(Figure):
    """A figure that a notebook shows without pyplot."""

    def _repr_png_(self) -> bytes:
        with style():
            return encoded(self)


def new_figure(width: float, height: float, title: str, subtitle: str = "") -> Figure:
    """Return an empty figure, sizes in inches, with its title at the upper left."""
    figure = ShownFigure(figsize=(width, height))
    FigureCanvasAgg(figure)
    left = 0.12 / width
    figure.text(left, 1 - 0.1 / height, title, ha="left", va="top", fontsize=10.5, weight="bold")
    if subtitle:
        figure.text(left, 1 - 0.31 / height, subtitle, ha="left", va="top", color="#5a5a5a")
    return figure


def place(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Return axes at a place given in inches from the lower left corner."""
    across, up = figure.get_size_inches()
    return figure.add_axes((left / across, bottom / up, width / across, height / up))


def plot_axes(figure: Figure) -> Axes:
    """Return one pair of axes that fills the figure below its title."""
    across, up = figure.get_size_inches()
    return place(figure, 0.7, 0.52, across - 0.9, up - 0.52 - HEAD)


def draw_band(
    axes: Axes,
    x: NDArray[np.float64],
    values: NDArray[np.float64],
    label: str | None,
    look: Mapping[str, Any],
) -> None:
    """Draw the mean of values (seeds, points), and a band from the smallest to the largest.

    A single point is drawn as a dot.
    """
    marker = "o" if len(x) == 1 else ""
    axes.plot(x, values.mean(axis=0), linewidth=1.8, marker=marker, label=label, **look)
    if len(values) > 1:
        low, high = values.min(axis=0), values.max(axis=0)
        axes.fill_between(x, low, high, color=look["color"], alpha=0.18, linewidth=0)


def bands_of(comparison: "Comparison") -> str:
    """Return the words for lines and bands, empty where no configuration has several seeds."""
    several = any(len(one.runs) > 1 for one in comparison.configurations)
    return "line: mean over seeds, band: smallest to largest" if several else ""


def name_lines(axes: Axes, beside: bool = False) -> None:
    """Draw the legend: where it covers least, or beside the axes in the order of the lines.

    Beside the axes it takes the room that it needs, and long names go on in the next line.
    """
    if not beside:
        axes.legend(loc="best")
        return
    handles, labels = axes.get_legend_handles_labels()
    names = [wrapped(label, NAME) for label in labels]
    lines = sum(name.count("\n") + 1 for name in names)
    axes.legend(
        handles,
        names,
        loc="upper left",
        bbox_to_anchor=(1.01, 1.02),
        borderaxespad=0,
        ncols=1 + lines // TALLEST,
    )


def text_width(text: str, size: float) -> float:
    """Return the inches that a line of text takes, for a font size in points."""
    font = FontProperties(family=families(text), size=size)
    width, _, _ = _renderer().get_text_width_height_descent(text, font, ismath=False)
    return width / DPI


def wrapped(text: str, inches: float, size: float = 9) -> str:
    """Return a text cut into lines that are no wider than this, or eight letters long.

    A word that is too long is cut behind `.`, `_` or `=` where it can be.
    """
    lines = []
    for line in filter(None, text.splitlines()):
        most = max(int(len(line) * inches / text_width(line, size)), 8)
        for row in wrap(line, most, break_long_words=False):
            lines += re.findall(rf".{{1,{most}}}$|.{{1,{most - 1}}}[._=]|.{{{most}}}", row)
    return "\n".join(lines)


def file_word(text: str) -> str:
    """Return text as part of a file name."""
    return re.sub(r"[^\w.=-]+", "_", text).strip("_.")


@contextmanager
def style() -> Iterator[None]:
    """Make the block draw in our style; the user's own matplotlibrc plays no part."""
    defaults = matplotlib.rcParamsDefault
    # Looking at the default backend would import pyplot.
    whole: dict[Any, Any] = {name: defaults[name] for name in defaults if name != "backend"}
    with matplotlib.rc_context(whole | STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # `save` says it
        yield


def save(figure: Figure, paths: Sequence[Path]) -> None:
    """Write a figure into files, each whole or not at all, in the format that its name ends with.

    Letters that no installed font has become boxes, and a warning names them.
    """
    pixels = settle(figure)
    for path in paths:
        kind = path.suffix.removeprefix(".")
        content = _png(pixels) if kind == "png" else _vector(figure, kind)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, content)


def settle(figure: Figure) -> NDArray[np.uint8]:
    """Choose what is chosen when a figure is drawn, the text of ticks and fonts, and draw it.

    Returns what is drawn, as (height, width, RGB). Letters that no installed font has are said in a
    warning.
    """
    pixels = _pixels(figure)  # only then do tick labels have their text
    texts = figure.findobj(Text)
    letters = "".join(text.get_text() for text in texts)
    _tell_lacking(lacking(letters))
    if families(letters) == [BASE]:
        return pixels
    for text in texts:
        text.set_fontfamily(families(text.get_text()))
    return _pixels(figure)


def encoded(figure: Figure) -> bytes:
    """Return a figure that has been settled as a PNG, as large as what is drawn."""
    return _png(_pixels(figure))


def _png(pixels: NDArray[np.uint8]) -> bytes:
    content = io.BytesIO()
    Image.fromarray(pixels).save(content, "png", dpi=(DPI, DPI), compress_level=COMPRESSION)
    return content.getvalue()


def _vector(figure: Figure, kind: str) -> bytes:
    """Return a figure as a file of another format, as large as what is drawn."""
    content = io.BytesIO()
    box = figure.get_tightbbox().padded(MARGIN)
    figure.savefig(content, format=kind, metadata=NO_DATES[kind], bbox_inches=box)
    return content.getvalue()


def _pixels(figure: Figure, beyond: int = 1) -> NDArray[np.uint8]:
    """Return what is drawn, also beyond the edges of the figure, as (height, width, RGB).

    The figure is drawn on a sheet that has some more inches on each side, and then cut. That takes
    less time than to ask all that is drawn for its place first. Only what can stand apart is asked.
    """
    apart = [*figure.texts, *filter(None, (axes.get_legend() for axes in figure.axes))]
    whole = Bbox.union([figure.bbox, *(one.get_window_extent() for one in apart)])
    corners = whole.get_points() / figure.dpi
    near, far = np.floor(corners[0]) - beyond, np.ceil(corners[1]) + beyond
    columns, rows = ((far - near) * DPI).astype(int)
    content = io.BytesIO()
    figure.savefig(content, format="rgba", dpi=DPI, bbox_inches=Bbox([near, far]))
    drawn = np.frombuffer(content.getbuffer(), np.uint8).reshape(rows, columns, 4)
    ink = drawn.view(np.uint32)[..., 0] != np.uint32(0xFFFFFFFF)
    down, across = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    margin = round(MARGIN * DPI)
    top, left = down[0] - margin, across[0] - margin
    bottom, right = down[-1] + margin + 1, across[-1] + margin + 1
    if min(top, left) < 0 or bottom > rows or right > columns:
        return _pixels(figure, 4 * beyond)
    return np.ascontiguousarray(drawn[top:bottom, left:right, :3])


@cache
def _tell_lacking(letters: str) -> None:
    """Warn of letters that cannot be drawn, once a process."""
    if letters:
        console.warn(advice(letters))


@lru_cache(maxsize=1)
def _renderer() -> RendererAgg:
    """Return what measures text."""
    return RendererAgg(1, 1, DPI)


def line_styles(count: int) -> Sequence[dict[str, Any]]:
    """Return as many distinct line looks as asked for, colours first."""
    return [
        {
            "color": PALETTE[i % len(PALETTE)],
            "linestyle": LINES[i // len(PALETTE) % len(LINES)],
        }
        for i in range(count)
    ]

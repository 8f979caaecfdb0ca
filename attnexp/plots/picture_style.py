"""The style of pictures: their size, type, colours, title and names."""

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from matplotlib import rcParams
from matplotlib.artist import Artist
from matplotlib.axis import XAxis, YAxis
from matplotlib.colors import to_hex, to_rgba_array
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator
from matplotlib.transforms import Bbox, BboxBase, offset_copy

from attnexp.core.errors import RequestError, none_of
from attnexp.core.packages import require_package
from attnexp.plots.fonts import add_fonts, add_installed
from attnexp.plots.names import VENUES
from attnexp.plots.style import (
    FAINT,
    FONTS,
    HEAD,
    HEADLINE,
    HIDDEN,
    INK,
    MARGIN,
    MISSING,
    PALETTE,
    QUIET,
    ROWS,
    SMALLEST,
    STYLE,
    WRONG,
    name_lines,
    wrapped,
)
from attnexp.select.renaming import KEPT, Renaming

PAPER, BLACK = "#111418", "#e8e8e8"
"""The background of dark pictures, and the colour of their content."""

LIGHT = ("#4a9ee8", "#f0ad1a", "#1fc08f", "#e094c0", "#f27a33", "#a3dcff", "#c2aa4e", "#a793e6")
"""The colours of lines in dark pictures, in the order of PALETTE."""

ON_DARK = {
    INK: BLACK,
    QUIET: "#b4b8bd",
    FAINT: "#7d848c",
    WRONG: "#ff7b72",
    **dict(zip(PALETTE, LIGHT, strict=True)),
}
"""The colour that takes the place of each of our colours in dark pictures."""

GROUND = {HIDDEN: "#3a3f45"}
"""The colour that takes the place of each colour of grounds in dark pictures."""

DARK = {
    **{name: ON_DARK[value] for name, value in STYLE.items() if value in ON_DARK},
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
}

UNITS = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}
"""The inches of each unit; `pt` is TeX's point."""

NARROWEST, WIDEST = 2.0, 40.0
"""The least and the most inches that a picture may be wide."""

PRINTED = 300
"""The dots per inch of a PNG whose width is given."""

SLIDE, SLIDE_DPI = 6.0, 320
"""The width of a slide in inches, and its dots per inch: 1,920 pixels."""

LEGEND = 0.3
"""The largest share of the width that a legend next to the axes takes. A wider one goes below."""

DIRECT_FROM = 5.0
"""The inches of width from which lines are named at their ends. Narrower pictures have a legend."""

APART = 0.2
"""The least space between labels of ticks, as a part of the size of their type."""

LINE = 1.3
"""The height of a line of text, as a multiple of the size of its type."""

SMALLER, SHRINK = 4, 0.8
"""How many sizes of type are tried to make axes fit, and the ratio of each size to the last."""


@dataclass(frozen=True)
class Style:
    """The style of pictures.

    - `width` is in inches. Without a width, a picture is as large as its words need.
    - `shape` is the height divided by the width. Without it, each picture has its own.
    - `sizes` are matplotlib's settings of the sizes of type.
    - `font` is the font of text, if it is not the default.
    - `dpi` is the number of dots per inch of a PNG.
    - `title` replaces the title of a picture.
    - `names` gives other names to configurations, their settings and metrics.
    """

    width: float | None = None
    shape: float | None = None
    sizes: Mapping[str, float] = field(default_factory=dict)
    dark: bool = False
    font: str | None = None
    dpi: int = STYLE["savefig.dpi"]
    title: str | None = None
    names: Renaming = KEPT

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of matplotlib that differ from those of the default style."""
        settings: dict[str, Any] = {**self.sizes, "savefig.dpi": self.dpi}
        if self.width is not None:
            settings["savefig.bbox"] = None
        if self.font is not None:
            settings["font.family"] = [self.font, *FONTS]
        return settings | DARK if self.dark else settings

    def finish(self, figure: Figure) -> None:
        """Name the lines of a figure, and give it the title, the size and the colours of the style.

        The first text of the figure is its title, the second its subtitle, if there is one.
        """
        for text in figure.texts:
            text.set_text(self.names.sentence(text.get_text()))
        if self.title is not None:
            figure.texts[0].set_text(self.title)
        for axes in figure.axes:
            if axes.get_legend() is None:
                name_lines(axes, at_ends=self.width is None or self.width >= DIRECT_FROM)
        if self.width is not None:
            add_fonts(figure)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", MISSING.pattern)  # `encoded` names them
                _resize(figure, self.width, self.shape)
        if self.dark:
            _recolour(figure)


def inches(text: str) -> float:
    """Return the inches of a width such as `3.3in`.

    Raises ValueError for a text of another form, and for a width outside NARROWEST to WIDEST.
    """
    found = re.fullmatch(rf"\s*(\d+\.?\d*|\.\d+)\s*({'|'.join(UNITS)})\s*", text)
    width = float(found[1]) * UNITS[found[2]] if found else 0.0
    if not NARROWEST <= width <= WIDEST:
        raise ValueError(
            f"'{text}' is not a width from {NARROWEST:g}in to {WIDEST:g}in: write a number and "
            "in, cm, mm or pt, such as 3.3in"
        )
    return width


def check_font(name: str) -> str:
    """Return the name of an installed font. Raises RequestError for one that is not installed."""
    if name not in fontManager.get_font_names():
        add_installed()
    if name not in (installed := sorted(fontManager.get_font_names())):
        raise RequestError(f"--font: {none_of(name, installed)}")
    return name


def of_width(width: float) -> Style:
    """Return the style of pictures of this width, in inches."""
    return Style(width, dpi=PRINTED)


def slides() -> Style:
    """Return the style of slides: 16:9, 1,920 pixels wide, with large type."""
    return Style(SLIDE, 9 / 16, _type_sizes(10.5, 9.5), dpi=SLIDE_DPI)


def of_venue(name: str) -> Style:
    """Return the style that tueplots has for a conference, a journal or a class of slides.

    Taken are the sizes of type and the width of one column, and of slides the height too.

    Raises RequestError for a name that tueplots does not have, and if tueplots is not installed.
    """
    bundles = _bundles()
    if name not in bundles:
        raise RequestError(f"--venue: {none_of(name, bundles)}")
    settings = bundles[name]()
    width, height = settings["figure.figsize"]
    sizes = _type_sizes(*(settings[f"{each}size"] for each in ("font.", "xtick.label")))
    return Style(width, height / width if "beamer" in name else None, sizes, dpi=PRINTED)


def _bundles() -> Mapping[str, Callable[[], Mapping[str, Any]]]:
    """Return the settings of each venue that the installed tueplots has, as functions.

    Raises RequestError if tueplots is not installed.
    """
    require_package("tueplots", "attnexp[venues]", "--venue")
    from tueplots import bundles

    return {name: getattr(bundles, name) for name in VENUES if hasattr(bundles, name)}


def _type_sizes(text: float, ticks: float) -> dict[str, float]:
    return {
        "font.size": text,
        "figure.titlesize": text * 7 / 6,
        "axes.titlesize": text,
        "axes.labelsize": text,
        "xtick.labelsize": ticks,
        "ytick.labelsize": ticks,
        "legend.fontsize": ticks,
    }


def _resize(figure: Figure, width: float, shape: float | None) -> None:
    """Give a figure a size in inches, and place its legends, title, labels and ticks again.

    Raises RequestError if the words of the figure leave no room for its axes.
    """
    across, up = figure.get_size_inches()
    if (engine := figure.get_layout_engine()) is not None:
        engine.execute(figure)
    shapes = [float(axes.bbox.height / axes.bbox.width) for axes in figure.axes]
    figure.set_figwidth(width)
    for axes in figure.axes:
        if engine is None:
            axes.set_subplotspec(figure.add_gridspec()[0])
        axes.title.set_fontsize(rcParams["axes.titlesize"])
    head, below = _place_title(figure), _legend_below(figure)
    height = width * (shape or (up - HEAD) / across) + (0.0 if shape else head + below)
    _lay_out(figure, height, head, below)
    if shape is None and (more := _missing_height(figure, shapes)) > 0:
        _lay_out(figure, height + more, head, below)
    for axes in figure.axes:
        box = _inches(figure, axes.bbox)
        _fit(figure, axes.title, box.width, "width")
        _fit(figure, axes.xaxis.label, box.width, "width")
        _fit(figure, axes.yaxis.label, box.height, "height")
        if axes.get_gid() == ROWS:
            _shrink_rows(axes.yaxis, box.height)
        for axis in (axes.xaxis, axes.yaxis):
            if axes.get_gid() != ROWS and isinstance(axis.get_major_locator(), FixedLocator):
                _thin(axis)


def _missing_height(figure: Figure, shapes: Sequence[float]) -> float:
    """Return the inches of height that axes lack to keep their `shapes` or to name their rows."""
    missing = 0.0
    for axes, shape in zip(figure.axes, shapes, strict=True):
        spec, box = axes.get_subplotspec(), _inches(figure, axes.bbox)
        if spec is None or spec.colspan.start > 0:
            continue
        least = shape * box.width
        if axes.get_gid() == ROWS:
            sizes = [_extent(figure, label).height for label in axes.get_yticklabels()]
            least = max(sizes, default=0.0) * len(sizes)
        missing += max(least - box.height, 0.0)
    return missing


def _fit(figure: Figure, text: Text, inches: float, side: Literal["width", "height"]) -> None:
    """Cut a text that is longer than `inches` into lines, and shrink it if that is not enough."""
    if getattr(_extent(figure, text), side) > inches:
        text.set_text(_wrapped(text, inches))
    taken = float(getattr(_extent(figure, text), side))
    if taken > inches:
        size = float(text.get_fontsize())
        text.set_fontsize(max(size * inches / taken, min(size, SMALLEST)))


def _shrink_rows(axis: YAxis, inches: float) -> None:
    """Make the type of the names of rows so small that all rows fit in `inches`."""
    texts = axis.get_ticklabels()
    lines = sum(text.get_text().count("\n") + 1 for text in texts)
    for text in texts:
        text.set_fontsize(min(float(text.get_fontsize()), 72 * inches / (LINE * max(lines, 1))))


def _lay_out(figure: Figure, height: float, head: float, below: float) -> None:
    """Place the axes between title and legend, in smaller type if there is no room for them.

    Raises RequestError if the smallest type leaves no room either.
    """
    figure.set_figheight(height)
    side, pad = MARGIN / figure.get_figwidth(), 0.0 if below else MARGIN / height
    rect = (side, pad, 1 - 2 * side, 1 - pad - head / height)
    engine = ConstrainedLayoutEngine(rect=rect)
    figure.set_layout_engine(engine)
    for _ in range(SMALLER if height > head + below + MARGIN else 0):
        with warnings.catch_warnings(record=True, action="always", category=UserWarning) as caught:
            engine.execute(figure)
        if not any("not applied" in str(warning.message) for warning in caught):
            return
        for axes in figure.axes:
            for text in axes.findobj(Text):
                text.set_fontsize(float(text.get_fontsize()) * SHRINK)
    width = figure.get_figwidth()
    raise RequestError(f"{width:.3g}in by {height:.3g}in is too small for its words")


def _thin(axis: XAxis | YAxis) -> None:
    """Leave out labels of ticks that would overlap the label before."""
    texts = axis.get_ticklabels()
    labels, ends = [text.get_text() for text in texts], {}
    for i, text in enumerate(texts):
        if labels[i]:
            box = text.get_window_extent()
            ends[i] = sorted(box.intervalx if axis.axis_name == "x" else box.intervaly)
    last = -np.inf
    for i, (low, high) in sorted(ends.items(), key=lambda item: item[1]):
        gap = APART * float(texts[i].get_fontsize()) / 72 * axis.figure.dpi
        labels[i], last = (labels[i], high) if low >= last + gap else ("", last)
    axis.set_ticks(axis.get_majorticklocs(), labels)


def _legend_below(figure: Figure) -> float:
    """Move legends that are too wide below all axes, and return the inches that they take there."""
    taken = 0.0
    for axes in figure.axes:
        legend = axes.get_legend()
        if legend is None or _extent(figure, legend).width <= LEGEND * figure.get_figwidth():
            continue
        handles = [handle for handle in legend.legend_handles if handle is not None]
        texts = [text.get_text() for text in legend.get_texts()]
        columns = max(1, int((figure.get_figwidth() - 2 * MARGIN) / _extent(figure, legend).width))
        moved = figure.legend(handles, texts, loc="outside lower left", ncols=columns)
        legend.remove()
        taken += _extent(figure, moved).height
    return taken


def _place_title(figure: Figure) -> float:
    """Write title and subtitle at the upper left in lines that fit, and return their height."""
    down = MARGIN
    for text in (each for each in figure.texts if each.get_gid() == HEADLINE):
        text.set_text(_wrapped(text, figure.get_figwidth() - 2 * MARGIN))
        place = offset_copy(figure.transFigure, figure, MARGIN, -down, units="inches")
        text.set(position=(0, 1), transform=place)
        if text.get_text():
            down += _extent(figure, text).height + 0.05
    return down + 0.05


def _wrapped(text: Text, width: float) -> str:
    """Return a text cut into lines of about this width in inches, in the size of its type."""
    return wrapped(text.get_text(), width * STYLE["font.size"] / float(text.get_fontsize()))


def _extent(figure: Figure, artist: Artist) -> Bbox:
    return _inches(figure, artist.get_window_extent())


def _inches(figure: Figure, box: BboxBase) -> Bbox:
    return box.transformed(figure.dpi_scale_trans.inverted())


def _recolour(figure: Figure) -> None:
    """Replace our colours in a figure by those of dark pictures.

    Artists that were given a colour by its value do not follow matplotlib's settings.
    """
    replaced = ON_DARK | GROUND
    for artist in figure.findobj():
        written = isinstance(artist, Line2D | Text)
        for part in ("color",) if written else ("facecolor", "edgecolor"):
            if hasattr(artist, f"set_{part}"):
                colours = to_rgba_array(getattr(artist, f"get_{part}")())
                for colour in {to_hex(each) for each in colours} & replaced.keys():
                    getattr(artist, f"set_{part}")(replaced[colour])

"""The look of pictures: their size, type, colours, title and names."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from inspect import getmembers, isfunction
from typing import Any

from matplotlib import rcParams
from matplotlib.artist import Artist
from matplotlib.colors import to_hex, to_rgba_array
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from attnexp.core.errors import RequestError, none_of
from attnexp.plots.lines import names_of
from attnexp.plots.style import FAINT, INK, MARGIN, PALETTE, QUIET, STYLE, wrapped
from attnexp.select.configurations import Comparison

PAPER, BLACK = "#111418", "#e8e8e8"
"""The background of dark pictures, and the colour of their content."""

ON_DARK = {
    INK: BLACK,
    QUIET: "#b4b8bd",
    FAINT: "#7d848c",
    **dict(
        zip(
            PALETTE,
            (
                "#4a9ee8",
                "#f0ad1a",
                "#1fc08f",
                "#e094c0",
                "#f27a33",
                "#a3dcff",
                "#c2aa4e",
                "#a793e6",
            ),
            strict=True,
        )
    ),
}
"""The colour that replaces each colour of ours in dark pictures."""

DARK = {
    **{name: ON_DARK[value] for name, value in STYLE.items() if value in ON_DARK},
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
}

UNITS = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}
"""Inches of a unit; a point is that of TeX."""

NARROWEST, WIDEST = 2.0, 40.0
"""Inches that a picture may be wide."""

PRINTED = 300
"""Dots per inch of a PNG whose width is given."""

SLIDE, SLIDE_DPI = 8.0, 240
"""Inches of the width of a slide, and its dots per inch: 1,920 pixels."""

LEGEND = 0.3
"""The part of the width that a legend next to the axes may take; a wider one is drawn below."""


@dataclass(frozen=True)
class Look:
    """The look of pictures.

    - `width` is in inches. Without one, a picture is as large as its words need.
    - `shape` is the height as a part of the width; without one, it is that of each picture.
    - `sizes` are matplotlib's settings of the sizes of type.
    - `dpi` are the dots per inch of a PNG.
    - `title` replaces the title.
    - `names` are the names of configurations in pictures, by the words that they replace.
    """

    width: float | None = None
    shape: float | None = None
    sizes: Mapping[str, float] = field(default_factory=dict)
    dark: bool = False
    dpi: int = STYLE["savefig.dpi"]
    title: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of matplotlib in which the look differs from others."""
        settings = {**self.sizes, "savefig.dpi": self.dpi}
        if self.width is not None:
            settings["savefig.bbox"] = None
        return settings | DARK if self.dark else settings

    def named(self, text: str) -> str:
        """Return a text with the names of the look."""
        words = sorted(map(re.escape, self.names), key=len, reverse=True)
        if not words:
            return text
        pattern = rf"(?<![\w.=-])(?:{'|'.join(words)})(?![\w=-]|\.\w)"
        return re.sub(pattern, lambda found: self.names[found[0]], text)

    def rename(self, comparison: Comparison) -> Comparison:
        """Return a comparison whose configurations have the names of the look."""
        if not self.names:
            return comparison
        names = zip(comparison.configurations, names_of(comparison), strict=True)
        renamed = [replace(one, label=self.named(name)) for one, name in names]
        return replace(comparison, configurations=tuple(renamed))

    def finish(self, figure: Figure) -> None:
        """Give a figure the title, the size and the colours of the look.

        Its first text is its title, and the second, if there is one, its subtitle.
        """
        title = figure.texts[0]
        title.set_text(self.named(title.get_text()) if self.title is None else self.title)
        if self.width is not None:
            _resize(figure, self.width, self.shape)
        if self.dark:
            _recolour(figure)


def inches(text: str) -> float:
    """Return the inches of a width such as `3.3in`. Raises ValueError for another text."""
    found = re.fullmatch(rf"\s*(\d+\.?\d*|\.\d+)\s*({'|'.join(UNITS)})\s*", text)
    width = float(found[1]) * UNITS[found[2]] if found else 0.0
    if not NARROWEST <= width <= WIDEST:
        raise ValueError(
            f"'{text}' is not a width from {NARROWEST:g}in to {WIDEST:g}in: write a number and "
            "in, cm, mm or pt, such as 3.3in"
        )
    return width


def of_width(width: float) -> Look:
    """Return the look of pictures of a width in inches."""
    return Look(width, dpi=PRINTED)


def slides() -> Look:
    """Return the look of slides: 16:9, 1,920 pixels wide, with large type."""
    return Look(SLIDE, 9 / 16, _type_sizes(14, 12.5, 12.5), dpi=SLIDE_DPI)


def of_venue(name: str) -> Look:
    """Return the look of a conference, a journal or a class of slides, as tueplots has it.

    The sizes are those of the type and of one column; the height is that of slides alone.

    Raises RequestError for a name that tueplots does not have.
    """
    bundles = _bundles()
    if name not in bundles:
        raise RequestError(f"--venue: {none_of(name, bundles)}")
    settings = bundles[name]()
    width, height = settings["figure.figsize"]
    sizes = _type_sizes(*(settings[f"{each}size"] for each in ("font.", "xtick.label")))
    return Look(width, height / width if "beamer" in name else None, sizes, dpi=PRINTED)


def _bundles() -> Mapping[str, Callable[[], Mapping[str, Any]]]:
    """Return the bundles of tueplots. Those on dark ground are the others with other colours."""
    from tueplots import bundles

    return {
        name: bundle
        for name, bundle in getmembers(bundles, isfunction)
        if not name.startswith("_") and not name.endswith("_dark_bg")
    }


def _type_sizes(text: float, ticks: float, legend: float | None = None) -> dict[str, float]:
    return {
        "font.size": text,
        "figure.titlesize": text * 7 / 6,
        "axes.titlesize": text,
        "axes.labelsize": text,
        "xtick.labelsize": ticks,
        "ytick.labelsize": ticks,
        "legend.fontsize": legend or ticks,
    }


def _resize(figure: Figure, width: float, shape: float | None) -> None:
    """Let a figure have a size, in which everything that it shows has its place."""
    across, up = figure.get_size_inches()
    height = width * (shape or up / across)
    figure.set_size_inches(width, height)
    if figure.get_layout_engine() is None:
        for axes in figure.axes:
            axes.set_subplotspec(figure.add_gridspec()[0])
    for axes in figure.axes:
        axes.title.set_fontsize(rcParams["axes.titlesize"])
    below = _legend_below(figure)
    if shape is None:
        height += below
        figure.set_size_inches(width, height)
    head = _place_title(figure)
    side, pad = MARGIN / width, MARGIN / height
    rect = (side, pad, 1 - 2 * side, 1 - pad - head / height)
    figure.set_layout_engine("constrained", rect=rect)


def _legend_below(figure: Figure) -> float:
    """Draw legends that are too wide below all axes, and return the inches that they take."""
    taken = 0.0
    for axes in figure.axes:
        legend = axes.get_legend()
        if legend is None or _extent(legend).width <= LEGEND * figure.get_figwidth():
            continue
        texts = [text.get_text() for text in legend.get_texts()]
        columns = max(1, int((figure.get_figwidth() - 2 * MARGIN) / _extent(legend).width))
        moved = figure.legend(legend.legend_handles, texts, loc="outside lower left", ncols=columns)
        legend.remove()
        taken += _extent(moved).height
    return taken


def _place_title(figure: Figure) -> float:
    """Write title and subtitle at the upper left in lines that fit, and return their inches."""
    width, height = figure.get_size_inches()
    down = MARGIN
    for text in figure.texts[:2]:
        text.set_text(wrapped(text.get_text(), (width - 2 * MARGIN) * 9 / text.get_fontsize()))
        text.set_position((MARGIN / width, 1 - down / height))
        if text.get_text():
            down += _extent(text).height + 0.05
    return down + 0.05


def _extent(artist: Artist) -> Bbox:
    """Return the place of an artist in inches."""
    figure = artist.get_figure(root=True)
    return artist.get_window_extent().transformed(figure.dpi_scale_trans.inverted())


def _recolour(figure: Figure) -> None:
    """Replace our colours, which artists were given by name, by those of dark pictures."""
    for artist in figure.findobj():
        written = isinstance(artist, Line2D | Text)
        for part in ("color",) if written else ("facecolor", "edgecolor"):
            if hasattr(artist, f"set_{part}"):
                colours = to_rgba_array(getattr(artist, f"get_{part}")())
                for colour in {to_hex(each) for each in colours} & ON_DARK.keys():
                    getattr(artist, f"set_{part}")(ON_DARK[colour])

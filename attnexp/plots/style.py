"""The look of all pictures, and how they become files.

Figures are made without pyplot: it costs start-up time and keeps global state.
"""

import io
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from attnexp.runs.files import write_bytes

INK, FAINT = "#222222", "#8a8a8a"
"""Colours of what matters and of what only helps."""

PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8a6d00", "#6a51a3")
"""Colours that stay apart for the colour-blind: Okabe and Ito (2008), yellow replaced."""

LINES = ("-", "--", ":", "-.")
"""A second way to tell lines apart, when the colours come round again."""

STYLE: dict[str, Any] = {
    "font.family": ["DejaVu Sans"],
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
    "savefig.dpi": 144,
    "svg.hashsalt": "attnexp",
    "pdf.fonttype": 42,
}

NO_DATES: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""Each format, and what matplotlib would write into it that changes from day to day."""

HEAD = 0.62
"""Inches above the axes for title and subtitle."""

WIDE, BESIDE = 7.6, 2.1
"""Inches of a picture with names beside its axes, and for these names."""

BANDS = "line: mean over seeds, band: smallest to largest"


def new_figure(width: float, height: float, title: str, subtitle: str = "") -> Figure:
    """An empty figure, sizes in inches, with its title at the upper left."""
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    left = 0.12 / width
    figure.text(left, 1 - 0.1 / height, title, ha="left", va="top", fontsize=10.5, weight="bold")
    if subtitle:
        figure.text(left, 1 - 0.31 / height, subtitle, ha="left", va="top", color="#5a5a5a")
    return figure


def place(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Axes at a place given in inches from the lower left corner."""
    across, up = figure.get_size_inches()
    return figure.add_axes((left / across, bottom / up, width / across, height / up))


def plot_axes(figure: Figure, beside: bool = False) -> Axes:
    """One pair of axes that fills the figure below its title, with room for names beside it."""
    across, up = figure.get_size_inches()
    right = BESIDE if beside else 0.2
    return place(figure, 0.7, 0.52, across - 0.7 - right, up - 0.52 - HEAD)


def name_lines(axes: Axes, beside: bool = False) -> None:
    """The legend: where it covers least, or beside the axes in the order of the lines."""
    if beside:
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.02), borderaxespad=0)
    else:
        axes.legend(loc="best")


def style() -> Any:
    """A context in which figures are made and saved; the user's own matplotlibrc plays no part."""
    defaults = matplotlib.rcParamsDefault
    # Looking at the default backend would import pyplot.
    whole: dict[Any, Any] = {name: defaults[name] for name in defaults if name != "backend"}
    return matplotlib.rc_context(whole | STYLE)


def save(figure: Figure, path: Path) -> None:
    """Write a figure, whole or not at all, in the format that the name ends with."""
    kind = path.suffix.removeprefix(".")
    content = io.BytesIO()
    with warnings.catch_warnings():
        # A symbol that the font lacks is drawn as a box; that is all there is to say about it.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(content, format=kind, metadata=NO_DATES[kind])
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, content.getvalue())


def line_styles(count: int) -> Sequence[dict[str, Any]]:
    """As many distinct line looks as asked for, colours first."""
    return [
        {
            "color": PALETTE[i % len(PALETTE)],
            "linestyle": LINES[i // len(PALETTE) % len(LINES)],
        }
        for i in range(count)
    ]

"""The plots of Dive into Deep Learning, over matplotlib."""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from jaxtyping import Float
from torch import Tensor

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def notebook_display() -> Any:
    """Return IPython's display module if a notebook is running, None otherwise."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return import_module("IPython.display") if hasattr(shell, "kernel") else None


def use_svg_display() -> None:
    """Show the figures of a notebook as SVG. Outside of a notebook it does nothing."""
    if notebook_display():
        from matplotlib_inline.backend_inline import set_matplotlib_formats

        set_matplotlib_formats("svg")


def set_figsize(figsize: tuple[float, float] = (3.5, 2.5)) -> None:
    """Set the width and height of later figures, in inches."""
    from matplotlib import pyplot as plt

    use_svg_display()
    plt.rcParams["figure.figsize"] = figsize


def set_axes(
    axes: Any,
    xlabel: str | None,
    ylabel: str | None,
    xlim: Sequence[float] | None,
    ylim: Sequence[float] | None,
    xscale: str,
    yscale: str,
    legend: Sequence[str] | None,
) -> None:
    """Set labels, limits and scales of axes, with a legend if there is one, and a grid."""
    axes.set(xlabel=xlabel, ylabel=ylabel, xscale=xscale, yscale=yscale)
    axes.set(xlim=xlim, ylim=ylim)
    if legend:
        axes.legend(legend)
    axes.grid()


def plot(
    X: Any,
    Y: Any = None,
    xlabel: str | None = None,
    ylabel: str | None = None,
    legend: Sequence[str] | None = None,
    xlim: Sequence[float] | None = None,
    ylim: Sequence[float] | None = None,
    xscale: str = "linear",
    yscale: str = "linear",
    fmts: Sequence[str] = ("-", "m--", "g-.", "r:"),
    figsize: tuple[float, float] = (3.5, 2.5),
    axes: Any = None,
) -> None:
    """Draw lines: each row of Y against its row of X, or against the only one that X has.

    Without Y, the rows of X are drawn against 0, 1, 2, ... There are at most as many lines as
    `fmts`. The axes are pyplot's current ones if none are given, and are cleared before.
    """
    from matplotlib import pyplot as plt

    xs, ys = _rows(X), None if Y is None else _rows(Y)
    if ys is None:
        xs, ys = [None] * len(xs), xs
    if len(xs) != len(ys):
        xs = xs * len(ys)
    set_figsize(figsize)
    axes = axes if axes is not None else plt.gca()
    axes.cla()
    for x, y, style in zip(xs, ys, fmts, strict=False):
        axes.plot(*([y] if x is None or not len(x) else [x, y]), style)
    set_axes(axes, xlabel, ylabel, xlim, ylim, xscale, yscale, legend)


def _rows(values: Any) -> list[Any]:
    """Return the lines in a tensor, an array, or a list of numbers or of lines."""
    alone = values.ndim == 1 if hasattr(values, "ndim") else not hasattr(values[0], "__len__")
    return [values] if alone else list(values)


class Animator:
    """Lines that grow while a loop trains, of d2l 0.17. `X` and `Y` have the points of each."""

    def __init__(
        self,
        xlabel: str | None = None,
        ylabel: str | None = None,
        legend: Sequence[str] | None = None,
        xlim: Sequence[float] | None = None,
        ylim: Sequence[float] | None = None,
        xscale: str = "linear",
        yscale: str = "linear",
        fmts: Sequence[str] = ("-", "m--", "g-.", "r:"),
        nrows: int = 1,
        ncols: int = 1,
        figsize: tuple[float, float] = (3.5, 2.5),
    ) -> None:
        from matplotlib import pyplot as plt

        use_svg_display()
        self.fig, axes = plt.subplots(nrows, ncols, figsize=figsize, squeeze=False)
        self.axes = list(axes.flat)
        self.fmts = fmts
        self.looks = (xlabel, ylabel, xlim, ylim, xscale, yscale, legend)
        self.X: list[list[float]] = []
        self.Y: list[list[float]] = []

    def add(self, x: Any, y: Any) -> None:
        """Add a point to each line, at one x or at one each. One with None has no point."""
        ys = y if hasattr(y, "__len__") else [y]
        xs = x if hasattr(x, "__len__") else [x] * len(ys)
        self.X = self.X or [[] for _ in ys]
        self.Y = self.Y or [[] for _ in ys]
        for i, (a, b) in enumerate(zip(xs, ys, strict=True)):
            if a is not None and b is not None:
                self.X[i].append(float(a))
                self.Y[i].append(float(b))
        self.axes[0].cla()
        for line_x, line_y, style in zip(self.X, self.Y, self.fmts, strict=False):
            self.axes[0].plot(line_x, line_y, style)
        set_axes(self.axes[0], *self.looks)
        display = notebook_display()
        if display:
            display.display(self.fig)
            display.clear_output(wait=True)


def show_heatmaps(
    matrices: Float[Tensor, "rows columns queries keys"],
    xlabel: str,
    ylabel: str,
    titles: Sequence[str] | None = None,
    figsize: tuple[float, float] = (2.5, 2.5),
    cmap: Any = "Reds",
) -> "Figure":
    """Return a figure of maps in rows and columns, with one scale; a notebook shows it.

    The book's function shows its figure and returns nothing. `titles` are those of the columns.
    """
    from attnexp.plots.style import new_figure

    rows, columns = matrices.shape[:2]
    figure = new_figure(*figsize, title="")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for i, row in enumerate(grid):
        for j, axes in enumerate(row):
            image = axes.imshow(matrices[i, j].detach().cpu().numpy(), cmap=cmap)
            if i == rows - 1:
                axes.set_xlabel(xlabel)
            if j == 0:
                axes.set_ylabel(ylabel)
            if titles:
                axes.set_title(titles[j])
    figure.colorbar(image, ax=grid, shrink=0.6)
    return figure

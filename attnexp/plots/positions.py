"""The picture of the vectors that positions add to symbols."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from attnexp.core.language import numbered, said, say, translate
from attnexp.plots.base import Figures, Options
from attnexp.plots.style import draw_band, line_styles, new_figure, panels
from attnexp.runs.folder import Run

SHOWN = 60
"""The number of positions shown of sinusoids, which have no last one, as in the textbook."""

CURVES = 4
"""The number of dimensions that are drawn as curves."""


def draw_encodings(run: Run, options: Options) -> Figures:
    """Yield the vectors of each table of positions: a heat map, and curves of a few dimensions.

    Zhang et al., "Dive into Deep Learning", section 11.6. Sinusoidal vectors are computed for the
    run's `dim`, learned ones are read from the run. Other positions add no vectors and are not
    drawn.
    """
    for name, table in _tables(run).items():
        side = name.rpartition("_")[0].rpartition(".")[2]
        yield "_".join(filter(None, ["encoding", side])), _figure(run, side, table)


def sinusoids(count: int, dim: int) -> NDArray[np.float64]:
    """Return the sinusoidal vectors (count, dim) of Vaswani et al. (2017), section 3.5."""
    angles = np.arange(count)[:, None] * 10000.0 ** (-np.arange(0, dim, 2) / dim)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(count, dim)


def _tables(run: Run) -> Mapping[str, NDArray[np.float64]]:
    """Return the vectors (positions, dim) of each table of positions, by its parameter's path."""
    kind, dim = run.choices.get("positions"), run.group("arch").get("dim")
    if kind == "sinusoidal" and isinstance(dim, int):
        return {"positions": sinusoids(SHOWN, dim)}
    if kind != "learned":
        return {}
    ending = ".table.weight"
    return {
        name.removesuffix(ending): values.astype(np.float64)
        for name, values in run.parameters.items()
        if name.endswith(f"positions{ending}")
    }


def _figure(run: Run, side: str, table: NDArray[np.float64]) -> Figure:
    count, dim = table.shape
    shown = said("{kind} positions", kind=run.choices["positions"])
    if side:
        shown = said("{shown} of the {side}", shown=shown, side=side)
    figure = new_figure(8.8, 3.7, run.title, translate(shown))
    heat = min(max(2.4 * dim / max(count, 1), 1.2), 2.6)
    ((left, right),) = panels(figure, columns=2, width_ratios=[heat, 5.3 - heat])
    largest = float(np.abs(table).max())
    drawn = left.imshow(table, cmap="RdBu_r", vmin=-largest, vmax=largest, aspect="auto")
    left.spines[:].set_visible(False)
    left.set_xlabel(say("dimension"))
    left.set_ylabel(say("position"))
    figure.colorbar(drawn, ax=left, fraction=0.06).outline.set_visible(False)
    for place, (one, line) in enumerate(zip(_chosen(dim), line_styles(CURVES), strict=False)):
        values = table[None, :, one]
        name = translate(numbered(said("dimension"), one))
        draw_band(right, np.arange(float(count)), values, name, line, place, CURVES)
    right.set_xlabel(say("position"))
    for axis in (left.xaxis, left.yaxis, right.xaxis):
        axis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))
    return figure


def _chosen(dim: int) -> range:
    """Return consecutive dimensions, from the sixth on as in the textbook, if there are enough."""
    first = max(min(6, dim - CURVES), 0)
    return range(first, min(first + CURVES, dim))

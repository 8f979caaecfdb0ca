"""The pictures of a run, drawn from the files in its folder."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from attnexp import record
from attnexp.pictures import canvas
from attnexp.pictures.fit import draw_fit, has_fit
from attnexp.pictures.heatmaps import draw_attention
from attnexp.pictures.losses import draw_losses, loss_columns
from attnexp.pictures.stored import StoredRun

Drawing = Callable[[], Figure]


def draw_run(folder: Path, summary: Mapping[str, Any]) -> None:
    """Draw the fit, the attention and the losses of a run into its folder, as PNG."""
    run = StoredRun(folder, summary)
    with canvas.style():
        for name, draw in pictures(run):
            canvas.save(draw(), folder / record.FIGURES / f"{name}.png")


def pictures(run: StoredRun) -> Iterator[tuple[str, Drawing]]:
    """What there is to draw of a run, by file name: only what its files hold."""
    if has_fit(run):
        yield "fit", partial(draw_fit, run)
    attention = run.attention
    for name in attention.weights:
        file = "attention" if name == attention.main else f"attention_{name}"
        yield file, partial(draw_attention, run, name)
    if loss_columns(run):
        yield "loss", partial(draw_losses, run)

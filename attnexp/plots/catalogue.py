"""Which pictures there are of a run, drawn from the files in its folder."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure

from attnexp.plots import style
from attnexp.plots.attention import draw_attention, draw_growth
from attnexp.plots.columns import asked_columns
from attnexp.plots.fit import draw_fit
from attnexp.plots.fitted import has_fit
from attnexp.plots.losses import draw_losses
from attnexp.runs import files
from attnexp.runs.attention_maps import View
from attnexp.runs.run import Run
from attnexp.runs.summary import Summary


@dataclass(frozen=True)
class Picture:
    """One picture that can be drawn: its kind, its file name without ending, and how."""

    kind: str
    name: str
    draw: Callable[[], Figure]


def draw_run(folder: Path, summary: Summary) -> None:
    """Draw what there is to draw of a run into its folder, as PNG."""
    write(run_pictures(Run(folder, summary), View()), folder / files.FIGURES, ["png"])


def write(pictures: Iterable[Picture], folder: Path, formats: Sequence[str]) -> list[Path]:
    """Draw pictures into a folder, in every format, and return the files."""
    files = []
    with style.style():
        for picture in pictures:
            figure = picture.draw()
            for form in formats:
                files.append(folder / f"{picture.name}.{form}")
                style.save(figure, files[-1])
    return files


def file_word(text: str) -> str:
    """Text as part of a file name."""
    return re.sub(r"[^\w.=-]+", "_", text).strip("_.")


def run_pictures(run: Run, view: View, metric: str | None = None) -> Iterator[Picture]:
    """What there is to draw of a run: only what its files hold."""
    if run.has_attention:
        if has_fit(run):
            yield Picture("fit", "fit", partial(draw_fit, run))
        names = [view.attention] if view.attention else list(run.attention.weights)
        for name in names:
            file = "attention" if name == run.attention.main else f"attention_{file_word(name)}"
            seen = replace(view, attention=name)
            yield Picture("attention", file, partial(draw_attention, run, seen))
    columns = asked_columns([run], metric)
    if columns:
        yield Picture("loss", file_word(metric or "loss"), partial(draw_losses, run, columns))
    if run.snapshots:
        yield Picture("growth", "growth", partial(draw_growth, [("", run)], view, run.title))

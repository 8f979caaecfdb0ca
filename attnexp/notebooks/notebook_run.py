"""A run in Python: its files as objects, its pictures, its trained model."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from attnexp.runs.attention import View
from attnexp.runs.folder import Run
from attnexp.runs.folder import load_run as load_stored
from attnexp.select.reference import path_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from attnexp.architectures.base import Architecture
    from attnexp.core.batch import Batch

SHOWN = ("fit", "attention", "loss")
"""The pictures that a notebook shows of a run, if it has them."""


class NotebookRun(Run):
    """A run that draws itself, is shown by a notebook, and restores its model."""

    def plot(
        self,
        name: str | None = None,
        *,
        attention: str | None = None,
        layer: int | None = None,
        head: int | None = None,
        examples: Sequence[int] = (),
        metric: str | None = None,
    ) -> "Figure":
        """Return a picture by its name, such as `fit`, `attention` or `loss`; else the first.

        `attention`, `layer`, `head` and `examples` choose among the maps, and `metric` is a column
        of metrics.csv in place of the loss. They are those of `attnexp plot`: layers, heads and
        examples count from 1, as the titles of the pictures do.

        Raises RequestError for an unknown picture, and for maps that were not kept.
        """
        from attnexp.plots.base import Options
        from attnexp.plots.catalogue import figure_of

        view = View(attention, _place(layer), _place(head), tuple(one - 1 for one in examples))
        return figure_of(self, name, Options(view, metric))

    @cached_property
    def batch(self) -> "Batch":
        """The test examples whose attention was kept, as tensors that the model takes."""
        import torch

        from attnexp.core.batch import Batch

        return Batch(**{name: torch.tensor(one) for name, one in self.attention.batch.items()})

    def trained_model(self, *trust: str) -> "Architecture":
        """Return the trained model on the CPU, in evaluation mode.

        `model(run.batch, need_weights=True)` computes the stored attention again. A folder may be
        somebody else's, so only attnexp's own classes are built, and those of the modules that
        `trust` names: `run.trained_model("my_scores")`.

        Raises RequestError if the folder names other code, or holds no parameters that fit.
        """
        from attnexp.config.restore import restore
        from attnexp.config.trust import read_trust

        return restore(self.summary, self.folder, read_trust(trust, None)).model

    def _repr_html_(self) -> str:
        """Return the metrics, and the pictures of `SHOWN` that there are."""
        from attnexp.notebooks.html import html
        from attnexp.tables.grid import Grid, Head, Line, Report

        headline = [name for name in self.metrics if self.is_headline(name)]
        lines = [Line([name, self.metrics[name]]) for name in headline]
        status = [] if self.finished else [f"status: {self.status}"]
        heads = [Head("metric"), Head("value", right=True)]
        report = Report([Grid(heads, lines, self.title)], [*status, *self.summary.notes])
        return html(report, self, SHOWN)


def _place(number: int | None) -> int | None:
    return None if number is None else number - 1


def load_run(path: str | Path) -> NotebookRun:
    """Return one run, with its metrics, curves, predictions, attention and pictures.

    `path` is a folder, the beginning of its name, a number from `attnexp results --runs`, or
    `last`; the last three are of the runs below `outputs`.

    Needs neither PyTorch nor the run's own code. Raises RequestError if there is no run.
    """
    stored = load_stored(path_of(str(path)))
    return NotebookRun(stored.path, stored.summary)

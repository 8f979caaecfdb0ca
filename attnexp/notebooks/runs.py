"""Several runs in Python: a sequence with a table and pictures."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from attnexp.core.errors import RequestError, choices_text
from attnexp.notebooks.notebook_run import NotebookRun
from attnexp.runs.key import RESULTS_VERSION
from attnexp.select.collect import collect_asked

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from attnexp.select.configurations import Comparison
    from attnexp.select.frame import Frame

SHOWN = ("attention", "loss")
"""Pictures that a notebook shows of several runs, if all are on the same data."""


class NotebookRuns(tuple[NotebookRun, ...]):
    """Runs in the order of their paths, and sentences about folders that were left out."""

    skipped: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} runs)"

    @cached_property
    def table(self) -> "pd.DataFrame":
        """The runs as a DataFrame, one row per run, with the columns of `load_results`."""
        from attnexp.select.frame import typed

        return typed(self._frame.data)

    def where(self, test: str) -> "NotebookRuns":
        """Return the runs that fit a test, such as `model in [dot, additive] and seed < 3`.

        Raises RequestError for a test that makes no sense, and one that no run fits.
        """
        from attnexp.select.where import fitting

        fits = {run.path for run in fitting(self._frame, test).runs}
        found = NotebookRuns(run for run in self if run.path in fits)
        found.skipped = self.skipped
        return found

    def plot(self, name: str | None = None) -> "Figure":
        """Return a picture of the finished runs side by side, by its name; by default the first.

        Raises RequestError for an unknown picture, and for runs on different data, which share no
        picture.
        """
        from attnexp.plots.catalogue import figure_of

        compared = self.comparisons
        if len(compared) != 1:
            data = choices_text(f"'{one.data}'" for one in compared)
            raise RequestError(
                f"a picture shows finished runs on the same data, and these are on {data}: choose "
                'some by runs.where("data=NAME")'
            )
        return figure_of(compared[0], name)

    @cached_property
    def comparisons(self) -> "list[Comparison]":
        """The finished runs gathered by their data, and then by configuration."""
        from attnexp.select.configurations import comparisons

        return comparisons(self)

    @cached_property
    def _frame(self) -> "Frame":
        from attnexp.select.frame import make_frame

        return make_frame(self)

    def _repr_html_(self) -> str:
        """Return a table with one row per run, and the pictures of `SHOWN` if they share data."""
        from dataclasses import replace

        from attnexp.notebooks.html import html
        from attnexp.select.order import sort_runs
        from attnexp.tables.reports import runs_report

        report = runs_report(sort_runs(self._frame, None), [])
        compared = self.comparisons
        alone = compared[0] if len(compared) == 1 else None
        return html(replace(report, notes=self.skipped), alone, SHOWN)


def load_runs(*paths: str | Path, results_version: int = RESULTS_VERSION) -> NotebookRuns:
    """Return all runs at or below the folders, `outputs` by default, as a sequence.

    Folders that cannot be read, runs of other results versions than `results_version`, and without
    folders those of cards, claims and chapters are left out; `runs.skipped` says which and why.
    Raises RequestError for a path that is not a folder.
    """
    collected = collect_asked(paths, results_version)
    runs = NotebookRuns(NotebookRun(run.path, run.summary) for run in collected.runs)
    runs.skipped = tuple(collected.left_out)
    return runs

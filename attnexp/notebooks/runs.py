"""Several runs for those who write Python: a sequence with a table and pictures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, overload

from attnexp.errors import RequestError, choices_text
from attnexp.notebooks.run import NotebookRun
from attnexp.runs.collection import collect

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from attnexp.runs.configurations import Comparison
    from attnexp.runs.frame import Frame

SHOWN = ("attention", "loss")
"""Pictures that a notebook shows of several runs, where all are on the same data."""


@dataclass(frozen=True, repr=False)
class NotebookRuns(Sequence[NotebookRun]):
    """Runs in the order of their paths, and sentences about folders that were left out."""

    runs: tuple[NotebookRun, ...]
    skipped: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.runs)

    @overload
    def __getitem__(self, place: int) -> NotebookRun: ...

    @overload
    def __getitem__(self, place: slice) -> "NotebookRuns": ...

    def __getitem__(self, place: int | slice) -> "NotebookRun | NotebookRuns":
        if isinstance(place, slice):
            return NotebookRuns(self.runs[place], self.skipped)
        return self.runs[place]

    def __iter__(self) -> Iterator[NotebookRun]:
        return iter(self.runs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} runs)"

    @cached_property
    def table(self) -> "pd.DataFrame":
        """The runs as a DataFrame, a row a run, with the columns of `load_results`."""
        return self._frame.table

    def where(self, test: str) -> "NotebookRuns":
        """Return the runs that fit a test, such as `model in [dot, additive] and seed < 3`.

        Raises RequestError for a test that makes no sense.
        """
        from attnexp.runs.filter import matching

        fits = matching(self._frame, test)
        fitting = (run for run, fit in zip(self.runs, fits, strict=True) if fit)
        return NotebookRuns(tuple(fitting), self.skipped)

    def plot(self, name: str | None = None) -> "Figure":
        """Return a picture of the finished runs side by side, by its name, or the first there is.

        Raises RequestError for a picture that there is not, and for runs on different data, which
        share no picture.
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
        from attnexp.runs.configurations import comparisons

        return comparisons(self.runs)

    @cached_property
    def _frame(self) -> "Frame":
        from attnexp.runs.frame import make_frame

        return make_frame(self.runs)

    def _repr_html_(self) -> str:
        """Return a table with a row a run, and the pictures of `SHOWN` where they share data."""
        from dataclasses import replace

        from attnexp.notebooks.display import html
        from attnexp.runs.order import sort_runs
        from attnexp.tables.tables import runs_report

        report = runs_report(sort_runs(self._frame, None), [])
        compared = self.comparisons
        alone = compared[0] if len(compared) == 1 else None
        return html(replace(report, notes=self.skipped), alone, SHOWN)


def load_runs(*paths: str | Path) -> NotebookRuns:
    """Return all runs at or below the folders, `outputs` by default, as a sequence.

    Folders that cannot be read are left out; `runs.skipped` says which and why. Raises RequestError
    for a path that is not a folder.
    """
    collected = collect(paths or ("outputs",))
    runs = (NotebookRun(run.path, run.summary) for run in collected.runs)
    return NotebookRuns(tuple(runs), tuple(collected.skipped))

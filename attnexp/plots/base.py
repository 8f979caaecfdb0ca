"""The contract of a picture: what it is called, and how it is drawn."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from attnexp.runs.attention_maps import View
from attnexp.runs.run import Run

if TYPE_CHECKING:
    from attnexp.runs.configurations import Comparison


@dataclass(frozen=True)
class Options:
    """What may be asked of a picture: which attention maps, and which column of metrics.csv."""

    view: View = field(default_factory=View)
    metric: str | None = None


Figures = Iterator[tuple[str, Figure]]
"""Figures, each with its file name without ending."""


def no_figures(subject: "Run | Comparison | Sequence[Comparison]", options: Options) -> Figures:
    """Yield nothing: such a picture is not drawn of this subject."""
    yield from ()


@dataclass(frozen=True)
class Picture:
    """A kind of picture.

    - `name` is what `attnexp plot --kind` calls it.
    - `missing` is the sentence that says why there may be none.
    - `of_run` and `of_comparison` yield the figures of a run, and of configurations on the same
      data: none where the files of the runs hold nothing to draw. They raise RequestError for files
      that cannot be read and for options that ask for what is not there. `of_comparisons` does so
      of configurations on all data together.
    """

    name: str
    missing: str
    of_run: Callable[[Run, Options], Figures] = no_figures
    of_comparison: Callable[["Comparison", Options], Figures] = no_figures
    of_comparisons: Callable[[Sequence["Comparison"], Options], Figures] = no_figures

    def figures(
        self, subject: "Run | Comparison | Sequence[Comparison]", options: Options
    ) -> Figures:
        """Yield the figures of a run, of a comparison, or of all comparisons together."""
        if isinstance(subject, Run):
            return self.of_run(subject, options)
        if isinstance(subject, Sequence):
            return self.of_comparisons(subject, options)
        return self.of_comparison(subject, options)

"""The contract of a picture: its name, and the functions that draw it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from matplotlib.figure import Figure

from attnexp.plots.picture_style import Style
from attnexp.runs.attention import View
from attnexp.runs.folder import Run
from attnexp.select.configurations import Comparison

Subject = Run | Comparison | Sequence[Comparison]
"""A run, a comparison of configurations on the same data, or all comparisons together."""


@dataclass(frozen=True)
class Options:
    """What is asked of a picture: which attention maps, which column or metric, and which style.

    `columns` is the number of maps next to each other. `most` is the number of examples, seeds or
    epochs that are shown. None leaves both to the picture.
    """

    view: View = field(default_factory=View)
    metric: str | None = None
    style: Style = field(default_factory=Style)
    columns: int | None = None
    most: int | None = None


Figures = Iterator[tuple[str, Figure]]
"""Figures, each with its file name without ending."""


def no_figures(subject: object, options: Options) -> Figures:
    """Yield nothing: a picture has this function for a subject of which it is not drawn."""
    yield from ()


@dataclass(frozen=True)
class Picture:
    """A kind of picture.

    - `name` is its name in `attnexp plot --kind`.
    - `missing` is a sentence that says why there may be no such picture.
    - `frames` yields the frames of a comparison for an animation, if the picture has one.
    - `of_run`, `of_comparison` and `of_comparisons` yield the figures of a subject, none if the
      files of the runs hold nothing to draw. They raise RequestError for files that cannot be read
      and for options that ask for something missing. Without `of_run`, a run is drawn as a
      comparison of one.
    """

    name: str
    missing: str
    of_run: Callable[[Run, Options], Figures] | None = None
    of_comparison: Callable[[Comparison, Options], Figures] = no_figures
    of_comparisons: Callable[[Sequence[Comparison], Options], Figures] = no_figures
    frames: Callable[[Comparison, Options], Iterator[Figure]] | None = None

    def figures(self, subject: Subject, options: Options) -> Figures:
        """Yield the figures of a run, of a comparison, or of all comparisons together."""
        if isinstance(subject, Sequence):
            return self.of_comparisons(subject, options)
        if isinstance(subject, Comparison):
            return self.of_comparison(subject, options)
        if self.of_run is None:
            return self.of_comparison(Comparison.of(subject), options)
        return self.of_run(subject, options)

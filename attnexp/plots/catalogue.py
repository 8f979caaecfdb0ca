"""The list of all pictures, and how they are written. Adding one is an entry here, and its name."""

from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from attnexp.core import console
from attnexp.core.command import carrying_out
from attnexp.core.errors import RequestError, none_of, with_type
from attnexp.plots.animation import encode_animation
from attnexp.plots.base import Options, Picture, Subject
from attnexp.plots.fit import draw_fit
from attnexp.plots.lengths import draw_lengths
from attnexp.plots.lines import renamed, runs_of
from attnexp.plots.loss import draw_losses
from attnexp.plots.maps import compare_attention, draw_attention, draw_growth, growth_frames
from attnexp.plots.metric import draw_metric
from attnexp.plots.names import PictureName
from attnexp.plots.picture_style import Style
from attnexp.plots.positions import draw_encodings
from attnexp.plots.probe_picture import draw_interventions
from attnexp.plots.ranks import draw_ranks
from attnexp.plots.rate import compare_sizes
from attnexp.plots.style import save, style_context
from attnexp.plots.widths import draw_widths
from attnexp.runs import files
from attnexp.runs.attention import View
from attnexp.runs.folder import Run, load_run
from attnexp.runs.summary import Summary
from attnexp.select.configurations import Comparison, comparisons

PICTURES = (
    Picture(
        PictureName.FIT,
        "no curve was fitted: the data are sequences, or runs with several inputs are compared",
        of_comparison=draw_fit,
    ),
    Picture(PictureName.ATTENTION, "no attention was kept", draw_attention, compare_attention),
    Picture(PictureName.LOSS, "nothing was trained", of_comparison=draw_losses),
    Picture(
        PictureName.WIDTHS,
        "no learned width was checked: it takes a learned kernel that compares the inputs, and "
        "model.check_width=true",
        of_comparison=draw_widths,
    ),
    Picture(
        PictureName.METRIC,
        "there is only one configuration, and nothing to compare it with",
        of_comparison=draw_metric,
    ),
    Picture(
        PictureName.GROWTH,
        "no attention was kept while training: run with train.attention_every=N rerun=true",
        of_comparison=draw_growth,
        frames=growth_frames,
    ),
    Picture(
        PictureName.LENGTHS,
        "exact match was not measured at lengths beyond those of training",
        of_comparison=draw_lengths,
    ),
    Picture(
        PictureName.CONSISTENCY,
        "a rate takes runs of regression at three numbers of training points or more, with the "
        "same data otherwise",
        of_comparisons=compare_sizes,
    ),
    Picture(
        PictureName.RANKS,
        "ranks take six data sets or more, with two configurations or more that rank",
        of_comparisons=draw_ranks,
    ),
    Picture(
        PictureName.INTERVENTIONS,
        "no weights were replaced: `attnexp probe RUN` does that",
        of_comparison=draw_interventions,
    ),
    Picture(
        PictureName.ENCODING,
        "no vectors tell symbols their positions: positions=sinusoidal and learned have them",
        draw_encodings,
    ),
)

TOO_FAR = (
    "Axis limits cannot be NaN or Inf",
    "arange: cannot compute length",
    "Maximum allowed size exceeded",
)
"""The beginnings of errors that matplotlib and NumPy raise if an axis overflows."""

ANIMATED = files.ANIMATED.removeprefix(".")

NOTHING_ASKED = Options()

OF_IMPORTED = "runs that were imported have no model, and only the curves that were recorded"
"""Why imported runs lack most pictures."""


def draw_run(folder: Path, summary: Summary) -> list[Path]:
    """Draw the pictures of a run into its folder, as PNG, and return the files.

    The command in their metadata is that of the run, as another process of a sweep may draw them.
    """
    with carrying_out(summary.command):
        return list(drawn([Run(str(folder), summary)], folder / files.FIGURES))


def draw_comparisons(folders: Sequence[str | Path], into: Path) -> list[Path]:
    """Draw comparisons of the runs in the folders into a folder, as PNG, and return the files."""
    return list(drawn(comparisons([load_run(folder) for folder in folders]), into))


def figure_of(
    subject: Run | Comparison, name: str | None = None, options: Options = NOTHING_ASKED
) -> Figure:
    """Return the picture of this name of a run or a comparison; without a name the first there is.

    Raises RequestError for a name that no picture has, and if there is nothing to draw.
    """
    chosen = [picture for picture in PICTURES if name in (None, picture.name)]
    if name is not None and not chosen:
        raise RequestError(f"picture {none_of(name, [picture.name for picture in PICTURES])}")
    for picture in chosen:
        if (figure := first_figure(picture, subject, options)) is not None:
            return figure
    why = _missing(chosen[0], [subject])
    kind = "nothing to draw" if name is None else f"no {name} to draw: {why}"
    raise RequestError(f"there is {kind}")


def first_figure(
    picture: Picture, subject: Run | Comparison, options: Options = NOTHING_ASKED
) -> Figure | None:
    """Return the first figure of a picture in its final style, None if there is nothing to draw.

    Raises RequestError if the picture cannot be drawn.
    """
    try:
        with style_context(), np.errstate(over="ignore", invalid="ignore"):
            for _, figure in picture.figures(subject, options):
                options.style.finish(figure)
                figure.draw_without_rendering()
                return figure
    except Exception as error:  # stored numbers may be beyond what can be drawn
        raise RequestError(f"no {picture.name}: {_why(error)}") from error
    return None


def first_figures(
    subject: Run | Comparison, names: Collection[str]
) -> Iterator[tuple[str, Figure | str]]:
    """Yield each picture of these names with its first figure, or with why it was not drawn.

    A picture of which there is nothing to draw is left out.
    """
    for picture in PICTURES:
        if picture.name not in names:
            continue
        try:
            if (figure := first_figure(picture, subject)) is not None:
                yield picture.name, figure
        except RequestError as error:
            yield picture.name, str(error)


def drawn(
    subjects: Sequence[Run] | Sequence[Comparison],
    into: Path,
    options: Options = NOTHING_ASKED,
    kinds: Collection[str] = (),
    formats: Sequence[str] = ("png",),
) -> Iterator[Path]:
    """Draw runs or comparisons into a folder, in every format, and yield each file.

    The pictures are those of `kinds`, or all without kinds. With several subjects, the names of
    files end with their data.

    Raises RequestError for a kind of which there is nothing to draw. A picture that cannot be drawn
    raises RequestError after the others are drawn, if it is of a single run or was asked for by
    kind or view; otherwise it is a warning. Raises OSError if the folder cannot be written.
    """
    refused: list[str] = []
    empty = True
    style, still = options.style, [each for each in formats if each != ANIMATED]
    with style_context(style.settings), np.errstate(over="ignore", invalid="ignore"):
        for picture in PICTURES:
            if kinds and picture.name not in kinds:
                continue
            there = False
            for subject, ending in _named(subjects, style):
                try:
                    for name, figure in picture.figures(subject, options):
                        style.finish(figure)
                        paths = [into / f"{name}{ending}.{each}" for each in still]
                        save(figure, paths, _runs_of([subject]))
                        yield from paths
                        there, empty = True, False
                    if ANIMATED in formats and (frames := _frames(picture, subject, options)):
                        path = into / f"{picture.name}{ending}.{ANIMATED}"
                        path.parent.mkdir(parents=True, exist_ok=True)
                        files.write_bytes(path, encode_animation(frames))
                        yield path
                except OSError:
                    raise
                except Exception as error:  # stored numbers may be beyond what can be drawn
                    sentence = f"no {picture.name}{ending}: {_why(error)}"
                    if kinds or options.view != View() or isinstance(subject, Run):
                        refused.append(sentence)
                    else:
                        console.warn_aside(sentence)
            if kinds and not there and not refused:
                raise RequestError(
                    f"there is no {picture.name} to draw: {_missing(picture, subjects)}"
                )
    if empty and not refused and _are_imported(subjects):
        raise RequestError(f"there is nothing to draw: {OF_IMPORTED}")
    if refused:
        raise RequestError("; ".join(dict.fromkeys(refused)))


def _frames(picture: Picture, subject: Subject, options: Options) -> list[Figure]:
    """Return the frames of a picture in their final style, none if it has no animation."""
    if picture.frames is None or isinstance(subject, Sequence):
        return []
    comparison = Comparison.of(subject) if isinstance(subject, Run) else subject
    frames = list(picture.frames(comparison, options))
    for frame in frames:
        options.style.finish(frame)
    return frames


def _missing(picture: Picture, subjects: Sequence[Subject]) -> str:
    """Return the sentence that says why a picture of these subjects is missing."""
    imported = picture.name != "metric" and _are_imported(subjects)
    return OF_IMPORTED if imported else picture.missing


def _are_imported(subjects: Sequence[Subject]) -> bool:
    """Return whether all runs of these subjects were imported."""
    return all(run.summary.imported is not None for run in _runs_of(subjects))


def _runs_of(subjects: Sequence[Subject]) -> list[Run]:
    """Return all runs of some subjects."""
    flat = chain(*(one if isinstance(one, Sequence) else [one] for one in subjects))
    return [*chain(*([one] if isinstance(one, Run) else runs_of(one) for one in flat))]


def _why(error: Exception) -> str:
    if isinstance(error, RequestError):
        return str(error)
    if isinstance(error, OverflowError) or str(error).startswith(TOO_FAR):
        return "its numbers are too large or too far apart to be drawn"
    return with_type(error).partition("\n")[0][:160]


def _named(
    subjects: Sequence[Run] | Sequence[Comparison], style: Style
) -> Iterator[tuple[Subject, str]]:
    """Yield each subject, then all comparisons together, with the end of its file names."""
    shown = [one if isinstance(one, Run) else renamed(one, style.names) for one in subjects]
    for subject in shown:
        yield subject, f"-{files.file_word(subject.data)}" if len(subjects) > 1 else ""
    together = [subject for subject in shown if not isinstance(subject, Run)]
    if together:
        yield together, ""

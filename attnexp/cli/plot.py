"""`attnexp plot`: reads the command line, and draws from the files of runs."""

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from attnexp.cli import arguments
from attnexp.cli.candidates import files as any_path
from attnexp.cli.candidates import several
from attnexp.cli.drawing import StyleOptions, check_animated, check_metric, draw, figures_folder
from attnexp.cli.parser import Argument
from attnexp.cli.renaming import Labels, asked_names
from attnexp.core import console
from attnexp.core.errors import RequestError, choices_text, writable
from attnexp.core.language import LANGUAGES, speaking
from attnexp.plots.names import PictureName
from attnexp.runs import files
from attnexp.runs.key import RESULTS_VERSION

if TYPE_CHECKING:
    from attnexp.runs.folder import Run
    from attnexp.select.configurations import Comparison

FORMATS = [ending.removeprefix(".") for ending in (*files.PICTURES, files.ANIMATED)]

EPILOG = """examples:
  attnexp plot outputs/RUN                       the pictures of a run again
  attnexp plot outputs/RUN --format svg,pdf      fit for a paper
  attnexp plot outputs                           runs compared, bands over seeds
  attnexp plot outputs --kind attention --example 2  one test example
  attnexp plot outputs --venue icml2024 --format pdf  sized for a venue
  attnexp plot outputs --name additive="Bahdanau"  a label in pictures
"""


def pictures_folder(text: str) -> Path:
    """Return the path of a folder for pictures. Raises ArgumentTypeError for the name of a file."""
    try:
        return arguments.folder(text)
    except argparse.ArgumentTypeError as error:
        ending = Path(text).suffix.lower().removeprefix(".")
        form = ending if ending in FORMATS else choices_text(FORMATS)
        raise argparse.ArgumentTypeError(f"{error}, and --format {form} for the pictures") from None


def main(
    paths: arguments.Paths = (),
    *,
    kind: Annotated[
        arguments.Names,
        Argument(choices_text(list(PictureName)), completes=several(lambda: PictureName)),
    ] = (),
    format: Annotated[arguments.Names, Argument(completes=several(lambda: FORMATS))] = ("png",),
    output: Annotated[Path | None, Argument(type=pictures_folder, completes=any_path)] = None,
    where: arguments.Where = None,
    results_version: arguments.ResultsVersion = RESULTS_VERSION,
    metric: str | None = None,
    example: Annotated[tuple[int, ...], Argument(type=arguments.places)] = (),
    attention: arguments.AttentionName = None,
    layer: arguments.Layer = None,
    head: arguments.Place | None = None,
    columns: arguments.Count | None = None,
    every: Annotated[bool, Argument(option="--all")] = False,
    style: StyleOptions,
    lang: arguments.Language = LANGUAGES[0],
    labels: Labels = (),
) -> None:
    """Draw pictures of runs from what they stored.

    Raises RequestError for contradictory options, for missing runs, and for pictures that cannot
    be drawn of them, also if there is not one.

    Args:
        format: png, svg, pdf or gif
        output (DIR): default: the run's own figures/, or figures/ next to the runs
        metric: a column of metrics.csv, for the loss, or a number, such as test_mse,
            probe.hard.exact_match or exact_match_by_length@16, for the metric
        example (N,...): test examples, from 1
        head: default: each, or their mean
        columns: maps of attention next to each other
        every: all test examples, seeds and epochs, not the first or typical ones
    """
    from attnexp.plots.base import Options
    from attnexp.runs.attention import View
    from attnexp.select.collect import OUTPUTS
    from attnexp.select.configurations import comparisons

    view = View(attention, layer, head, example)
    runs = chosen_runs(paths, where, results_version)
    kinds = arguments.check_all(kind, list(PictureName), "kind")
    formats = arguments.check_all(format, FORMATS, "format")
    check_animated(formats, kinds)
    asked = style.asked(asked_names(labels, runs))
    check_metric(runs, metric, kinds)
    folder = output or figures_folder(runs, paths or [Path(OUTPUTS)])
    subjects: Sequence[Run] | Sequence[Comparison] = runs
    if len(runs) > 1:
        subjects = compared = comparisons(runs)
        warn_of_codes(compared, paths)
    with writable("--output", folder), speaking(lang):
        most = sys.maxsize if every else None
        options = Options(view, metric, asked, columns, most)
        is_drawn = draw(subjects, folder, options, kinds, formats)
    if not is_drawn:
        raise RequestError(nothing_to_draw(runs))


def warn_of_codes(compared: "Sequence[Comparison]", paths: Sequence[Path]) -> None:
    """Warn of rows that mix runs of several versions of the user's code, with a remedy."""
    from attnexp.plots.lines import names_of, runs_of
    from attnexp.runs.user_code import code_digits
    from attnexp.select.frame import make_frame, varying
    from attnexp.select.names import short_names

    rows = [
        name
        for each in compared
        for name, one in zip(names_of(each), each.configurations, strict=True)
        if len({code_digits(run.summary.code) for run in one.runs if run.summary.code}) > 1
    ]
    if rows:
        differing = varying(make_frame([run for each in compared for run in runs_of(each)]))
        by = ",".join(short_names(dict.fromkeys(["model", *differing, "code"])).values())
        line = shlex.join(["attnexp", "results", *map(str, paths), "--by", by])
        console.warn(f"rows mix runs of several codes: {'; '.join(rows)}: {line}")


def nothing_to_draw(runs: "Sequence[Run]") -> str:
    """Return a message that there is nothing to draw, with the files that all runs lack."""
    drawn_from = (files.ATTENTION, files.PREDICTIONS, files.METRICS)
    lacking = [
        name for name in drawn_from if not any(os.path.exists(run.folder / name) for run in runs)
    ]
    who = f"{runs[0].folder} holds" if len(runs) == 1 else f"the {len(runs)} runs hold"
    why = f": {who} no {choices_text(lacking)}" if lacking else f" of what {who}"
    return f"there is nothing to draw{why}"


def chosen_runs(paths: Sequence[Path], where: str | None, version: int) -> "list[Run]":
    """Return the runs to draw: the single run that is named, else finished runs below the paths.

    Below paths, only runs of results version `version` that fit `where` and can be drawn count.

    Raises RequestError if there is nothing to draw.
    """
    from attnexp.plots.lines import intact
    from attnexp.runs.folder import load_run
    from attnexp.select.selection import selected

    if len(paths) == 1 and os.path.lexists(paths[0] / files.SUMMARY):
        return [load_run(paths[0])]
    runs = selected(paths, where, version, "plot")
    finished = [run for run in runs if run.finished]
    if not finished:
        raise RequestError(f"none of the {len(runs)} runs has finished: name one to see its losses")
    left = len(runs) - len(finished)
    if left:
        console.warn(f"left out {console.count_text(left, 'run')} that did not finish")
    sound = finished if len(finished) == 1 else intact(finished)[0]
    if not sound:
        raise RequestError(f"none of the {len(finished)} finished runs has files that can be drawn")
    return sound

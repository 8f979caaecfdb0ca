"""`attnexp import`: writes the runs of a CSV file as run folders."""

import argparse
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from attnexp.cli.arguments import Folder, Names
from attnexp.cli.parser import Argument
from attnexp.core import console
from attnexp.core.errors import RequestError
from attnexp.runs.summary import Direction

EVERY = 100
"""After this many runs the progress is shown again."""

GONE = ("wandb", "tensorboard", "mlflow", "trackio")
"""Tools whose runs become a CSV file by a few lines, which `attnexp docs outside` has."""

EPILOG = """examples:
  attnexp import csv runs.csv --settings model,lr --metrics accuracy
  attnexp import csv runs.csv --settings model,lr --metrics loss,hits
  attnexp results imported                     the runs in a table
FILE has a row per run, or is a chart of runs that wandb exported. `attnexp docs
outside` has the lines that make it from wandb, TensorBoard, MLflow and Trackio,
and attnexp.add_run for Python. Which values of a metric are better follows from
its name, or from --better. The first metric of --metrics ranks. A repeat of the
command adds new runs, and replaces those that have changed.
"""


def csv_source(text: str) -> str:
    """Return the text of a source.

    Raises RequestError for a tool in GONE, and says how its runs become a CSV file.
    """
    if text in GONE:
        raise RequestError(
            "`attnexp import` reads CSV alone: `attnexp docs outside` has the lines that make one "
            f"from {text}"
        )
    return text


def direction(text: str) -> tuple[str, Direction]:
    """Return a metric, and which of its values are better, for a text such as `loss=lower`.

    Raises ArgumentTypeError for another text.
    """
    metric, _, way = text.rpartition("=")
    sides: tuple[Direction, ...] = ("lower", "higher")
    for side in sides:
        if metric and side == way:
            return metric, side
    raise argparse.ArgumentTypeError(f"'{text}' is not NAME=higher or NAME=lower")


def main(
    source: Annotated[str, Argument(choices=("csv",), type=csv_source)],
    path: Path,
    *,
    settings: Names | None = None,
    metrics: Names | None = None,
    seed: str | None = None,
    name_as: str | None = None,
    better: Annotated[
        Sequence[tuple[str, Direction]], Argument(action="append", type=direction)
    ] = (),
    output: Folder = Path("imported"),
) -> None:
    """Write the runs of a CSV file as folders.

    Raises RequestError for files that cannot be read and folders that cannot be written. Nothing
    is written then, unless a disk is full.

    Args:
        source: the format
        path: a CSV file, one row per run
        settings: which settings; model is the choice
        metrics: which metrics, the one that ranks first
        seed: the setting that is the seed (seed)
        name_as (SETTING): the setting that the names of the runs become
        better (NAME=higher|lower): which values of a metric are better; can be repeated
        output (FOLDER): where (imported)
    """
    from attnexp.imported.csv_table import read
    from attnexp.imported.outside import SEED, ImportRequest
    from attnexp.imported.selection import select
    from attnexp.imported.write import Imports

    request = ImportRequest(settings, metrics, seed or SEED, dict(better), name_as)
    if not os.path.exists(path):
        raise RequestError(f"{path} is not there")
    with console.status(f"reading {path.name}"):
        runs, notes = read(path, request)
        if not runs:
            raise RequestError(f"{path} holds no runs")
        imports = Imports(output, source, str(path.resolve()))
        selection, decided = select(runs, request, imports.telling())
        imports.require_apart(selection)
    counts: Counter[str] = Counter()
    with console.progress("importing", len(runs)) as advance:
        for done, selected in enumerate(selection, 1):
            counts[imports.write(selected)[1]] += 1
            if done % EVERY == 0:
                advance(done, "")
    _show(counts, output)
    for sentence in decided:
        console.print_line(sentence)
    for sentence in notes:
        console.warn(sentence)
    if gone := imports.gone():
        _warn_of(gone, path)


def _warn_of(gone: Sequence[Path], path: Path) -> None:
    """Warn of runs of an earlier import of a file that the file no longer has."""
    names = ", ".join(str(console.relative(each)) for each in gone[:3])
    console.warn(
        f"{console.count_text(len(gone), 'earlier imported run')} of {path} "
        f"{'is' if len(gone) == 1 else 'are'} not among these: remove what should not count "
        f"({names}{', ...' if len(gone) > 3 else ''})"
    )


def _show(counts: Mapping[str, int], folder: Path) -> None:
    """Print how many runs were written, how many were replaced, and how many stayed."""
    new, replaced, same = counts["new"], counts["replaced"], counts["the same"]
    said = f", replaced {replaced} that had changed" * bool(replaced)
    said += f", and {same} were there" * bool(same)
    where = console.relative(folder)
    console.print_line(f"imported {console.count_text(new, 'run')} into {where}{said}")

"""`attnexp import`: writes the runs of a CSV file as run folders."""

import argparse
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from attnexp.cli.arguments import Arguments, listed
from attnexp.core import console
from attnexp.core.errors import RequestError

EVERY = 100
"""The runs after which the progress is shown anew."""

GONE = ("wandb", "tensorboard", "mlflow", "trackio")
"""The tools whose own readers make a CSV file."""

EPILOG = """examples:
  attnexp import csv runs.csv --settings model,lr --metrics accuracy
  attnexp import csv runs.csv --settings model,lr --metrics loss,hits --better hits=higher
  attnexp results imported                     the runs in a table
FILE has a row per run, or is a chart of runs that wandb exported. `attnexp docs outside` has the
lines that make it from wandb, TensorBoard, MLflow and Trackio, and attnexp.add_run for Python.
Which values of a metric are better follows from its name, or from --better. The first metric of
--metrics ranks. A repeat of the command adds new runs, and replaces those that have changed.
"""


def main(argv: Sequence[str]) -> None:
    """Write the runs that the arguments name as folders.

    Raises RequestError for arguments that make no sense, for files that cannot be read, and for
    folders that cannot be written. Nothing is written then, unless a disk is full.
    """
    arguments = make_parser().parse_intermixed_args(argv)
    from attnexp.imported.csv_table import read
    from attnexp.imported.outside import SEED, ImportRequest
    from attnexp.imported.selection import select
    from attnexp.imported.write import Imports

    path = arguments.path
    request = ImportRequest(
        arguments.settings,
        arguments.metrics,
        arguments.seed or SEED,
        dict(arguments.better),
        arguments.name_as,
    )
    if not os.path.exists(path):
        raise RequestError(f"{path} is not there")
    with console.status(f"reading {path.name}"):
        runs, notes = read(path, request)
        if not runs:
            raise RequestError(f"{path} holds no runs")
        imports = Imports(arguments.output, arguments.source, str(path.resolve()))
        selection, decided = select(runs, request, imports.telling())
        imports.require_apart(selection)
    counts: Counter[str] = Counter()
    with console.progress("importing", len(runs)) as advance:
        for done, selected in enumerate(selection, 1):
            counts[imports.write(selected)[1]] += 1
            if done % EVERY == 0:
                advance(done, "")
    folder = console.relative(arguments.output)
    new, replaced, same = counts["new"], counts["replaced"], counts["the same"]
    said = f", replaced {replaced} that had changed" * bool(replaced)
    said += f", and {same} were there" * bool(same)
    console.print_line(f"imported {console.count_text(new, 'run')} into {folder}{said}")
    for sentence in decided:
        console.print_line(sentence)
    for sentence in notes:
        console.warn(sentence)
    if gone := imports.gone():
        names = ", ".join(str(console.relative(each)) for each in gone[:3])
        console.warn(
            f"{console.count_text(len(gone), 'earlier imported run')} of {path} "
            f"{'is' if len(gone) == 1 else 'are'} not among these: remove what should not count "
            f"({names}{', ...' if len(gone) > 3 else ''})"
        )


def source(text: str) -> str:
    """Return the kind of a source. Raises RequestError for a tool that has a reader of its own."""
    if text in GONE:
        raise RequestError(
            "`attnexp import` reads CSV alone: `attnexp docs outside` has the lines that make one "
            f"from {text}"
        )
    return text


def direction(text: str) -> tuple[str, str]:
    """Return a metric and which of its values are better."""
    metric, _, way = text.rpartition("=")
    if not metric or way not in ("higher", "lower"):
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=higher or NAME=lower")
    return metric, way


def make_parser() -> Arguments:
    """Return the parser of the arguments."""
    parser = Arguments("import", "Write the runs of a CSV file as folders.", EPILOG)
    parser.add_argument("source", type=source, choices=("csv",), help="the format")
    parser.add_argument("path", type=Path, metavar="FILE", help="a CSV file, one row per run")
    parser.add_argument(
        "--settings", type=listed, metavar="NAME,...", help="which settings; model is the choice"
    )
    parser.add_argument(
        "--metrics", type=listed, metavar="NAME,...", help="which metrics, the one that ranks first"
    )
    parser.add_argument("--seed", metavar="NAME", help="the setting that is the seed (seed)")
    parser.add_argument(
        "--name-as", metavar="SETTING", help="the setting that the names of the runs become"
    )
    parser.add_argument(
        "--better",
        type=direction,
        action="append",
        default=[],
        metavar="NAME=higher|lower",
        help="which values of a metric are better; can be repeated",
    )
    parser.add_argument(
        "--output", type=Path, default=Path("imported"), metavar="FOLDER", help="where (imported)"
    )
    return parser

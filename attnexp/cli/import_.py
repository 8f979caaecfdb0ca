"""`attnexp import`: writes the runs of other tools as run folders."""

import argparse
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from attnexp.cli.arguments import Arguments, listed
from attnexp.core import console
from attnexp.core.errors import RequestError
from attnexp.imported.sources import SOURCES

EPILOG = """examples:
  attnexp import csv runs.csv --settings model --metrics accuracy
  attnexp import csv runs.csv --settings model,lr --metrics loss,hits --better hits=higher
  attnexp results imported                     the runs in a table
PATH is, for {}.
Higher values are better of a metric whose name contains accuracy, acc, f1, bleu, match or score,
and lower values of any other; --better says otherwise. The first metric ranks.
A repeat of the command adds only the runs that are not there yet.
"""


def main(argv: Sequence[str]) -> None:
    """Write the runs that the arguments name as folders.

    Raises RequestError for arguments that make no sense, for files that cannot be read, and for
    folders that cannot be written. Nothing is written then, unless a disk is full.
    """
    arguments = make_parser().parse_intermixed_args(argv)
    from attnexp.imported.outside import SEED, Request
    from attnexp.imported.write import write_run

    tool, better = arguments.source, dict(arguments.better)
    request = Request(arguments.settings, arguments.metrics, arguments.seed or SEED, better)
    if not arguments.path.exists():
        raise RequestError(f"{arguments.path} is not there")
    runs = import_module(SOURCES[tool][0]).read(arguments.path, request)
    if not runs:
        raise RequestError(f"{arguments.path} holds no runs")
    known = {name for run in runs for name in run.metrics}
    if unknown := sorted(set(better) - known):
        raise RequestError(f"--better: '{unknown[0]}' is not among the metrics that are imported")
    new = sum(write_run(run, arguments.output, tool, request) for run in runs)
    before = f", and {len(runs) - new} were there" if new < len(runs) else ""
    folder = console.relative(arguments.output)
    console.say(f"imported {new} run{'' if new == 1 else 's'} into {folder}{before}")


def direction(text: str) -> tuple[str, str]:
    """Return a metric and which of its values are better."""
    metric, _, way = text.rpartition("=")
    if not metric or way not in ("higher", "lower"):
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=higher or NAME=lower")
    return metric, way


def make_parser() -> Arguments:
    """Return the parser of the arguments."""
    paths = "; ".join(f"{tool}, {path}" for tool, (_, path) in SOURCES.items())
    parser = Arguments("import", "Write the runs of other tools as folders.", EPILOG.format(paths))
    parser.add_argument("source", choices=tuple(SOURCES), help="the tool")
    parser.add_argument("path", type=Path, metavar="PATH", help="its file or folder")
    parser.add_argument(
        "--settings", type=listed, metavar="NAME,...", help="which settings; model is the choice"
    )
    parser.add_argument(
        "--metrics", type=listed, metavar="NAME,...", help="which metrics, the one that ranks first"
    )
    parser.add_argument("--seed", metavar="NAME", help="the setting that is the seed (seed)")
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

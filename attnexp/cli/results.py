"""`attnexp results`: compares runs in tables."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from attnexp.cli.arguments import (
    Arguments,
    add_judgement,
    add_output,
    add_results_version,
    add_runs,
    add_where,
    asked_output,
    count,
    limit,
    listed,
)
from attnexp.cli.renaming import add_names, asked_names
from attnexp.core import console
from attnexp.core.errors import RequestError
from attnexp.tables.formats import emit
from attnexp.tables.grid import ROWS, Report

if TYPE_CHECKING:
    from attnexp.runs.folder import Run

LISTING = "attnexp results --runs --format csv"

OF_ROWS = ("by", "equal_within", "looks", "explain", "costs")
"""The arguments that a table with one row per run has no use for."""

EPILOG = """examples:
  attnexp results                              all runs below outputs/, seeds gathered
  attnexp results --runs --sort test_mse       one row per run, the best first
  attnexp results --top 5                      the five best rows, verdicts of all
  attnexp results --by model                   one row per model, whatever else was set
  attnexp results --where "data=sine and model in [gaussian, boxcar]"
  attnexp results --metric probe.hard.exact_match    stored by `attnexp probe`
  attnexp results --metric exact_match_by_length@5   a detail at a place
  attnexp results --name additive=Bahdanau     another name for a row
  attnexp results --output table.tex           also .csv, .md, .json and .txt
  attnexp results --output dates.tex --label tab:dates --digits 3 --columns mean,interval
"""


def main(argv: Sequence[str]) -> None:
    """Show the runs that the arguments name.

    Raises RequestError for arguments that make no sense and a file that cannot be written.
    """
    arguments = make_parser().parse_intermixed_args(argv)
    output = asked_output(arguments)
    if arguments.runs:
        check_ungathered(arguments)
    from attnexp.select.collect import OUTPUTS, collect
    from attnexp.select.selection import say_left_out

    paths = arguments.paths or [OUTPUTS]
    collected = collect(paths, arguments.results_version)
    say_left_out(collected)
    if not collected.runs:
        places = ", ".join(map(str, paths))
        sentence = f"There are no runs below {places} yet: `attnexp` makes one."
        if output.form == "json":
            console.warn_aside(sentence)
            emit(Report(), output)
        else:
            console.print_line(sentence)
        return
    if arguments.limit is None:
        arguments.limit = ROWS if output.on_screen else 0
    emit(report(collected.runs, arguments), output)


def report(runs: "Sequence[Run]", arguments: argparse.Namespace) -> Report:
    """Return the tables that the arguments ask for. Raises RequestError for unknown names."""
    from attnexp.select.configurations import best_runs
    from attnexp.select.frame import make_frame
    from attnexp.select.names import resolve_name
    from attnexp.select.number import with_numbers
    from attnexp.select.order import sort_runs
    from attnexp.select.reference import numbered
    from attnexp.select.selection import fitting
    from attnexp.tables.entries import TableRequest
    from attnexp.tables.reports import configurations_report, runs_report

    frame = make_frame(runs, asked_names(arguments, runs))
    if arguments.where:
        frame = fitting(frame, arguments.where)
    frame = with_numbers(frame, [*arguments.metric, (arguments.sort or "").removeprefix("-")])
    metrics = tuple(
        resolve_name(name, frame.metrics, "metric", LISTING) for name in arguments.metric
    )
    known = frame.names if arguments.runs else [*frame.metrics, *frame.factors]
    sort = arguments.sort and resolve_name(arguments.sort.removeprefix("-"), known)
    if arguments.runs:
        numbers = [] if arguments.paths else [run.path for run in numbered(runs)]
        every, caption = len(frame), ""
        if arguments.top:
            frame, ranked = best_runs(frame, metrics, sort, arguments.top)
            by = " and ".join(ranked)
            caption = (
                f"Top {arguments.top} by {by} of runs on the same data: {len(frame)} of {every}."
            )
        if arguments.sort or not arguments.top:
            frame = sort_runs(frame, arguments.sort)
        return runs_report(frame, metrics, numbers, arguments.limit, caption)
    if sort in frame.metrics and sort not in metrics:
        metrics = (*metrics, sort)  # rows are ordered by what they show
    request = TableRequest(
        tuple(resolve_name(name, frame.factors) for name in arguments.by),
        metrics,
        sort=sort,
        reverse=bool(sort) and arguments.sort.startswith("-"),
        equal_within=arguments.equal_within,
        looks=arguments.looks,
        explain=arguments.explain,
        costs=arguments.costs,
        top=arguments.top,
        limit=arguments.limit,
    )
    return configurations_report(sort_runs(frame, None), request)


def check_ungathered(arguments: argparse.Namespace) -> None:
    """Raise RequestError for an argument that is of rows which gather runs."""
    parser = make_parser()
    for name in OF_ROWS:
        if getattr(arguments, name) != parser.get_default(name):
            raise RequestError(
                f"--{name.replace('_', '-')} is for rows that gather runs: leave out --runs"
            )


def make_parser() -> Arguments:
    """Return the parser of the arguments."""
    parser = Arguments("results", "Compare runs in a table.", EPILOG)
    add_runs(parser)
    parser.add_argument("--runs", action="store_true", help="one row per run, seeds not gathered")
    add_where(parser)
    add_results_version(parser)
    parser.add_argument(
        "--by", type=listed, default=[], metavar="NAME,...", help="what the rows are, such as model"
    )
    parser.add_argument(
        "--metric", type=listed, default=[], metavar="NAME,...", help="which metrics"
    )
    parser.add_argument(
        "--sort",
        metavar="NAME",
        help="order by a metric, best first, or by a setting; --sort=-NAME reverses",
    )
    add_names(parser)
    add_judgement(parser)
    parser.add_argument("--explain", action="store_true", help="the reasoning behind each verdict")
    parser.add_argument(
        "--costs", action="store_true", help="also parameters, steps, seconds and memory"
    )
    add_output(parser)
    parser.add_argument(
        "--limit",
        type=limit,
        metavar="N",
        help="the first rows of each table; 0 for all (default: 40 on the screen, else all)",
    )
    parser.add_argument(
        "--top",
        type=count,
        default=0,
        metavar="N",
        help="the best rows by the metric, of those on the same data",
    )
    return parser

"""`attnexp results`: compares runs in tables."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from attnexp.cli import arguments
from attnexp.cli.parser import Argument
from attnexp.cli.renaming import Labels, asked_names
from attnexp.core import console
from attnexp.core.errors import CommandEnded, RequestError
from attnexp.core.language import speaking
from attnexp.runs.key import RESULTS_VERSION
from attnexp.tables.formats import Output, emit
from attnexp.tables.grid import EXIT_CODES, ROWS, Report, TableAnswer

if TYPE_CHECKING:
    from attnexp.select.frame import Frame

NO_LOOKS = "--looks is no longer needed: verdicts hold however often seeds are added"

LISTING = "attnexp results --runs --format csv"

EPILOG = """examples:
  attnexp results                    all runs below outputs/, seeds gathered
  attnexp results --runs --sort test_mse  one row per run, the best first
  attnexp results --top 5            the five best rows, verdicts of all
  attnexp results --by model         one row per model, whatever else was set
  attnexp results --over data        rows over all data sets: ranks and verdicts
  attnexp results --where "data=sine and model in [gaussian, boxcar]"
  attnexp results --metric probe.hard.exact_match  stored by `attnexp probe`
  attnexp results --metric exact_match_by_length@5  a detail at a place
  attnexp results --name additive=Bahdanau  another name for a row
  attnexp results --require "additive better than dot"  exit code 0, 3 or 4
  attnexp results --output table.tex  also .csv, .md, .json and .txt
  attnexp results --output dates.tex --columns mean,interval --digits 3
"""


@dataclass(frozen=True, kw_only=True)
class GatheredOptions:
    """The options of rows that gather runs.

    Args:
        by: what the rows are, such as model
        over: compare over tasks, which these columns tell apart, such as data
        explain: the reasoning behind each verdict
        costs: also parameters, steps, seconds and memory
    """

    by: arguments.Names = ()
    over: arguments.Names = ()
    require: Annotated[
        Sequence[str],
        Argument(
            "exit with 3 if the table does not show a sentence such as 'additive better than dot', "
            "and with 4 if it shows that the sentence is false; can be repeated",
            metavar="SENTENCE",
        ),
    ] = ()
    equal_within: arguments.EqualWithin = None
    looks: arguments.Looks = None
    explain: bool = False
    costs: bool = False

    def check(self, runs: bool, sort: str | None, top: int, metric: Sequence[str]) -> None:
        """Raise RequestError for options that exclude each other, and warn of --looks."""
        if runs:
            self.require_none()
        elif self.over:
            self.require_no_more(sort, top, metric)
        if self.looks is not None:
            console.warn_aside(NO_LOOKS)

    def require_none(self) -> None:
        """Raise RequestError if an option is given: with --runs, rows gather no runs."""
        given = {
            "--by": self.by,
            "--over": self.over,
            "--require": self.require,
            "--equal-within": self.equal_within is not None,
            "--looks": self.looks is not None,
            "--explain": self.explain,
            "--costs": self.costs,
        }
        for name, is_given in given.items():
            if is_given:
                raise RequestError(f"{name} is for rows that gather runs: leave out --runs")

    def require_no_more(self, sort: str | None, top: int, metric: Sequence[str]) -> None:
        """Raise RequestError for an option that does not go with --over."""
        given: dict[str, object] = {"--sort": sort, "--top": top, "--costs": self.costs}
        given |= {"--explain": self.explain, "--metric with several names": metric[1:]}
        for name, is_given in given.items():
            if is_given:
                raise RequestError(f"{name} is for tables by task: leave out --over")


def main(
    paths: arguments.Paths = (),
    *,
    runs: bool = False,
    where: arguments.Where = None,
    results_version: arguments.ResultsVersion = RESULTS_VERSION,
    metric: arguments.Names = (),
    sort: arguments.Name | None = None,
    labels: Labels = (),
    lang: arguments.Language | None = None,
    gathered: GatheredOptions,
    tables: arguments.OutputOptions,
    limit: arguments.Limit | None = None,
    top: arguments.Count = 0,
) -> None:
    """Compare runs in a table.

    Raises RequestError for unknown names, and for a file that cannot be written.

    Args:
        runs: one row per run, seeds not gathered
        metric: which metrics
        sort: order by a metric, best first, or by a setting; --sort=-NAME reverses
        limit: the first rows of each table; 0 for all (default: 40 on the screen, else all)
        top: the best rows by the metric, of those on the same data
    """
    output = tables.asked()
    gathered.check(runs, sort, top, metric)
    from attnexp.select.collect import OUTPUTS, collect_asked
    from attnexp.select.frame import make_frame
    from attnexp.select.names import resolve_name
    from attnexp.select.number import with_numbers
    from attnexp.select.reference import numbered
    from attnexp.select.selection import print_left_out
    from attnexp.select.where import fitting

    collected = collect_asked(paths, results_version)
    print_left_out(collected)
    if not collected.runs:
        _print_empty(", ".join(map(str, paths)) or OUTPUTS, results_version, gathered, output)
        return
    frame = make_frame(collected.runs, asked_names(labels, collected.runs))
    frame = with_numbers(fitting(frame, where), [*metric, (sort or "").removeprefix("-")])
    metrics = [resolve_name(name, frame.metrics, "metric", LISTING) for name in metric]
    if limit is None:
        limit = ROWS if output.on_screen else 0
    if runs:
        numbers = [] if paths else [run.path for run in numbered(collected.runs)]
        report = _table_of_runs(frame, metrics, sort, top, limit, numbers, output.columns)
    elif gathered.over:
        report = _table_over_tasks(frame, metrics, limit, gathered)
    else:
        report = _table_of_rows(frame, metrics, sort, top, limit, gathered, output.columns)
    with speaking(output.language(lang)):
        emit(report, output)
    _end(report, is_printed=output.path is None and output.form != "csv")


def _end(report: Report, is_printed: bool) -> None:
    """Raise CommandEnded with 3 or 4 if the table does not show a required sentence.

    `is_printed` says that the table has printed the answers. Otherwise they are printed here.
    """
    for answer in () if is_printed else report.required:
        console.warn_aside(answer.text)
    code = max((EXIT_CODES[answer.outcome] for answer in report.required), default=0)
    if code:
        raise CommandEnded(code)


def _print_empty(below: str, version: int, gathered: GatheredOptions, output: Output) -> None:
    """Say that there are no runs. Output in JSON is a report without rows.

    Raises RequestError with --require, and for another results version than that of new runs.
    """
    if version != RESULTS_VERSION:
        raise RequestError(f"there are no runs of results version {version} below {below}")
    if gathered.require:
        raise RequestError(f"--require: there are no runs below {below}")
    sentence = f"There are no runs below {below} yet: `attnexp` makes one."
    if output.form == "json":
        console.warn_aside(sentence)
        emit(Report(), output)
    else:
        console.print_line(sentence)


def _table_of_runs(
    frame: "Frame",
    metrics: Sequence[str],
    sort: str | None,
    top: int,
    limit: int,
    numbers: Sequence[str],
    also: Sequence[str],
) -> Report:
    """Return the table with a row for each run.

    `numbers` are the paths of all runs in the order in which they are numbered, empty for a table
    without numbers.
    """
    from attnexp.select.configurations import best_runs
    from attnexp.select.names import resolve_name
    from attnexp.select.order import sort_runs
    from attnexp.tables.reports import runs_report

    by = sort and resolve_name(sort.removeprefix("-"), frame.names)
    every, caption = len(frame), ""
    if top:
        frame, ranked = best_runs(frame, metrics, by, top)
        names = " and ".join(ranked)
        caption = f"Top {top} by {names} of runs on the same data: {len(frame)} of {every}."
    if sort or not top:
        frame = sort_runs(frame, sort)
    return runs_report(frame, metrics, numbers, limit, caption, also)


def _table_over_tasks(
    frame: "Frame", metrics: Sequence[str], limit: int, options: GatheredOptions
) -> Report:
    """Return the table of rows compared over tasks."""
    from attnexp.select.names import resolve_name
    from attnexp.select.order import sort_runs
    from attnexp.tables.entries import TableRequest
    from attnexp.tables.over import over_answers, over_report, over_tasks
    from attnexp.tables.required import read_requirement

    required = [*map(read_requirement, options.require)]
    over = [resolve_name(name, frame.factors) for name in options.over]
    by = tuple(resolve_name(name, frame.factors) for name in options.by)
    request = TableRequest(by, tuple(metrics), equal_within=options.equal_within)
    table = over_tasks(sort_runs(frame, None), over, request)
    return _with_answers(over_report(table, limit), [*over_answers(table, required)])


def _with_answers(report: Report, found: Sequence[TableAnswer]) -> Report:
    """Return a report with the answers to required sentences added."""
    verdicts = [*report.verdicts, *(answer.text for answer in found)]
    return replace(report, verdicts=verdicts, required=found)


def _table_of_rows(
    frame: "Frame",
    metrics: Sequence[str],
    sort: str | None,
    top: int,
    limit: int,
    options: GatheredOptions,
    also: Sequence[str],
) -> Report:
    """Return the tables with a row for each configuration, or for each value of `options.by`."""
    from attnexp.select.frame import OF_CODE
    from attnexp.select.names import resolve_name
    from attnexp.select.order import sort_runs
    from attnexp.tables.entries import TableRequest, divide
    from attnexp.tables.reports import tables_report
    from attnexp.tables.required import answers, read_requirement

    required = [*map(read_requirement, options.require)]
    by = sort and resolve_name(sort.removeprefix("-"), [*frame.metrics, *frame.factors])
    if by in frame.metrics and by not in metrics:
        metrics = [*metrics, by]  # rows are ordered by what they show
    request = TableRequest(
        tuple(resolve_name(name, [*frame.factors, *OF_CODE]) for name in options.by),
        tuple(metrics),
        sort=by,
        reverse=bool(by) and sort is not None and sort.startswith("-"),
        equal_within=options.equal_within,
        explain=options.explain,
        costs=options.costs,
        also=tuple(also),
        top=top,
        limit=limit,
    )
    tables = divide(sort_runs(frame, None), request)
    found = [*answers(tables, required)]
    return _with_answers(tables_report(tables, request), found)

"""`attnexp verify`: does runs again and compares the numbers."""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from attnexp import console
from attnexp.cli.arguments import Arguments, add_trust, fraction
from attnexp.cli.selection import selected
from attnexp.errors import RequestError, RunFailedError, shortened, temporary
from attnexp.runs.repeat import Repetition, compare
from attnexp.runs.run import Run, load_run
from attnexp.runs.summary import error_text

EPILOG = """examples:
  attnexp verify outputs/RUN                          one run
  attnexp verify outputs --where "data=sine"          all finished runs on sine
  attnexp verify outputs/RUN --trust mine             a score or data set in your mine.py
exit code: 0 if all are bit-identical or within tolerance, 1 if one is different
"""


def main(argv: Sequence[str]) -> None:
    """Do the runs again that the arguments name, and say of each how its numbers compare.

    Raises RequestError for paths without finished runs and for runs that cannot be built or name
    code that is not trusted, and RunFailedError where a run differs.
    """
    arguments = parse(argv)
    runs = [run for run in selected(arguments.paths, arguments.where) if run.finished]
    if not runs:
        raise RequestError("none of these runs has finished: there is nothing to verify")
    with console.status("loading PyTorch"):
        from attnexp.config.trust import read_trust
    trust = read_trust(arguments.trust, arguments.config_dir)

    def verdict(run: Run) -> Repetition:
        from attnexp.config.build import rebuild
        from attnexp.training.run import execute

        prepared = rebuild(run.summary, run.folder, trust)
        with temporary():
            place = tempfile.TemporaryDirectory(prefix="attnexp-verify-")
        with place as folder:
            try:
                execute(prepared, Path(folder))
            except Exception as error:
                why = shortened(error_text(error), 160)
                raise RunFailedError(f"{run.path} cannot be done again: {why}") from error
            return compare(run, load_run(folder), arguments.tolerance)

    table = console.plain_table(["run", "numbers"])
    beside: dict[str, list[str]] = {}
    different = 0
    for run in runs:
        repetition = verdict(run)
        different += repetition.outcome == "different"
        table.add_row(console.near(run.folder), str(repetition))
        for sentence in repetition.surroundings:
            beside.setdefault(sentence, []).append(run.path)
    console.out.print(table)
    for sentence, concerned in beside.items():
        of = "" if len(runs) == 1 else f" ({len(concerned)} of {len(runs)} runs)"
        console.warn(f"{sentence}{of}")
    if different:
        raise RunFailedError(
            f"{different} of {len(runs)} runs have other numbers now"
            if len(runs) > 1
            else "the run has other numbers now"
        )


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments."""
    parser = Arguments("verify", "Do finished runs again and compare the numbers.", EPILOG)
    parser.add_argument("paths", nargs="+", metavar="RUN", help="runs, or folders above them")
    parser.add_argument("--where", metavar="TEST", help="only runs that pass, as in results")
    parser.add_argument(
        "--tolerance",
        type=fraction,
        default=1e-4,
        metavar="SHARE",
        help="largest |a - b| / max(1, |a|) within tolerance (default 0.0001)",
    )
    add_trust(parser)
    return parser.parse_intermixed_args(argv)

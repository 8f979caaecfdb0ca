"""`attnexp notebook`: writes a notebook that looks into the files of runs."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from attnexp import console
from attnexp.cli.arguments import Arguments
from attnexp.errors import RequestError
from attnexp.runs import files

EPILOG = """examples:
  attnexp notebook outputs/RUN                       a run, into RUN.ipynb
  attnexp notebook outputs --output compared.ipynb   the runs below outputs/, compared
  jupyter lab RUN.ipynb                              opens it: pip install jupyterlab
"""


def main(argv: Sequence[str]) -> None:
    """Write the notebook that the arguments ask for, and say where it is.

    Raises RequestError for arguments that make no sense, for places without runs, for files that
    cannot be read, and for a notebook that exists unless `--output` names it.
    """
    arguments = parse(argv)
    paths = arguments.paths or [Path("outputs")]
    alone = len(paths) == 1 and os.path.lexists(paths[0] / files.SUMMARY)
    name = paths[0].resolve().name if alone else "runs"
    output = arguments.output or Path(f"{name}.ipynb")
    if arguments.output is None and os.path.lexists(output):
        raise RequestError(
            f"{output} exists, and may hold your notes: name it with --output to replace "
            "it, or another file"
        )
    from attnexp.notebooks.content import comparison_notebook, run_notebook
    from attnexp.notebooks.run import load_run
    from attnexp.notebooks.runs import load_runs

    parent = os.path.realpath(output.parent)
    seen = [os.path.relpath(os.path.realpath(path), parent) for path in paths]
    if alone:
        content = run_notebook(load_run(paths[0]), seen[0])
    else:
        runs = load_runs(*paths)
        if not runs:
            raise RequestError(f"there are no runs below {', '.join(map(str, paths))}")
        for sentence in runs.skipped:
            console.warn(sentence)
        content = comparison_notebook(runs, seen)
    files.write_output("--output", output, content)
    console.say(console.relative(output))


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return the arguments."""
    parser = Arguments("notebook", "Write a notebook that looks into the files of runs.", EPILOG)
    parser.add_argument(
        "paths", nargs="*", type=Path, metavar="PATH", help="a run, or folders of runs"
    )
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="default: RUN.ipynb, or runs.ipynb"
    )
    return parser.parse_intermixed_args(argv)

"""The only reader of the command line: our verbs, and everything else is Hydra's.

Nothing heavy is imported before it is known to be needed.
"""

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from attnexp import __version__
from attnexp.errors import RequestError, RunFailedError

VERBS = {
    "results": ("attnexp.cli.results", "compare runs in a table"),
    "plot": ("attnexp.cli.plot", "draw pictures of runs"),
    "report": ("attnexp.cli.report", "write one page with tables, curves and attention"),
    "decode": ("attnexp.cli.decode", "answer a source with a run's trained sequence model"),
    "show": ("attnexp.cli.show", "show a run's losses and attention in the terminal"),
}
"""Each verb of ours, the module whose `main` it calls, and a line for the help page."""

REQUEST, FAILURE, INTERRUPT = 2, 1, 130
"""Exit codes: a wrong request, a failed run, Ctrl-C."""


def main() -> None:
    """Run the command line of this process and exit with its code."""
    sys.exit(run(sys.argv[1:]))


def run(argv: Sequence[str]) -> int:
    """Carry out one command line and return its exit code, having said what went wrong."""
    try:
        _command(argv)(argv)
        sys.stdout.flush()
    except (RequestError, RunFailedError) as error:
        from attnexp.console import complain

        complain(str(error))
        return REQUEST if isinstance(error, RequestError) else FAILURE
    except KeyboardInterrupt as interrupt:
        from attnexp.console import complain

        complain(str(interrupt) or "interrupted; what had finished is kept")
        return INTERRUPT
    except BrokenPipeError:
        # Whoever read our output has left. Python would complain again when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE
    return 0


def _command(argv: Sequence[str]) -> Callable[[Sequence[str]], None]:
    if argv and argv[0] in VERBS:
        verb = import_module(VERBS[argv[0]][0]).main
        return lambda arguments: verb(arguments[1:])
    if "--version" in argv:
        return lambda _: print(f"attnexp {__version__}")
    if {"-h", "--help"} & set(argv):
        from attnexp.cli.help import show_help

        return show_help
    from attnexp.cli.run import main as run_or_sweep

    return run_or_sweep

"""Hands a command line to one of our verbs, or to Hydra where it begins with none.

The module of a verb is imported when the verb is called, so that `--help` starts without PyTorch.
"""

import os
import re
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module

from attnexp.cli.streams import open_streams
from attnexp.cli.verbs import VERBS
from attnexp.errors import RequestError, RunFailedError, choices_text, nearest_text, refusal
from attnexp.redaction import redacted
from attnexp.runs.stop import Stopped, heed_signals, signal_behind
from attnexp.version import __version__

REQUEST, FAILURE, SIGNAL, FAULT = 2, 1, 128, 70
"""Exit codes: a wrong request, a failed run, a signal, whose number is added, our own fault."""


def main() -> None:
    """Run the command line of this process and exit with its code.

    Where output is lost, the command does its work nevertheless, and then says so.
    """
    outlet = open_streams()
    heed_signals()
    code = run(sys.argv[1:])
    if outlet.lost is not None and code == 0:
        from attnexp.console import complain

        complain(f"standard output cannot be written: {refusal(outlet.lost)}")
        code = FAILURE
    sys.exit(code)


def run(argv: Sequence[str]) -> int:
    """Carry out one command line and return its exit code, having said what went wrong."""
    try:
        _check_text(argv)
        _check_directory()
        _command(argv)(argv)
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:
        from attnexp.console import complain

        code, sentence = _ending(error)
        if sentence:
            complain(sentence)
        return code
    return 0


def _ending(error: Exception | KeyboardInterrupt) -> tuple[int, str]:
    """Return the exit code of a command that an error has ended, and the sentence that says why.

    A command whose output nobody reads any more ends without one, as other programs do.
    """
    number = signal_behind(error)
    if number is not None:
        own = "" if isinstance(error, Exception | Stopped) else str(error)
        if number == signal.SIGPIPE:
            return SIGNAL + number, own
        how = "" if number == signal.SIGINT else f" by {signal.Signals(number).name}"
        return SIGNAL + number, own or f"interrupted{how}; what had finished is kept"
    if isinstance(error, RequestError):
        return REQUEST, str(error)
    if isinstance(error, RunFailedError):
        return FAILURE, str(error)
    assert isinstance(error, Exception)
    return FAULT, _fault(error)


def _fault(error: Exception) -> str:
    """Write the traceback of an error that is nobody's request into a file, and return a sentence.

    Where no file can be written the sentence stands alone.
    """
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{os.path.basename(last.filename)}, line {last.lineno}"
    what = f"{type(error).__name__}: {' '.join(redacted(str(error)).split()):.100} ({where})"
    try:
        file, path = tempfile.mkstemp(prefix="attnexp-", suffix=".log")
        with open(file, "w", encoding="utf-8", errors="backslashreplace") as log:
            log.write(redacted("".join(traceback.format_exception(error))))
    except OSError:
        return f"a fault of attnexp: {what}"
    return f"a fault of attnexp: {what}. Please report it with {path}"


def _command(argv: Sequence[str]) -> Callable[[Sequence[str]], None]:
    if argv and argv[0] in VERBS:
        verb = import_module(VERBS[argv[0]][0]).main
        return lambda arguments: verb(arguments[1:])
    if "--version" in argv:
        return lambda _: print(f"attnexp {__version__}")
    if {"-h", "--help"} & set(argv) or (argv and argv[0] == "help"):
        from attnexp.cli.help import show_help

        return show_help
    if argv and re.fullmatch(r"\w+", argv[0]) and (nearest := nearest_text(argv[0], VERBS)):
        raise RequestError(f"'{argv[0]}' is not a verb: choose {choices_text(VERBS)}.{nearest}")
    from attnexp.cli.run import main as run_or_sweep

    return run_or_sweep


def _check_text(argv: Sequence[str]) -> None:
    """Raise RequestError for an argument that the locale cannot decode."""
    for word in argv:
        if not word.isascii() and any("\ud800" <= letter <= "\udfff" for letter in word):
            raise RequestError(
                f"{word!r} is not text in the encoding {sys.getfilesystemencoding()}: set LC_ALL "
                "to a locale with UTF-8, such as C.UTF-8"
            )


def _check_directory() -> None:
    """Raise RequestError where the current directory has been removed."""
    try:
        os.getcwd()
    except FileNotFoundError:
        raise RequestError(
            "the current directory has been removed: change to one that is there"
        ) from None

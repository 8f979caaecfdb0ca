"""Hands a command line to one of our verbs, or to Hydra if it begins with none.

The module of a verb is imported when the verb is called, so that `--help` starts without PyTorch.
"""

import gc
import io
import os
import re
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress

from attnexp.cli.verbs import ASKED, VERBS
from attnexp.core.command import carrying_out, command_of
from attnexp.core.errors import (
    FULL,
    CommandEnded,
    OutputClosedError,
    RequestError,
    RunFailedError,
    causes,
    choose,
    nearest_text,
    refusal,
    shortage,
    suggestion,
    with_choices,
)
from attnexp.core.language import said, usual_language
from attnexp.core.synonyms import commands_for
from attnexp.training.stop import Stopped, install_handlers, signal_of
from attnexp.version import __version__

REQUEST, FAILURE, SIGNAL, FAULT = 2, 1, 128, 70
"""Exit codes: a wrong request, a failed run, a signal (plus its number), a bug in attnexp."""

EXPLAINED = {
    r"^There is no setting ": said("No setting has this name: check its spelling."),
    r" is not a verb\b": said("No command has this name: check its spelling."),
    r" is not (one of the|a) choices?\b": said("No choice has this name: check its spelling."),
    r" is not there: give the folder|is neither a folder nor a run ": said("No such folder."),
    r": there is no folder ": said("No folder has this name: check its path."),
    r"^there are no runs ": said("There are no runs: name a folder that has some."),
    r" runs has finished: ": said("No run has finished: the same command goes on with a run."),
    r"^interrupted.*; what had finished is kept$": said("An interrupted command goes on."),
    r"\bdevice=\S+ is not available: ": said(
        "No such device was found: use {setting}.", setting="device=cpu"
    ),
}
"""Patterns of error messages, each with a sentence that is also printed in Chinese."""

SIGPIPE = 13
"""The number of the signal that ends other programs when nobody reads their output any more."""


def main() -> None:
    """Carry out the command line of this process, and exit with its code."""
    if ASKED in os.environ:
        from attnexp.cli.completion import answer

        answer()
    _open_streams()
    # Figures are made without a backend, and one that is inherited from a notebook and not
    # installed would stop the import of matplotlib.
    os.environ.pop("MPLBACKEND", None)
    gc.set_threshold(50_000, 20, 50)  # a run makes few cycles: by default 5% of its time is looking
    install_handlers()
    sys.exit(run(sys.argv[1:]))


def run(argv: Sequence[str]) -> int:
    """Carry out one command line, print its error if there is one, and return its exit code."""
    code, sentence = 0, ""
    try:
        _check_text(argv)
        _check_directory()
        if any("config-dir" in word or word == "-cd" for word in argv):
            _name_unread(argv)
        with carrying_out(command_of(argv)):
            _command(argv)(argv)
    except CommandEnded:
        raise
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        code, sentence = _ending(error)
    lost = _flush()
    if lost is not None and code == 0:
        code, sentence = _ending(lost)
    _complain(sentence)
    return code


def report(error: Exception | KeyboardInterrupt | SystemExit) -> int:
    """Print why a command ended in an error, and return its exit code."""
    code, sentence = _ending(error)
    _complain(sentence)
    return code


def _complain(sentence: str) -> None:
    """Print an error message, and for a usual error its Chinese under a Chinese locale."""
    if sentence:
        from attnexp.core.console import complain

        known = EXPLAINED.items() if usual_language(os.environ) == "zh" else ()
        zh = [text.zh() for words, text in known if re.search(words, sentence)]
        with suppress(OSError):
            for line in [sentence, *zh]:
                complain(line)


def _open_streams() -> None:
    """Open standard streams that the shell has closed, and escape what they cannot write.

    Otherwise a file of this process, or of one that it starts, could get the number of a standard
    stream, and a character could raise an error.
    """
    for name, mode in {"stdin": "r", "stdout": "w", "stderr": "w"}.items():
        if getattr(sys, name) is None:
            file = os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free
            os.set_inheritable(file, True)
            setattr(sys, name, open(file, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _flush() -> OSError | None:
    """Flush standard output. If it cannot be written, drop what is left and return the error."""
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return error
    return None


def _ending(error: Exception | KeyboardInterrupt | SystemExit) -> tuple[int, str]:
    """Return the exit code of a command that ended in an error, and the message for the user.

    The message is empty if nobody reads the output any more, as in other programs.
    """
    if isinstance(error, SystemExit):
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.filename}, line {last.lineno}"
        return FAILURE, f"code of yours called sys.exit({error.code!r}) ({where})"
    if isinstance(error, OutputClosedError | BrokenPipeError):
        return SIGNAL + SIGPIPE, ""
    if isinstance(error, OSError) and error.errno in FULL and error.filename is None:
        return FAILURE, f"standard output cannot be written: {refusal(error)}"
    number = signal_of(error)
    if number is not None:
        own = "" if isinstance(error, Exception | Stopped) else str(error)
        how = "" if number == signal.SIGINT else f" by {signal.Signals(number).name}"
        return SIGNAL + number, own or f"interrupted{how}; what had finished is kept"
    if isinstance(error, RequestError):
        return REQUEST, str(error)
    if isinstance(error, RunFailedError):
        return FAILURE, str(error)
    assert isinstance(error, Exception)
    for cause in causes(error):
        if short := shortage(f"{type(cause).__name__}: {cause}"):
            return FAILURE, short
    return FAULT, _fault(error)


def _fault(error: Exception) -> str:
    """Write the traceback of a bug in attnexp into a file, and return a message that names it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{os.path.basename(last.filename)}, line {last.lineno}"
    what = f"{type(error).__name__}: {' '.join(str(error).split()):.100} ({where})"
    try:
        file, path = tempfile.mkstemp(prefix="attnexp-", suffix=".log")
        with open(file, "w", encoding="utf-8", errors="backslashreplace") as log:
            log.write("".join(traceback.format_exception(error)))
    except OSError:
        return f"a bug in attnexp: {what}"
    return f"a bug in attnexp: {what}. Please report it with {path}"


def _command(argv: Sequence[str]) -> Callable[[Sequence[str]], None]:
    if argv and argv[0] in VERBS:
        from attnexp.cli.parser import run_verb

        return lambda arguments: run_verb(arguments[0], arguments[1:])
    if "--version" in argv:
        return lambda _: print(f"attnexp {__version__}")
    if {"-h", "--help"} & set(argv) or (argv and argv[0] == "help"):
        from attnexp.cli.help import show_help

        return show_help
    if argv and re.fullmatch(r"\w+", argv[0]):
        _check_verb(argv[0])
    from attnexp.cli.run import main as run_or_sweep

    return run_or_sweep


def _check_verb(word: str) -> None:
    """Raise RequestError for a first word that is near a verb, or a command of another tool."""
    from attnexp.config.groups import groups_with

    chosen = [f"{group}={word}" for group in groups_with(word)]
    meant = [*commands_for(word), *chosen]
    if nearest := suggestion(meant) or nearest_text(word, VERBS):
        listed = choose(word, VERBS, "attnexp --help verbs", nearest)
        raise RequestError(with_choices(f"'{word}' is not a verb", nearest, listed))


def _check_text(argv: Sequence[str]) -> None:
    """Raise RequestError for an argument that cannot be decoded in the locale's encoding."""
    for word in argv:
        if not word.isascii() and any("\ud800" <= character <= "\udfff" for character in word):
            raise RequestError(
                f"{word!r} is not text in the encoding {sys.getfilesystemencoding()}: set LC_ALL "
                "to a locale with UTF-8, such as C.UTF-8"
            )


def _name_unread(argv: Sequence[str]) -> None:
    """Warn of files in the user's --config-dir that look like choices and are not read."""
    from attnexp.cli.help import config_dir
    from attnexp.config.groups import unread
    from attnexp.core.console import warn_aside

    folder = config_dir(argv)
    if folder is not None and (files := unread(folder)):
        more = f" and {len(files) - 3} more" if len(files) > 3 else ""
        group, _, name = files[0].partition(os.sep)
        right = f"{group.lower()}/{os.path.splitext(name)[0]}.yaml"
        named = ", ".join(files[:3]) + more
        warn_aside(f"--config-dir: not read: {named}: choices are files such as {right}")


def _check_directory() -> None:
    """Raise RequestError if the current directory has been removed."""
    try:
        os.getcwd()
    except FileNotFoundError:
        raise RequestError(
            "the current directory has been removed: change to one that is there"
        ) from None

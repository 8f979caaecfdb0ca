"""The rich consoles of the program, their messages and their progress displays.

A terminal gets colours and a progress bar; a file or a pipe gets plain lines, seconds apart.
"""

import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Literal

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.segment import Segment
from rich.table import Column, Table
from rich.theme import Theme

from attnexp.core.errors import OutputClosedError, shortened

PATIENCE = 1.0
"""Seconds of work before a bar appears."""

BAR = 20
"""Columns of a bar; the details have the others."""

LINE_EVERY = 5.0
"""Seconds between two lines of progress without a terminal."""

WIDE = 1000
"""Columns without a terminal, so that nothing is cut or wrapped."""

COLOURS = Theme({"note": "dark_orange3", "name": "deep_sky_blue3", "good": "green4", "bad": "red3"})
"""Colours that read on white and on black: their contrast is at least 3.6 to 1."""

SHA256 = re.compile(r"[0-9a-f]{64}")


class SafeConsole(Console):
    """A console on which text cannot steer the terminal.

    Control characters are shown escaped.

    Text comes from command lines, files and names of folders. Colours and the movements of progress
    displays are rich's own, and stay.
    """

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield the printed segments."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(escaped(segment.text, but="\n"), segment.style)

    def on_broken_pipe(self) -> None:
        """Drop all further output. Raises OutputClosedError if it was standard output.

        A thread that prints goes on in silence: it cannot end the process.
        """
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())
        if not self.stderr and threading.current_thread() is threading.main_thread():
            raise OutputClosedError


def escaped(text: str, but: str = "") -> str:
    """Return text whose control characters are written as in Python, as `\\x1b`.

    Those in `but` stay, as do the bytes of a path that the locale could not decode.
    """
    if text.isprintable():
        return text
    return "".join(
        character if _harmless(character, but) else ascii(character)[1:-1] for character in text
    )


def _harmless(character: str, but: str) -> bool:
    return character.isprintable() or character in but or "\udc80" <= character <= "\udcff"


def make_console(stderr: bool = False) -> Console:
    """Return a console that wraps at the width of the terminal, and does not wrap in a pipe.

    `!attnexp` in a notebook is a pipe, too. With NO_COLOR nothing is bold or dim either.
    """
    terminal = (sys.stderr if stderr else sys.stdout).isatty() and not in_notebook()
    return SafeConsole(
        stderr=stderr,
        width=None if terminal else WIDE,
        force_terminal=False if in_notebook() else None,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
        theme=COLOURS,
        highlight=False,
        emoji=False,
    )


def in_notebook() -> bool:
    """Return whether a notebook runs this command, in a pseudo-terminal that moves no cursor.

    The environment is that of ipykernel, which also asks for colours.
    """
    environment = os.environ
    pager = environment.get("TERM") == "xterm-color" and environment.get("PAGER") == "cat"
    return pager or "JPY_PARENT_PID" in environment


class Screen:
    """Holds the consoles of the standard output and of the standard error."""

    def __init__(self) -> None:
        self.out = make_console()
        self.err = make_console(stderr=True)

    @contextmanager
    def replaced(self, out: Console, err: Console) -> Iterator[None]:
        """Print on other consoles for as long as the block takes.

        A bar that is shown already goes on.
        """
        before = self.out, self.err
        self.out, self.err = out, err
        try:
            yield
        finally:
            self.out, self.err = before

    def silent(self) -> AbstractContextManager[None]:
        """Print nothing for as long as the block takes."""
        nothing = SafeConsole(quiet=True, force_terminal=False, width=WIDE, theme=COLOURS)
        return self.replaced(nothing, nothing)

    def aside(self, is_read: bool) -> AbstractContextManager[None]:
        """Print everything on the standard error for as long as the block takes, if `is_read`.

        Standard output is then left to a document that a program reads.
        """
        return self.replaced(self.err if is_read else self.out, self.err)


screen = Screen()


def print_line(text: str) -> None:
    """Print a sentence."""
    screen.out.print(escape(escaped(text)), soft_wrap=True)


def warn(text: str) -> None:
    """Print a sentence that begins with `note:`."""
    screen.out.print(f"[note]note:[/] {escape(escaped(text))}", soft_wrap=True)


def warn_aside(text: str) -> None:
    """Print a note on the standard error, which keeps it out of output that a program reads."""
    screen.err.print(f"[note]note:[/] {escape(escaped(text))}", soft_wrap=True)


def complain(text: str) -> None:
    """Print on the standard error what went wrong, in one line of at most 300 characters."""
    screen.err.print(f"[bad]attnexp:[/] {escape(shortened(escaped(text)))}", soft_wrap=True)


def plain_table(columns: Sequence[str], right: Sequence[str] = ()) -> Table:
    """Return an empty table without a frame. Columns named in `right` are aligned to the right."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(
            escape(column), justify="right" if column in right else "left", overflow="fold"
        )
    return table


def number_text(value: object) -> str:
    """Return four significant digits of a float, twelve of a SHA-256, and other values as text."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        text = str(value)
        return f"{text[:12]}..." if SHA256.fullmatch(text) else text
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def setting_text(value: object) -> str:
    """Return a setting as it is written on the command line, but for the digits that are cut."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return number_text(value)


def with_more(text: str, number: int) -> str:
    """Return a text and the number of others like it, as in `a and 3 more`."""
    return f"{text} and {number} more" if number else text


def count_text(number: int, noun: str) -> str:
    """Return a number with its noun, as in `1 run` and `2 runs`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def aligned(text: str, side: Literal["left", "center", "right"], width: int) -> str:
    """Return a text with blanks up to a width in columns of a terminal.

    A Chinese, Japanese or Korean character takes two columns.
    """
    blanks = max(width - cell_len(text), 0)
    before = {"left": 0, "center": blanks // 2, "right": blanks}[side]
    return " " * before + text + " " * (blanks - before)


def relative(path: Path) -> str:
    """Return the path relative to the current directory if it lies below it, else the path."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


@contextmanager
def status(what: str) -> Iterator[None]:
    """Show what is being done for as long as the block takes, on a terminal alone."""
    if not screen.out.is_terminal:
        yield
        return
    with screen.out.status(escape(what)):
        yield


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[float, str], None]]:
    """Show how far work has come. The block calls the function that it is given, (done, details).

    A part of a step, such as 2.4, moves the bar and prints no line.
    """
    shown = _bar(what, total) if screen.out.is_terminal else _lines(what, total)
    with shown as advance:
        yield advance


@contextmanager
def _bar(what: str, total: int) -> Iterator[Callable[[float, str], None]]:
    from rich.progress import (  # most commands show no progress
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn("{task.description}", table_column=Column(no_wrap=True)),
        BarColumn(BAR),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[details]}", table_column=Column(no_wrap=True, ratio=1)),
        console=screen.out,
        transient=True,
        expand=True,
        refresh_per_second=8,
    )
    task = bar.add_task(escape(what), total=total, details="")
    start = time.monotonic()
    started = False

    def advance(done: float, details: str) -> None:
        nonlocal started
        bar.update(task, completed=done, details=escape(details))
        if not started and time.monotonic() - start > PATIENCE:
            bar.start()
            started = True

    try:
        yield advance
    finally:
        bar.stop()


@contextmanager
def _lines(what: str, total: int) -> Iterator[Callable[[float, str], None]]:
    last = -LINE_EVERY

    def advance(done: float, details: str) -> None:
        nonlocal last
        now = time.monotonic()
        if done == int(done) and (done == total or now - last >= LINE_EVERY):
            print_line(f"{what} {done}/{total} {details}")
            last = now

    yield advance

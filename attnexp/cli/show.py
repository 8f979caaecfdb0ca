"""`attnexp show`: prints the losses and the attention of a run as text, or what a picture shows."""

import os
import shlex
from functools import partial
from typing import TYPE_CHECKING

from rich.text import Text

from attnexp.cli import arguments
from attnexp.core import console
from attnexp.core.errors import RequestError, RunFailedError
from attnexp.core.language import translate
from attnexp.runs import files
from attnexp.runs.settings import clean

if TYPE_CHECKING:
    from attnexp.runs.folder import Run

HEIGHT = 10
"""The lines that a curve takes."""

EPILOG = """examples:
  attnexp show outputs/RUN               losses and attention
  attnexp show outputs/RUN --example 3   another test example
  attnexp show outputs/figures/loss.png  the command and the runs of a picture
"""


def main(
    run: arguments.Run,
    *,
    metric: str | None = None,
    example: arguments.Place | None = None,
    attention: arguments.AttentionName = None,
    layer: arguments.Layer = None,
    head: arguments.Head = None,
) -> None:
    """Show the losses and attention of a run as text, or the runs of a picture.

    Raises RequestError for a run that is not there and for a picture that does not name its
    command, and RunFailedError, at the end, if a file is not as the run wrote it.

    Args:
        metric: a column of metrics.csv; default: losses
        example: a test example, from 1
    """
    from attnexp.plots.drawn_from import drawn_lines
    from attnexp.plots.lines import asked_columns, widths_of, words
    from attnexp.plots.terminal import Terminal, draw_attention, draw_curve, print_encodable
    from attnexp.runs.attention import View
    from attnexp.runs.folder import load_run, not_as_written

    terminal = Terminal.of(console.screen.out)
    print_line = partial(print_encodable, terminal)
    if run.suffix.lower() in files.PICTURES and not os.path.isdir(run):
        if {metric, example, attention, layer, head} != {None}:
            raise RequestError(f"{run} is a picture: the options of show are for runs")
        for line in drawn_lines(run):
            print_line(Text(line))
        return
    if os.path.isfile(run):
        raise RequestError(f"{run} is a file: show takes runs, and pictures in PNG, SVG and PDF")
    stored = load_run(run)
    print_line(Text(stored.title, style="bold"))
    widths = ", ".join(f"{name} {width:.3g}" for name, width in widths_of(stored).items())
    first = [
        f"name: {clean(stored.summary.name)}" if stored.summary.name else "",
        _primary(stored),
        f"width of each input: {widths}" if widths else "",
        "" if stored.finished else f"status: {stored.status}",
    ]
    for line in filter(None, [*first, *stored.summary.notes]):
        print_line(Text(line))
    for column in asked_columns([stored], metric):
        print_line(Text(f"\n{translate(words(column))}", style="bold"))
        for line in draw_curve(stored.epochs["epoch"], stored.epochs[column], HEIGHT, terminal):
            print_line(Text(line))
    for line in origin(stored):
        print_line(Text(line))
    view = View(attention, layer, head, () if example is None else (example,))
    if stored.has_attention or view != View():
        for text in draw_attention(stored.attention, view, terminal):
            print_line(text)
    if changed := stored.changed_files:
        raise RunFailedError(f"{stored.folder}: {not_as_written(changed)}")


def _primary(run: "Run") -> str:
    """Return the primary metric of a run as text, with the metrics that are shown next to it."""
    others = run.summary.companions.get(run.summary.primary or "", {})
    companions = [
        f"{head} {run.metrics[other]:.3g}" for head, other in others.items() if other in run.metrics
    ]
    return f"{run.primary} ({', '.join(companions)})" if run.primary and companions else run.primary


def origin(run: "Run") -> list[str]:
    """Return lines on the origin of a run: its command, its code, its versions and its machine.

    The list is empty if the summary does not name the machine.
    """
    from attnexp.runs.origin.command_line import RunLine
    from attnexp.runs.user_code import code_digits

    summary = run.summary
    typed = RunLine.of(summary)
    overrides = shlex.join(name + value for name, value in typed.overrides) if typed else ""
    command = summary.command or ""
    differing = f", as in {files.DIFF}" if os.path.exists(run.folder / files.DIFF) else ""
    parts = {
        "command": command,
        "this job": overrides if overrides not in command else "",
        "own code": f"{code_digits(summary.code)} ({', '.join(summary.code)})"
        if summary.code
        else None,
        "code": f"{summary.git}{differing}" if summary.git else None,
        "attnexp": str(summary.source)
        if summary.source and summary.source != summary.git
        else None,
        "versions": ", ".join(f"{name} {version}" for name, version in summary.versions.items()),
        "machine": ", ".join(filter(None, [summary.host, summary.platform, summary.processor])),
        "device": f"{summary.device}, {summary.config.get('threads', 1)} threads"
        if summary.device
        else None,
    }
    lines = [f"{name}: {clean(text)}" for name, text in parts.items() if text]
    return ["", *lines] if summary.host else []

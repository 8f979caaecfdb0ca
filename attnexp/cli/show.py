"""`attnexp show`: prints the losses and the attention of a run as text."""

import argparse
import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.text import Text

from attnexp import console
from attnexp.cli.arguments import Arguments, place
from attnexp.plots.lines import asked_columns, widths_of, words
from attnexp.plots.terminal import Means, draw_curve, draw_map
from attnexp.runs import files
from attnexp.runs.attention_maps import SPACE, Attention, View
from attnexp.runs.command_line import Typed
from attnexp.runs.run import Run, load_run
from attnexp.runs.settings import clean

WIDTH, HEIGHT = 80, 10
"""Columns at most, and lines of a curve."""

EPILOG = """examples:
  attnexp show outputs/RUN                  losses and attention
  attnexp show outputs/RUN --example 3      another test example
"""


def main(argv: Sequence[str]) -> None:
    """Show the run that the arguments name.

    Raises RequestError for arguments that make no sense and a run that is not there.
    """
    arguments = parse(argv)
    run = load_run(arguments.run)
    means = means_of(console.out)
    say = partial(print_line, means)
    say(Text(run.title, style="bold"))
    widths = ", ".join(f"{name} {width:.3g}" for name, width in widths_of(run).items())
    told = [
        _primary(run),
        f"width of each input: {widths}" if widths else "",
        "" if run.finished else f"status: {run.state}",
    ]
    for line in filter(None, [*told, *run.summary.notes]):
        say(Text(line))
    for column in asked_columns([run], arguments.metric):
        say(Text(f"\n{words(column)}", style="bold"))
        for line in draw_curve(run.epochs["epoch"], run.epochs[column], HEIGHT, means):
            say(Text(line))
    for line in origin(run):
        say(Text(line))
    examples = () if arguments.example is None else (arguments.example,)
    view = View(arguments.attention, arguments.layer, arguments.head, examples)
    if run.has_attention or view != View():
        for text in attention_lines(run.attention, view, means):
            say(text)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments."""
    parser = Arguments("show", "Show the losses and the attention of a run in letters.", EPILOG)
    parser.add_argument("run", type=Path, metavar="RUN", help="the folder of a run")
    parser.add_argument("--metric", metavar="NAME", help="a column of metrics.csv; default: losses")
    parser.add_argument("--example", type=place, metavar="N", help="a test example, from 1")
    parser.add_argument("--attention", metavar="NAME", help="cross, encoder, decoder, self, ...")
    parser.add_argument("--layer", type=place, metavar="N", help="default: the last")
    parser.add_argument("--head", type=place, metavar="N", help="default: the mean of all")
    return parser.parse_intermixed_args(argv)


def _primary(run: Run) -> str:
    """Return the primary metric, and the metrics that stand beside it."""
    others = run.summary.beside.get(run.summary.primary or "", {})
    beside = [
        f"{head} {run.metrics[other]:.3g}" for head, other in others.items() if other in run.metrics
    ]
    return f"{run.primary} ({', '.join(beside)})" if run.primary and beside else run.primary


def means_of(console: Console) -> Means:
    """Return what a console can print: colours on a terminal, letters if it writes Unicode."""
    letters = console.encoding.lower().startswith("utf")
    colours = console.is_terminal and console.color_system is not None and not console.no_color
    return Means(colours, letters, min(console.width, WIDTH))


def origin(run: Run) -> list[str]:
    """Return lines that say what was typed for a run, and which code and machine computed it."""
    own = run.summary
    typed = Typed.read(run.folder)
    overrides = shlex.join(name + value for name, value in typed.overrides) if typed else ""
    command = own.command or ""
    differing = f", as in {files.DIFF}" if (run.folder / files.DIFF).exists() else ""
    told = {
        "command": command,
        "this job": overrides if overrides not in command else "",
        "code": f"{own.git}{differing}" if own.git else None,
        "attnexp": str(own.source) if own.source and own.source != own.git else None,
        "versions": ", ".join(f"{name} {version}" for name, version in own.versions.items()),
        "machine": ", ".join(filter(None, [own.host, own.platform, own.processor])),
        "device": f"{own.device}, {own.config.get('threads', 1)} threads" if own.device else None,
    }
    lines = [f"{name}: {clean(text)}" for name, text in told.items() if text]
    return ["", *lines] if own.host else []


def attention_lines(attention: Attention, view: View, means: Means) -> list[Text]:
    """One map with what it is. Raises RequestError for what is not stored."""
    resolved = attention.resolve(view, 1)
    example = resolved.examples[0]
    one = attention.map(str(resolved.attention), example, resolved.layer or 0, resolved.head)
    which = f", example {example + 1}" if len(attention.batch["keys"]) > 1 else ""
    down = f"{one.rows.name} downwards" if one.rows.symbols else f"{one.rows.name} upwards"
    return [
        Text(f"\n{attention.words(resolved)}{which}", style="bold"),
        Text(f"{down}, {one.columns.name} across"),
        *draw_map(one, means),
    ]


def print_line(means: Means, text: Text) -> None:
    """Print a line, with `?` for what the encoding of the console does not have."""
    encoding = console.out.encoding
    plain = Text(text.plain.replace(SPACE, "_").encode(encoding, "replace").decode(encoding))
    console.out.print(text if means.letters else plain, soft_wrap=True)

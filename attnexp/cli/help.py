"""The help page: what attnexp is, what can be chosen, how it is used."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill

from rich.cells import cell_len
from rich.markup import escape

from attnexp.cli.verbs import VERBS
from attnexp.config.groups import check_own, choices, defaults
from attnexp.core.console import aligned, screen
from attnexp.core.errors import RequestError, none_of
from attnexp.runs.settings import GROUPS

FIRST = ("results", "plot", "report", "show", "status", "docs")
"""The verbs that the first page explains. It only names the others."""

EXAMPLES = (
    ("attnexp", "fit a noisy curve"),
    ("attnexp data=reverse model=additive", "reverse a sequence"),
    ("attnexp -m model=dot,additive seed=0,1,2", "a sweep: six runs"),
)

ALL, OF_VERBS = "all", "verbs"
"""The words after --help that ask for all pages, and for the page of verbs."""

DEFAULT = "(default)"
"""The mark behind the choice that a group has if the command line names none."""

WIDEST = 78
"""The most columns of a line of the first page."""


def show_help(argv: Sequence[str]) -> None:
    """Print the first page, or the pages that the command line names.

    The choices of a --config-dir are on the pages too.

    Raises RequestError for a word that names no page, and as `check_own` for a --config-dir.
    """
    extra = config_dir(argv)
    if extra is not None:
        check_own(extra)
    words = [word for word in argv if not word.startswith("-") and word != "help"]
    pages = [word for word in words if "=" not in word and word != str(extra)]
    known = [*GROUPS, OF_VERBS, ALL]
    for page in pages:
        if page not in known:
            raise RequestError(f"--help: {none_of(page, known)}")
    if not pages:
        _show_first(extra)
        return
    if {OF_VERBS, ALL} & set(pages):
        _show_verbs(list(VERBS))
    for group in GROUPS:
        if group in pages or ALL in pages:
            _show_group(group, extra)


def _show_first(extra: Path | None) -> None:
    screen.out.print("[bold]attnexp[/] runs and compares attention mechanisms.\n")
    screen.out.print("[bold]Usage[/]")
    screen.out.print("  attnexp \\[NAME=VALUE ...]           one run")
    screen.out.print("  attnexp -m NAME=VALUE,VALUE ...    a sweep: one run for every combination")
    _show_verbs(FIRST)
    screen.out.print("  attnexp --cfg job                  the whole configuration, and no run")
    screen.out.print("  attnexp --hydra-help               Hydra's own options")
    others = " ".join(verb for verb in VERBS if verb not in FIRST)
    named = fill(others, WIDEST, initial_indent="  ", subsequent_indent="  ")
    screen.out.print(f"More verbs, by `attnexp --help verbs`:\n{named}\n")
    screen.out.print("[bold]Choices[/], each listed with its formula by `attnexp --help NAME`")
    default = defaults()
    for group in GROUPS:
        line = _names(group, extra, default.get(group))
        screen.out.print(f"  [name]{group + '=':<12}[/]{escape(line)}")
    screen.out.print("\n[bold]Examples[/]")
    for command, line in EXAMPLES:
        screen.out.print(f"  {escape(command):<43}{escape(line)}", soft_wrap=True)


def _show_verbs(verbs: Sequence[str]) -> None:
    for verb in verbs:
        screen.out.print(f"  {f'attnexp {verb} --help':<35}{escape(VERBS[verb][1])}")


def _show_group(group: str, extra: Path | None) -> None:
    screen.out.print(f"[bold]{group}=[/]")
    listed = choices(group, extra)
    width = max((cell_len(choice.name) for choice in listed), default=0)
    default = defaults().get(group)
    for choice in listed:
        line = f"{choice.line} {DEFAULT}" if choice.name == default else choice.line
        screen.out.print(f"  [name]{aligned(choice.name, 'left', width)}[/]  {escape(line)}")


def _names(group: str, extra: Path | None, default: str | None) -> str:
    """Return a line with the names of a group's choices, the default first.

    If the names are too long for a line, the last ones are only counted.
    """
    names = [choice.name for choice in choices(group, extra) if choice.name != default]
    names[:0] = [f"{default} {DEFAULT}"] if default else []
    for count in range(len(names), 0, -1):
        more = f" and {len(names) - count} more" if count < len(names) else ""
        line = ", ".join(names[:count]) + more
        if cell_len(line) <= WIDEST - 14:
            return line
    return f"{len(names)} choices"


def config_dir(argv: Sequence[str]) -> Path | None:
    """Return the folder that --config-dir names on a command line, None without one."""
    for flag, value in zip(argv, [*argv[1:], ""], strict=True):
        if flag in ("--config-dir", "-cd"):
            return Path(value)
        if flag.startswith("--config-dir="):
            return Path(flag.partition("=")[2])
    return None

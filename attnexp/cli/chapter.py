"""`attnexp chapter`: runs the experiments of a chapter of the course, and names its pictures."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from attnexp.cli import candidates
from attnexp.cli.arguments import Arguments
from attnexp.core import console
from attnexp.core.errors import CommandEnded
from attnexp.course.chapter_file import names, read_chapter, title

EPILOG = """examples:
  attnexp chapter                       the chapters
  attnexp chapter pooling --dry-run     the commands of one, and what they show
  attnexp chapter pooling               run them into outputs/pooling; again runs what is missing
"""


def main(argv: Sequence[str]) -> None:
    """List the chapters, or run the commands of one.

    Raises RequestError for an unknown chapter, and CommandEnded with the exit code of a command
    that fails and has said why.
    """
    arguments = make_parser().parse_intermixed_args(argv)
    if arguments.name is None:
        table = console.plain_table(["chapter", "minutes", "about"], right=["minutes"])
        for name in names():
            table.add_row(name, f"{read_chapter(name).minutes:g}", title(name))
        console.screen.out.print(table)
        return
    chapter = read_chapter(arguments.name)
    if not arguments.dry_run:
        minutes = f"{chapter.minutes:g} minute{'' if chapter.minutes == 1 else 's'}"
        console.print_line(f"This takes about {minutes} of one core.")
    for step in chapter.steps:
        console.print_line(step.command)
        console.print_line(f"    {step.shows}")
        if not arguments.dry_run:
            _run(step.command)
    if not arguments.dry_run:
        console.print_line("The pictures:")
        for pattern in (pattern for step in chapter.steps for pattern in step.pictures):
            drawn = sorted(map(str, Path().glob(pattern)))
            console.print_line(f"  {', '.join(drawn) or f'{pattern} (not drawn)'}")
        console.print_line(f"What to see in them: attnexp docs {Path(chapter.page).stem}")


def make_parser() -> Arguments:
    """Return the parser of the arguments."""
    parser = Arguments("chapter", "Run the experiments of a chapter of the course.", EPILOG)
    parser.add_argument(
        "name",
        nargs="?",
        completes=candidates.names(names),
        metavar="NAME",
        help="without one: list the chapters",
    )
    parser.add_argument("--dry-run", action="store_true", help="print the commands, run nothing")
    return parser


def _run(command: str) -> None:
    from attnexp.cli.main import run  # which imports the modules of verbs

    code = run(shlex.split(command)[1:])
    console.screen.out.print()
    if code:
        console.warn_aside("the chapter stops here; the same command goes on from there")
        raise CommandEnded(code)

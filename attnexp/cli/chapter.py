"""`attnexp chapter`: runs the experiments of a chapter of the course, and names its pictures."""

import shlex
from pathlib import Path
from typing import Annotated

from attnexp.cli import candidates
from attnexp.cli.parser import Argument
from attnexp.core import console
from attnexp.core.errors import CommandEnded
from attnexp.course.chapter_file import names, read_chapter, title

EPILOG = """examples:
  attnexp chapter                       the chapters
  attnexp chapter pooling --dry-run     the commands of one, and what they show
  attnexp chapter pooling               run what outputs/pooling lacks
"""


def main(
    name: Annotated[str | None, Argument(completes=candidates.names(names))] = None,
    *,
    dry_run: bool = False,
) -> None:
    """Run the experiments of a chapter of the course.

    Without a name, the chapters are listed. Raises RequestError for an unknown chapter, and
    CommandEnded with the exit code of a command that fails and has said why.

    Args:
        name: without one: list the chapters
        dry_run: print the commands, run nothing
    """
    if name is None:
        table = console.plain_table(["chapter", "minutes", "about"], right=["minutes"])
        for each in names():
            table.add_row(each, f"{read_chapter(each).minutes:g}", title(each))
        console.screen.out.print(table)
        return
    chapter = read_chapter(name)
    if not dry_run:
        minutes = f"{chapter.minutes:g} minute{'' if chapter.minutes == 1 else 's'}"
        console.print_line(f"This takes about {minutes} of one core.")
    for step in chapter.steps:
        console.print_line(step.command)
        console.print_line(f"    {step.shows}")
        if not dry_run:
            _run(step.command)
    if not dry_run:
        console.print_line("The pictures:")
        for pattern in (pattern for step in chapter.steps for pattern in step.pictures):
            drawn = sorted(map(str, Path().glob(pattern)))
            console.print_line(f"  {', '.join(drawn) or f'{pattern} (not drawn)'}")
        console.print_line(f"What to see in them: attnexp docs {Path(chapter.page).stem}")


def _run(command: str) -> None:
    from attnexp.cli.main import run  # which imports the modules of verbs

    code = run(shlex.split(command)[1:])
    console.screen.out.print()
    if code:
        console.warn_aside("the chapter stops here; the same command goes on from there")
        raise CommandEnded(code)

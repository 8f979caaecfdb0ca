"""`attnexp exercise`: lists the exercises of the course, begins one, and checks what was done."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.markup import escape

from attnexp import console
from attnexp.cli.arguments import Arguments
from attnexp.course import exercise as exercises
from attnexp.course.check import Check
from attnexp.course.exercise import Exercise, read_exercise
from attnexp.errors import RunFailedError, choices_text

EPILOG = """examples:
  attnexp exercise list
  attnexp exercise start bandwidth             a folder with the question, README.md
  attnexp exercise check bandwidth             what is right so far
  attnexp exercise check new_pooling --trust   run the code in the folder, too
  attnexp exercise check bandwidth --json      for programs
exit code of check: 0 if all has passed, 1 if not yet, 2 for a request that makes no sense
"""


def main(argv: Sequence[str]) -> None:
    """Carry out an action. Raises RequestError for one that there is not."""
    actions = {"list": list_exercises, "start": start, "check": check}
    if argv and argv[0] in actions:
        actions[argv[0]](argv[1:])
        return
    parser = Arguments("exercise", "Begin an exercise of the course, and check it.", EPILOG)
    parser.add_argument("action", choices=list(actions), help="what to do")
    parser.parse_args(argv[:1])


def list_exercises(argv: Sequence[str]) -> None:
    """List the exercises."""
    Arguments("exercise list", "List the exercises.", "").parse_args(argv)
    table = console.plain_table(["exercise", "chapter", "question"])
    for name in exercises.names():
        table.add_row(name, read_exercise(name).chapter, exercises.question(name))
    console.out.print(table)


def start(argv: Sequence[str]) -> None:
    """Write the folder of an exercise."""
    parser = Arguments(
        "exercise start", "Write a folder with a question, and files to fill in.", ""
    )
    parser.add_argument("name", metavar="NAME", help=choices_text(exercises.names()))
    parser.add_argument("folder", nargs="?", type=Path, metavar="FOLDER", help="default: NAME")
    arguments = parser.parse_args(argv)
    folder = arguments.folder or Path(arguments.name)
    exercises.start(arguments.name, folder)
    console.say(f"The question is in {console.near(folder / 'README.md')}.")


def check(argv: Sequence[str]) -> None:
    """Check what was done in the folder of an exercise, and give a verdict.

    Raises RequestError for a folder that is not one, and RunFailedError where something has not
    passed yet.
    """
    parser = Arguments(
        "exercise check", "Check what was done in the folder of an exercise.", EPILOG
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the exercise was begun")
    parser.add_argument(
        "--runs", type=Path, metavar="DIR", help="where the runs are (default: FOLDER/outputs)"
    )
    parser.add_argument(
        "--trust", action="store_true", help="run the code in the folder, which may do anything"
    )
    parser.add_argument(
        "--seconds", type=_seconds, default=120, help="how long that code may run (default 120)"
    )
    parser.add_argument("--json", action="store_true", help="the verdict as JSON")
    arguments = parser.parse_args(argv)
    folder: Path = arguments.folder
    from attnexp.course.comparison import read_answer

    answer = read_answer(folder)
    exercise = read_exercise(answer.exercise)
    checks = [
        *_code(answer.exercise, exercise, folder, arguments.seconds if arguments.trust else None),
        *_runs(exercise, folder, arguments.runs or folder / "outputs"),
    ]
    left = [each for each in checks if not each.passed]
    if arguments.json:
        verdict = {
            "exercise": answer.exercise,
            "folder": str(folder),
            "passed": not left,
            "checks": [asdict(each) for each in checks],
        }
        sys.stdout.write(json.dumps(verdict) + "\n")
    else:
        for each in checks:
            mark = "[green]passed [/]" if each.passed else "[red]not yet[/]"
            console.out.print(
                f"{mark}  {escape(each.name)}: {escape(each.sentence)}", soft_wrap=True
            )
    if left:
        raise RunFailedError(f"not yet: {len(left)} of {len(checks)} checks are left to pass")


def _seconds(text: str) -> int:
    from attnexp.cli.arguments import place

    return place(text) + 1


def _code(name: str, exercise: Exercise, folder: Path, seconds: int | None) -> Iterator[Check]:
    """Yield the checks of a student's code; without seconds it is not run."""
    if not exercise.has_code:
        return
    if seconds is None:
        yield Check(
            "code",
            False,
            "the code in the folder was not run, because a command line must trust it: add --trust",
        )
        return
    from attnexp.cli.examiner import examine

    with console.status("running the code"):
        yield from examine(name, folder, seconds)


def _runs(exercise: Exercise, folder: Path, place: Path) -> Iterator[Check]:
    """Yield the checks of the runs below a folder, and of the answer."""
    from attnexp.course.comparison import check_comparison, read_answer
    from attnexp.runs.collection import Collected, collect

    collected = collect([place]) if os.path.exists(place) else Collected()
    for sentence in collected.skipped:
        console.warn_aside(sentence)
    yield from check_comparison(exercise.comparison, collected.runs, read_answer(folder))

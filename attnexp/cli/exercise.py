"""`attnexp exercise`: lists the exercises of the course, begins one, and checks its folder."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.markup import escape

from attnexp.cli.arguments import Arguments, count
from attnexp.core import console
from attnexp.core.errors import RequestError, RunFailedError, choices_text
from attnexp.course import exercise_file as exercises

HELP = "Begin an exercise of the course, and check it."
ACTIONS = {
    "list": "List the exercises.",
    "start": "Copy an exercise into a new folder.",
    "check": "Check the folder of an exercise.",
}

EPILOG = """examples:
  attnexp exercise list
  attnexp exercise start bandwidth             a folder with the question, README.md
  attnexp exercise check bandwidth             what is right so far
  attnexp exercise check new_pooling --trust   run the tests of the code in the folder, too
  attnexp exercise check bandwidth --json      for programs
exit code of check: 0 if all has passed, 1 if not yet, 2 for a request that makes no sense
"""


def main(argv: Sequence[str]) -> None:
    """List the exercises, begin one, or check one.

    Raises RequestError for arguments that make no sense and folders without an exercise, and
    RunFailedError where a check fails.
    """
    arguments = parse(argv)
    if arguments.action == "list":
        table = console.plain_table(["exercise", "chapter", "question"])
        for name in exercises.names():
            exercise, _ = exercises.read_exercise(exercises.FOLDER / name)
            table.add_row(name, exercise.chapter, exercises.question(name))
        console.out.print(table)
    elif arguments.action == "start":
        folder = exercises.start(arguments.name, arguments.folder)
        console.say(f"The question is in {console.relative(folder / 'README.md')}.")
    else:
        check(arguments)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return the arguments, with what to do as `action`."""
    action = argv[0] if argv and argv[0] in ACTIONS else None
    verb, line = (f"exercise {action}", ACTIONS[action]) if action else ("exercise", HELP)
    parser = Arguments(verb, line, EPILOG)
    if action is None:
        parser.add_argument("action", choices=list(ACTIONS), help="what to do")
    if action == "start":
        names = choices_text(exercises.names())
        parser.add_argument("name", metavar="NAME", help=f"{names}; or the folder of an exercise")
        parser.add_argument("folder", nargs="?", type=Path, metavar="FOLDER", help="default: NAME")
    if action == "check":
        parser.add_argument("folder", type=Path, metavar="FOLDER", help="the folder of an exercise")
        parser.add_argument("--runs", type=Path, metavar="DIR", help="default: FOLDER/outputs")
        parser.add_argument(
            "--trust", action="store_true", help="run the code in the folder, which may do anything"
        )
        parser.add_argument(
            "--seconds", type=count, default=120, help="how long that code may run (default: 120)"
        )
        parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    return parser.parse_args(argv[1:] if action else argv[:1], argparse.Namespace(action=action))


def check(arguments: argparse.Namespace) -> None:
    """Check the code, the runs and the answer in the folder of an exercise.

    With `json` an error is printed as JSON, too, before it is raised.
    """
    from attnexp.course.checks import check_folder

    folder: Path = arguments.folder
    seconds = arguments.seconds if arguments.trust else None
    try:
        name, checks = check_folder(folder, arguments.runs or folder / "outputs", seconds)
    except RequestError as error:
        if arguments.json:
            known = {"folder": str(folder), "passed": False, "error": str(error)}
            sys.stdout.write(json.dumps({"exercise": None, **known, "checks": []}) + "\n")
        raise
    failed = sum(not each.passed for each in checks)
    if arguments.json:
        outcome = {"exercise": name, "folder": str(folder), "passed": not failed}
        outcome["checks"] = msgspec.to_builtins(checks)
        sys.stdout.write(json.dumps(outcome) + "\n")
    else:
        for each in checks:
            mark = "[good]passed [/]" if each.passed else "[bad]not yet[/]"
            text = each.name if each.sentence == each.name else f"{each.name}: {each.sentence}"
            console.out.print(f"{mark}  {escape(text)}", soft_wrap=True)
    if failed:
        raise RunFailedError(f"not yet: {failed} of {len(checks)} checks have not passed")

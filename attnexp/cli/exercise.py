"""`attnexp exercise`: lists the exercises of the course, begins one, and checks its folder."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import msgspec
from rich.markup import escape

from attnexp.cli.arguments import Arguments, add_language, count
from attnexp.cli.candidates import names
from attnexp.core import console
from attnexp.core.errors import RequestError, RunFailedError, choices_text, writable
from attnexp.course import exercise_file as exercises

HELP = "Begin an exercise of the course, and check it."

EPILOG = """examples:
  attnexp exercise list
  attnexp exercise start bandwidth             a folder with the question, README.md
  attnexp exercise check bandwidth             what is right so far
  attnexp exercise check new_pooling --trust   run the tests of the code in the folder, too
  attnexp exercise check bandwidth --json      for programs
  attnexp exercise hint bandwidth              add --lang zh for Chinese
  attnexp exercise solution bandwidth          once its checks have passed, or with --give-up
exit code of check: 0 if all has passed, 1 if not yet, 2 for a request that makes no sense
"""


class ActionArguments(Arguments):
    """The parser of the arguments after an action."""

    def __init__(self, prog: str, **settings: Any) -> None:
        super().__init__(prog.removeprefix("attnexp "), HELP, EPILOG, **settings)

    def error(self, message: str) -> NoReturn:
        """Raise RequestError, for a name or a folder that is missing with those that there are."""
        if message.endswith("required: NAME"):
            raise RequestError(f"NAME is missing: choose {choices_text(exercises.names())}")
        if message.endswith("required: FOLDER"):
            begun = [str(folder) for _, folder in exercises.begun()]
            choices = f"choose {choices_text(begun)}"
            none = "attnexp exercise start NAME begins an exercise"
            raise RequestError(f"FOLDER is missing: {choices if begun else none}")
        super().error(message)


def main(argv: Sequence[str]) -> None:
    """List the exercises, begin one, or check one.

    Raises RequestError for arguments that make no sense and folders without an exercise, and
    RunFailedError if a check fails.
    """
    if argv and argv[0] in exercises.names():
        raise RequestError(
            f"'{argv[0]}' is an exercise: begin it with attnexp exercise start {argv[0]}"
        )
    arguments = make_parser().parse_args(argv)
    if arguments.action == "list":
        table = console.plain_table(["exercise", "chapter", "question", "here"])
        for name in exercises.names():
            exercise, _ = exercises.read_exercise(exercises.FOLDER / name)
            table.add_row(name, exercise.chapter, exercises.question(name), exercises.state(name))
        console.screen.out.print(table)
    elif arguments.action == "start":
        folder = exercises.start(arguments.name, arguments.folder)
        questions = [console.relative(path) for path in sorted(folder.glob("README*.md"))]
        console.print_line(
            f"The question is in {' and '.join(questions) or console.relative(folder)}."
        )
    elif arguments.action == "hint":
        _print(exercises.text_of(arguments.name, exercises.HINT, arguments.lang))
    elif arguments.action == "solution":
        text = exercises.text_of(arguments.name, exercises.SOLUTION, arguments.lang)
        if not arguments.give_up and exercises.state(arguments.name) != "done":
            folder, *_ = [*exercises.folders_of(arguments.name), arguments.name]
            raise RequestError(
                f"the solution is for those whose checks have passed: attnexp exercise check "
                f"{folder}, or add --give-up"
            )
        _print(text)
    else:
        check(arguments)


def _print(text: str) -> None:
    """Print a text of several lines as it is."""
    console.screen.out.print(text.rstrip(), markup=False, soft_wrap=True)


def make_parser() -> Arguments:
    """Return the parser of the arguments, with the action as `action`."""
    parser = Arguments("exercise", HELP, EPILOG)
    actions = parser.add_subparsers(
        dest="action", required=True, parser_class=ActionArguments, metavar="ACTION"
    )
    actions.add_parser("list", help="list the exercises")
    start = actions.add_parser("start", help="copy an exercise into a new folder")
    check = actions.add_parser("check", help="check the folder of an exercise")
    start.add_argument(
        "name",
        completes=names(exercises.names),
        metavar="NAME",
        help=f"{choices_text(exercises.names())}; or the folder of an exercise",
    )
    for action, what in (("hint", "a hint"), ("solution", "a worked solution")):
        told = actions.add_parser(action, help=f"print {what}")
        told.add_argument("name", completes=names(exercises.names), metavar="NAME")
        add_language(told)
        if action == "solution":
            told.add_argument(
                "--give-up", action="store_true", help="before the checks have passed"
            )
    start.add_argument("folder", nargs="?", type=Path, metavar="FOLDER", help="default: NAME")
    check.add_argument("folder", type=Path, metavar="FOLDER", help="the folder of an exercise")
    check.add_argument("--runs", type=Path, metavar="DIR", help="default: FOLDER/outputs")
    check.add_argument(
        "--trust", action="store_true", help="run the code in the folder, which may do anything"
    )
    check.add_argument(
        "--seconds", type=count, default=120, help="how long that code may run (default: 120)"
    )
    check.add_argument("--json", action="store_true", help="print the outcome as JSON")
    return parser


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
            console.screen.out.print(f"{mark}  {escape(text)}", soft_wrap=True)
    if failed:
        raise RunFailedError(f"not yet: {failed} of {len(checks)} checks have not passed")
    with writable("FOLDER", folder):
        (folder / exercises.PASSED).touch()

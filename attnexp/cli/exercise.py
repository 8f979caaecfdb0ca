"""`attnexp exercise`: lists the exercises of the course, begins one, and checks its folder."""

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn

import msgspec
from rich.markup import escape

from attnexp.cli.arguments import Count, Language
from attnexp.cli.candidates import names
from attnexp.cli.parser import Argument, Arguments, summary
from attnexp.core import console
from attnexp.core.errors import RequestError, RunFailedError, choices_text, writable
from attnexp.core.language import in_language, say, speaking, usual_language
from attnexp.course import exercise_file as exercises
from attnexp.course.exercise_file import Check
from attnexp.tables.grid import listed

HELP = "Begin an exercise of the course, and check it."

EPILOG = """examples:
  attnexp exercise list
  attnexp exercise start bandwidth         a folder with the question, README.md
  attnexp exercise check bandwidth         what is right so far
  attnexp exercise check new_pooling --trust  run tests of its code, too
  attnexp exercise check bandwidth --json  for programs
  attnexp exercise hint bandwidth          add --lang zh for Chinese
  attnexp exercise solution bandwidth      if its checks pass
exit code of check: 0 if all has passed, 1 if not yet, 2 for a bad request
"""


class ExerciseArguments(Arguments):
    """The parser of `attnexp exercise`, and of each of its actions."""

    def __init__(self, prog: str = "exercise", **settings: Any) -> None:
        super().__init__(prog.removeprefix("attnexp "), HELP, EPILOG, **settings)

    def error(self, message: str) -> NoReturn:
        """Raise RequestError, listing what there is if a name or a folder is missing."""
        if message.endswith("required: NAME"):
            raise RequestError(f"NAME is missing: choose {choices_text(exercises.names())}")
        if message.endswith("required: FOLDER"):
            begun = [str(folder) for _, folder in exercises.begun()]
            choices = f"choose {choices_text(begun)}"
            none = "attnexp exercise start NAME begins an exercise"
            raise RequestError(f"FOLDER is missing: {choices if begun else none}")
        super().error(message)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.dest == "action" and value in exercises.names():
            raise RequestError(
                f"'{value}' is an exercise: begin it with attnexp exercise start {value}"
            )
        super()._check_value(action, value)


Name = Annotated[str, Argument(completes=names(exercises.names), metavar="NAME")]


def list_exercises(*, lang: Language | None = None) -> None:
    """List the exercises."""
    language = lang or usual_language(os.environ)
    with speaking(language):
        table = console.plain_table([say("exercise"), say("chapter"), say("question"), say("here")])
        for name in exercises.names():
            exercise, _ = exercises.read_exercise(exercises.FOLDER / name)
            question = exercises.question(name, language)
            table.add_row(name, exercise.chapter, question, exercises.state(name))
    console.screen.out.print(table)


def start(
    name: Annotated[
        str,
        Argument(
            f"{choices_text(exercises.names())}; or the folder of an exercise",
            completes=names(exercises.names),
            metavar="NAME",
        ),
    ],
    folder: Path | None = None,
    *,
    lang: Language | None = None,
) -> None:
    """Copy an exercise into a new folder.

    Args:
        folder (FOLDER): default: NAME
    """
    made = exercises.start(name, folder)
    questions = [console.relative(path) for path in sorted(made.glob("README*.md"))]
    files = listed(questions or [console.relative(made)])
    with speaking(lang):
        console.print_line(say("The question is in {files}.", files=files))


def hint(name: Name, *, lang: Language | None = None) -> None:
    """Print a hint."""
    _print(exercises.text_of(name, exercises.HINT, lang or usual_language(os.environ)))


def solution(
    name: Name,
    *,
    lang: Language | None = None,
    give_up: bool = False,
) -> None:
    """Print a worked solution.

    Raises RequestError before the checks have passed, unless `give_up`.

    Args:
        give_up: before the checks have passed
    """
    text = exercises.text_of(name, exercises.SOLUTION, lang or usual_language(os.environ))
    if not give_up and exercises.state(name) != "done":
        folder, *_ = [*exercises.folders_of(name), name]
        raise RequestError(
            f"the solution is for those whose checks have passed: attnexp exercise check "
            f"{folder}, or add --give-up"
        )
    _print(text)


def _print(text: str) -> None:
    """Print a text as it is, without markup."""
    console.screen.out.print(text.rstrip(), markup=False, soft_wrap=True)


def check(
    folder: Path,
    *,
    runs: Path | None = None,
    trust: bool = False,
    seconds: Count = 120,
    lang: Language | None = None,
    as_json: Annotated[bool, Argument(option="--json")] = False,
) -> None:
    """Check the folder of an exercise.

    The code, the runs and the answer are checked. With `as_json` an error is printed as JSON, too,
    before it is raised. Raises RequestError for a folder without an exercise, and RunFailedError if
    a check fails.

    Args:
        folder (FOLDER): the folder of an exercise
        runs (DIR): default: FOLDER/outputs
        trust: run the code in the folder, which may do anything
        seconds: how long that code may run (default: 120)
        as_json: print the outcome as JSON
    """
    from attnexp.course.checks import check_folder

    try:
        name, checks = check_folder(folder, runs or folder / "outputs", seconds if trust else None)
    except RequestError as error:
        if as_json:
            known = {"folder": str(folder), "passed": False, "error": str(error)}
            sys.stdout.write(json.dumps({"exercise": None, **known, "checks": []}) + "\n")
        raise
    failed = sum(not each.passed for each in checks)
    with speaking(lang):
        text = say(
            "not yet: {failed} of {count} checks have not passed", failed=failed, count=len(checks)
        )
        lines = [_line(each) for each in checks]
    if as_json:
        outcome = {"exercise": name, "folder": str(folder), "passed": not failed}
        outcome["checks"] = [
            {**msgspec.structs.asdict(each), "sentence": in_language(each.sentence, "en")}
            for each in checks
        ]
        sys.stdout.write(json.dumps(outcome) + "\n")
    else:
        for line in lines:
            console.screen.out.print(line, soft_wrap=True)
    if failed:
        raise RunFailedError(text)
    with writable("FOLDER", folder):
        (folder / exercises.PASSED).touch()


def _line(check: Check) -> str:
    """Return the line on a check as markup, in the language of the block `speaking`."""
    mark = f"[good]{say('passed')} [/]" if check.passed else f"[bad]{say('not yet')}[/]"
    text = check.name
    if check.sentence != check.name:
        text = say("{what}: {text}", what=check.name, text=check.sentence)
    return f"{mark}  {escape(text)}"


ACTIONS: dict[str, Callable[..., None]] = {
    "list": list_exercises,
    "start": start,
    "check": check,
    "hint": hint,
    "solution": solution,
}


def make_parser() -> Arguments:
    """Return the parser of `attnexp exercise`, with a parser of its own for each action."""
    parser = ExerciseArguments()
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, action in ACTIONS.items():
        line = summary(action).removesuffix(".")
        own = actions.add_parser(name, help=line[0].lower() + line[1:])
        own.add_parameters(action)
    return parser

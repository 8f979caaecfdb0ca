"""All checks of the folder of an exercise: its code, its runs and its answer."""

import os
import sys
from pathlib import Path

from attnexp.core import console
from attnexp.core.language import said
from attnexp.course.code import check_code
from attnexp.course.comparison import check_comparison
from attnexp.course.exercise_file import Check, read_exercise
from attnexp.course.forecast import check_forecast
from attnexp.course.heads import check_heads
from attnexp.select.collect import Collected, collect
from attnexp.select.selection import print_left_out


def check_folder(folder: Path, place: Path, seconds: int | None) -> tuple[str, list[Check]]:
    """Return the name of the exercise in a folder, and its checks. Its runs are below `place`.

    Code runs for at most `seconds`; if this is None, it does not run and the check fails. Raises
    RequestError for a folder without an exercise, and for files that cannot be read.
    """
    exercise, answer = read_exercise(folder)
    checks: list[Check] = []
    if exercise.tests is not None and seconds is None:
        sentence = said("the code in the folder was not run: add {option}", option="--trust")
        checks.append(Check("code", False, sentence))
    elif exercise.tests is not None and seconds is not None:
        with console.status("running the tests of the code"):
            checks += check_code(folder, exercise.tests, seconds)
    collected = collect([place]) if os.path.exists(place) else Collected()
    print_left_out(collected)
    sys.path.append(str(folder.absolute()))  # the user's modules are found there, not imported
    if exercise.comparison is not None:
        checks += check_comparison(exercise.comparison, collected.runs, answer)
    elif exercise.heads is not None:
        checks += check_heads(exercise.heads, collected.runs, answer)
    elif exercise.forecast is not None:
        checks += check_forecast(exercise.forecast, folder, place, answer)
    return answer.exercise, checks

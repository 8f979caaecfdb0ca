"""Holds a student's score or data set against its contract, in a process of its own.

That process ends after some seconds. It may do all that its user may: only code that the command
line trusts runs in it.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from attnexp.course.check import Check
from attnexp.course.exercise import CONFIG, DataCase, DataTask, ScoreCase, ScoreTask, read_exercise
from attnexp.errors import RequestError, shortened
from attnexp.runs.files import MIB, UnreadableRunError, read_bytes

if TYPE_CHECKING:
    from attnexp.config.job import Job

PROGRAM = (
    "import sys; sys.path[:] = {path}; "
    "from attnexp.cli.examiner import main; main({name!r}, {report!r})"
)
"""The program of the process. It has this process's import path."""

REPORT = "report.json"
CLOSE = 1e-4
"""How far a worked case may be from its numbers."""


def examine(name: str, folder: Path, seconds: int) -> list[Check]:
    """Return the checks of the code in a folder, which a process of its own runs."""
    with tempfile.TemporaryDirectory(prefix="attnexp-exercise-") as place:
        report = Path(place, REPORT)
        program = PROGRAM.format(path=sys.path, name=name, report=str(report))
        process = subprocess.Popen(
            [sys.executable, "-c", program],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            return [_failed(f"the code was ended, because it ran for more than {seconds} seconds")]
        finally:
            with suppress(ProcessLookupError, PermissionError):  # it has ended
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        try:
            return msgspec.json.decode(read_bytes(report, MIB), type=list[Check])
        except (FileNotFoundError, UnreadableRunError, msgspec.DecodeError):
            return [
                _failed(f"the process of the code ended by itself, exit code {process.returncode}")
            ]


def main(name: str, report: str) -> None:
    """Hold the code in the current directory against its contract, and write the checks."""
    checks = list(_examined(name))
    Path(report).write_text(json.dumps([asdict(check) for check in checks]))


def _examined(name: str) -> Iterator[Check]:
    exercise = read_exercise(name)
    if exercise.score is not None:
        yield from _of_score(exercise.score)
    if exercise.data is not None:
        yield from _of_data(exercise.data)


def _of_score(task: ScoreTask) -> Iterator[Check]:
    from attnexp.config.build import make_score
    from attnexp.course.contract import SCORE_CONTRACT

    word = f"model={task.choice}"
    made = _checked("score", f"{word} makes a score", lambda: make_score(_job(word).config, 1, 1))
    yield made
    if not made.passed:
        return
    make = partial(make_score, _job(word).config)
    yield from _contract(SCORE_CONTRACT, make)
    yield _parameters(task, make(1, 1))
    for number, case in enumerate(task.cases, start=1):
        sentence = f"the weights of worked case {number} are right"
        yield _checked(f"case {number}", sentence, partial(_score_case, task.choice, case))


def _of_data(task: DataTask) -> Iterator[Check]:
    from attnexp.config.build import dataset_maker, generator
    from attnexp.course.contract import DATA_CONTRACT

    word = f"data={task.choice}"
    made = _checked(
        "data",
        f"{word} makes a data set",
        lambda: dataset_maker(_job(word).config)(generator(0, "data")),
    )
    yield made
    if not made.passed:
        return
    yield from _contract(DATA_CONTRACT, dataset_maker(_job(word).config))
    for number, case in enumerate(task.cases, start=1):
        sentence = f"the targets of worked case {number} are right"
        yield _checked(f"case {number}", sentence, partial(_data_case, task.choice, case))


def _contract(
    contract: Iterable[Callable[[Any], None]], make: Callable[..., Any]
) -> Iterator[Check]:
    from attnexp.course.contract import promise_of

    for promise in contract:
        name = promise.__name__.replace("_", " ")
        yield _checked(name, promise_of(promise), partial(promise, make))


def _parameters(task: ScoreTask, score: Any) -> Check:
    count = sum(parameter.numel() for parameter in score.parameters())
    return Check(
        "parameters",
        count == task.parameters,
        f"the score has {count} learned numbers, and {task.parameters} are asked for",
    )


def _score_case(choice: str, case: ScoreCase) -> None:
    import torch

    from attnexp.config.build import make_score

    queries, keys = torch.tensor(case.queries), torch.tensor(case.keys)
    config = _job(f"model={choice}", *case.settings).config
    score = make_score(config, queries.shape[-1], keys.shape[-1])
    with torch.no_grad():
        weights = score(queries, keys).softmax(dim=-1)
    _require(weights, case.weights, case.settings, "weights")


def _data_case(choice: str, case: DataCase) -> None:
    from attnexp.config.build import dataset_maker, generator

    config = _job(f"data={choice}", *case.settings).config
    test = dataset_maker(config)(generator(0, "data")).test
    _require(test.queries.flatten(), case.queries, case.settings, "queries of the test set")
    _require(test.targets.flatten(), case.targets, case.settings, "targets of the test set")


def _require(found: Any, expected: Sequence[Any], settings: Sequence[str], what: str) -> None:
    """Raise BrokenPromiseError unless a tensor holds the expected numbers."""
    import torch

    from attnexp.course.contract import BrokenPromiseError

    wanted = torch.tensor(expected)
    if found.shape == wanted.shape and torch.allclose(found, wanted, rtol=0, atol=CLOSE):
        return
    raise BrokenPromiseError(
        f"with {' '.join(settings)} the {what} are {_rounded(found)}, expected {_rounded(wanted)}"
    )


def _rounded(tensor: Any) -> str:
    return ", ".join(f"{number:.4g}" for number in tensor.flatten().tolist()[:6])


def _checked(name: str, sentence: str, act: Callable[[], object]) -> Check:
    """Return whether an act of the student's code goes well: it may raise anything."""
    from attnexp.course.contract import BrokenPromiseError

    try:
        act()
    except (BrokenPromiseError, RequestError) as error:
        return Check(name, False, shortened(str(error)))
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        first = str(error).partition("\n")[0]
        where = f"{Path(last.filename).name}, line {last.lineno}"
        return Check(name, False, shortened(f"{type(error).__name__}: {first} ({where})"))
    return Check(name, True, sentence)


def _job(*words: str) -> "Job":
    """Return a configuration with a student's own. Raises RequestError for one that is wrong."""
    from attnexp.config.compose import CommandLine
    from attnexp.config.messages import ComposeErrors

    line = CommandLine.read(["--config-dir", CONFIG, *words])
    try:
        job = line.compose()
    except ComposeErrors as error:
        raise line.request_error(error) from error
    assert job is not None, "a sweep in the words of an exercise"
    return job


def _failed(sentence: str) -> Check:
    return Check("code", False, sentence)

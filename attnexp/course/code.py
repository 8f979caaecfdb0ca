"""Checks the code of an exercise: pytest runs the exercise's tests in a process of its own.

The tests are code as well, and a process can do whatever its user can: this does not protect
against the authors of the code.
"""

import os
import re
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

from attnexp.core.errors import RequestError, shortened
from attnexp.core.language import said
from attnexp.course.exercise_file import Check

PLACE = re.compile(r'([\w.]+\.py)(?::|", line )(\d+)')
"""A file and a line in a traceback."""


def check_code(folder: Path, tests: str, seconds: int) -> list[Check]:
    """Return the outcome of each test of a file in a folder, and stop pytest after `seconds`.

    Raises RequestError if pytest is not installed.
    """
    if find_spec("pytest") is None:
        raise RequestError(
            "code is checked by pytest, which is not installed: pip install 'attnexp[exercises]'"
        )
    with tempfile.TemporaryDirectory(prefix="attnexp-exercise-") as place:
        report = Path(place, "report.xml")
        command = [sys.executable, "-m", "pytest", tests, f"--junitxml={report}"]
        command += ["--rootdir=.", f"--config-file={os.devnull}", "-p", "no:cacheprovider"]
        try:
            code = subprocess.run(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=seconds,
                check=False,
            ).returncode
            checks = [_check(case) for case in ElementTree.parse(report).iter("testcase")]
        except subprocess.TimeoutExpired:
            sentence = said("the tests were stopped after {seconds} seconds", seconds=seconds)
            return [Check("code", False, sentence)]
        except (FileNotFoundError, ElementTree.ParseError):
            checks = []
    if not checks or (code and all(check.passed for check in checks)):
        sentence = said(
            "`{command}` ended with exit code {code}: run it in the folder",
            command=f"pytest {tests}",
            code=code,
        )
        checks.append(Check("code", False, sentence))
    return checks


def _check(case: ElementTree.Element) -> Check:
    """Return a test of pytest's report as a check, named by its parameter if it has one."""
    name = case.get("name", "").removeprefix("test_").removesuffix("]").rpartition("[")[2]
    name = name.replace("_", " ")
    problem = next((part for part in case if part.tag in ("failure", "error", "skipped")), None)
    if problem is None:
        return Check(name, True, name)
    text = problem.text or ""
    said = [problem.get("message", "")]
    if problem.tag == "error":  # the tests could not be imported, which the last line explains
        said = re.findall(r"^E +(.+)$", text, re.MULTILINE)[-1:] or said
    sentence = said[0].partition("\n")[0].removeprefix("AssertionError: ")
    if sentence == said[0].partition("\n")[0] and (places := PLACE.findall(text)):
        sentence += f" ({places[-1][0]}, line {places[-1][1]})"
    return Check(name, False, shortened(sentence))

"""An exercise is a folder anywhere; starting one copies it whole or not at all."""

import errno
import re
import shutil
import signal
from pathlib import Path

import pytest
from imported import python

from attnexp.core.errors import RequestError
from attnexp.course import exercise_file as exercises
from attnexp.course.exercise_file import ANSWER, DESCRIPTION, FOLDER, ExerciseAnswer
from attnexp.runs.lock import hold


@pytest.fixture(params=exercises.names())
def name(request):
    return request.param


def files_in(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_every_exercise_has_a_question_an_answer_and_its_tests(name):
    assert exercises.question(name, "en").endswith("?")
    assert re.search("[\u4e00-\u9fff]", exercises.question(name, "zh"))
    exercise, answer = exercises.read_exercise(FOLDER / name)
    assert answer.exercise == name
    assert answer == ExerciseAnswer(name)
    text = (FOLDER / name / ANSWER).read_text()
    assert all(
        label in text for label in (exercise.comparison.labels if exercise.comparison else ())
    )
    assert (FOLDER / name / "README.md").read_text().startswith("# ")
    tests = [path.name for path in (FOLDER / name).glob("test_*.py")]
    assert tests == ([] if exercise.tests is None else [exercise.tests])


def test_start_copies_an_exercise_by_its_name_or_its_folder(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mine = exercises.start(name, tmp_path / "mine")
    told = {"hint.md", "hint.zh.md", "solution.md", "solution.zh.md"}
    whole = files_in(FOLDER / name)
    assert files_in(mine) == {path: text for path, text in whole.items() if path not in told}
    (mine / "outputs").mkdir()
    assert files_in(exercises.start("mine", tmp_path / "yours")) == files_in(mine)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "yours"]


@pytest.mark.parametrize("name", ["bandwidth", "which_head"])
def test_a_setting_that_names_code_is_refused(name, tmp_path):
    mine = exercises.start(name, tmp_path / "mine")
    crafted = (mine / DESCRIPTION).read_text().replace("same:", "same:\n    model._target_: evil.S")
    (mine / DESCRIPTION).write_text(crafted)
    with pytest.raises(RequestError, match=r"exercise\.yaml: 'model\._target_=evil\.S' is refused"):
        exercises.read_exercise(mine)


def test_start_writes_nothing_where_a_file_cannot_be_copied(tmp_path, monkeypatch):
    def full(self, content):
        raise OSError(errno.ENOSPC, "No space left on device", str(self))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(RequestError) as error:
        exercises.start("bandwidth", tmp_path / "mine")
    assert str(error.value) == f"FOLDER: {tmp_path / 'mine'} cannot be written: the disk is full"
    assert list(tmp_path.iterdir()) == []


def test_start_names_a_file_that_cannot_be_read(tmp_path):
    theirs = exercises.start("bandwidth", tmp_path / "theirs")
    (theirs / "link").symlink_to("nowhere")
    with pytest.raises(RequestError, match=r"theirs/link is not there"):
        exercises.start(str(theirs), tmp_path / "mine")
    assert [path.name for path in tmp_path.iterdir()] == ["theirs"]


def test_start_removes_what_a_killed_start_has_left_and_nothing_else(tmp_path):
    killed = (
        "import os, signal; from pathlib import Path; from attnexp.course import exercise_file\n"
        "Path.rename = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "exercise_file.start('bandwidth', Path('mine'))"
    )
    assert python("-c", killed, cwd=tmp_path).returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    others = [tmp_path / name for name in (".exercise-notes", ".exercise-my_notes", ".exercise-x")]
    for other in others:
        other.mkdir()
    with hold(tmp_path / ".exercise-at__work"):  # another start, which is at work
        (tmp_path / ".exercise-at__work" / "copy").mkdir()
        mine = exercises.start("bandwidth", tmp_path / "mine")
    assert left not in [*tmp_path.iterdir()]
    assert {*tmp_path.iterdir()} == {mine, *others, tmp_path / ".exercise-at__work"}


@pytest.mark.parametrize(
    "kinds",
    ["", "forecast: {claim: a, number: b}\nheads: {metric: m, layer: l, count: 2, same: {}}"],
)
def test_an_exercise_asks_for_exactly_one_kind_of_answer(tmp_path, kinds):
    (tmp_path / DESCRIPTION).write_text(f"chapter: heads\n{kinds}\n")
    (tmp_path / ANSWER).write_text("exercise: mine\n")
    message = "must have exactly one of comparison, heads and forecast"
    with pytest.raises(RequestError, match=message):
        exercises.read_exercise(tmp_path)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "is not there"),
        (
            "exercise: [",
            "answer.yaml: not valid YAML at line 2: did not find expected node content",
        ),
        ("exercise: 1", "exercise must be text, got a whole number"),
        ("", "the file must be settings as name: value, got nothing"),
        ("difference: 1", "missing required field `exercise`"),
        ("exercise: heads\nlow: much", "low must be a number or null, got text"),
        ("exercise: heads\nlowest: 1", "unknown field `lowest`"),
        ("[" * 5000, "answer.yaml has lists or mappings in more than 100 levels"),
    ],
)
def test_an_answer_that_cannot_be_read_is_refused_in_a_sentence(tmp_path, text, sentence):
    shutil.copy(FOLDER / "heads" / DESCRIPTION, tmp_path)
    if text is not None:
        (tmp_path / ANSWER).write_text(text)
    with pytest.raises(RequestError, match=sentence.replace("|", r"\|")):
        exercises.read_exercise(tmp_path)

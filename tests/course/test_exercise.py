"""Exercises are folders of the package; starting one copies it whole or not at all."""

import shutil

import pytest

from attnexp.course import exercise as exercises
from attnexp.course.comparison import read_answer
from attnexp.course.exercise import ANSWER, CONFIG, DESCRIPTION, FOLDER
from attnexp.errors import RequestError


@pytest.fixture(params=exercises.names())
def name(request):
    return request.param


def test_every_exercise_has_a_question_and_an_answer_to_fill_in(name):
    assert exercises.question(name).endswith("?")
    exercise = exercises.read_exercise(name)
    answer = read_answer(FOLDER / name)
    assert answer.exercise == name
    assert answer.difference is answer.low is answer.high is answer.better is None
    text = (FOLDER / name / ANSWER).read_text()
    assert all(label in text for label in exercise.comparison.labels)
    assert (FOLDER / name / "README.md").read_text().startswith("# ")


def test_an_exercise_with_code_has_its_configuration(name):
    exercise = exercises.read_exercise(name)
    for group, task in (("model", exercise.score), ("data", exercise.data)):
        if task is not None:
            assert (FOLDER / name / CONFIG / group / f"{task.choice}.yaml").is_file()


def test_start_copies_all_but_the_description(name, tmp_path):
    exercises.start(name, tmp_path / "mine")
    copied, shipped = (
        {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }
        for folder in (tmp_path / "mine", FOLDER / name)
    )
    del shipped[DESCRIPTION]
    assert copied == shipped
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_start_writes_nothing_where_a_file_cannot_be_copied(tmp_path, monkeypatch):
    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(RequestError, match="cannot be written"):
        exercises.start("bandwidth", tmp_path / "mine")
    assert list(tmp_path.iterdir()) == []


def test_start_refuses_a_folder_that_is_there(tmp_path):
    (tmp_path / "mine").mkdir()
    with pytest.raises(RequestError, match="is there already"):
        exercises.start("bandwidth", tmp_path / "mine")


def test_start_names_a_near_exercise(tmp_path):
    with pytest.raises(RequestError, match="Did you mean 'bandwidth'"):
        exercises.start("bandwith", tmp_path / "mine")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "is not there"),
        ("exercise: [", "not valid YAML"),
        ("exercise: 1", "Expected `str`"),
        ("difference: 1", "missing required field `exercise`"),
        ("exercise: heads\nlow: much", "Expected `float | null`"),
        ("exercise: heads\nlowest: 1", "unknown field `lowest`"),
    ],
)
def test_an_answer_that_cannot_be_read_is_refused_in_a_sentence(tmp_path, text, sentence):
    if text is not None:
        (tmp_path / ANSWER).write_text(text)
    with pytest.raises(RequestError, match=sentence.replace("|", r"\|")):
        read_answer(tmp_path)

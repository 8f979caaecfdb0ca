"""The chapters are commands of attnexp, in the order of the course."""

import shlex
from pathlib import Path

import pytest

from attnexp.cli.main import run
from attnexp.course.chapter import FOLDER, names, read_chapter, title
from attnexp.errors import RequestError


def test_the_chapters_are_in_the_order_of_the_course():
    assert names() == ["pooling", "scoring", "bahdanau", "heads", "transformer"]
    assert len(names()) == len(list(FOLDER.iterdir()))


@pytest.mark.parametrize("name", names())
def test_a_chapter_has_all_that_is_said_of_it(name):
    chapter = read_chapter(name)
    assert title(name).endswith(".")
    assert chapter.page == f"docs/course/{name}.md"
    assert 0 < chapter.minutes <= 10
    for step in chapter.steps:
        assert step.command.startswith("attnexp ")
        for picture in step.pictures:
            assert picture.startswith(f"outputs/{name}/")


@pytest.mark.parametrize("name", names())
def test_the_commands_that_train_make_sense(name, in_process, tmp_path):
    for step in read_chapter(name).steps:
        words = shlex.split(step.command)[1:]
        if words[0] == "-m":
            answer = in_process(*words, "--dry-run")
            assert answer.returncode == 0, answer.stderr
        elif words[0] not in ("attend", "plot", "results"):
            answer = in_process(*words, "--cfg", "job")
            assert answer.returncode == 0, answer.stderr
    assert not list(Path(tmp_path).glob("outputs/*/*/summary.json"))


def test_another_name_is_refused_with_the_nearest():
    with pytest.raises(RequestError, match="Did you mean 'heads'"):
        read_chapter("head")
    assert run(["chapter", "../exercise"]) == 2

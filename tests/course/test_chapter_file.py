"""The chapters are commands of attnexp, in the order of the course."""

import pytest

from attnexp.cli.verbs import VERBS
from attnexp.core.errors import RequestError
from attnexp.course.chapter_file import FOLDER, names, read_chapter, title

TABLES = {"outputs/pooling/estimators", "outputs/transformer/kv_heads", "outputs/transformer/gate"}
"""The folders whose table is all that a chapter shows of them."""


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
        trains = step.command.split()[1] not in VERBS
        assert (f"output_dir=outputs/{name}/" in step.command) == trains
        for picture in step.pictures:
            assert picture.startswith(f"outputs/{name}/")


@pytest.mark.parametrize("name", names())
def test_each_picture_is_drawn_once(name):
    """Training draws no pictures if a later step draws its folder, or if the table is enough."""
    commands = [step.command.split() for step in read_chapter(name).steps]
    plotted = {words[2] for words in commands if words[1] == "plot"}
    trained = {
        word.removeprefix("output_dir="): "figures=false" in words
        for words in commands
        for word in words
        if word.startswith("output_dir=")
    }
    silent = {folder for folder, is_silent in trained.items() if is_silent}
    assert plotted == silent - TABLES


def test_all_chapters_take_less_than_a_quarter_of_an_hour():
    assert sum(read_chapter(name).minutes for name in names()) < 15


def test_another_name_is_refused_with_the_nearest():
    with pytest.raises(RequestError, match="Did you mean 'heads'"):
        read_chapter("head")

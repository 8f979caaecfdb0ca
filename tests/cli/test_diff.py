"""`attnexp diff`, and the text of one's own code that a run folder holds."""

import io
import json
from functools import partial

import pytest
from rich.console import Console

from attnexp.cli.parser import run_verb
from attnexp.core import console
from attnexp.core.errors import RequestError
from attnexp.runs import user_code
from attnexp.runs.files import OWN_CODE, UnreadableRunError
from attnexp.runs.user_code import stored_texts, write_texts

SAME = "no difference in settings, code, versions, commit and numbers"


@pytest.fixture
def differ(monkeypatch):
    """What `attnexp diff` prints of two runs, a line each."""

    def run(*folders) -> list[str]:
        text = io.StringIO()
        screen = Console(file=text, highlight=False, width=100)
        monkeypatch.setattr(console.screen, "out", screen)
        partial(run_verb, "diff")([str(folder) for folder in folders])
        return text.getvalue().splitlines()

    return run


def rows(lines: list[str]) -> dict[str, list[str]]:
    """The cells of the printed tables by their first cell."""
    return {cells[0]: cells[1:] for line in lines if len(cells := line.split()) == 3}


def test_a_run_does_not_differ_from_itself(write_run, differ):
    folder = write_run("a", {"seed": 1})
    assert differ(folder, folder)[-1] == SAME


def test_settings_numbers_and_versions_that_differ_are_rows_and_no_others(write_run, differ):
    versions = {"attnexp": "0.2", "torch": "2.12"}
    one = write_run(
        "a", {"seed": 1, "model.width": 2}, metrics={"test_mse": 0.25}, versions=versions
    )
    two = write_run(
        "b",
        {"seed": 1, "model.width": 3},
        metrics={"test_mse": 0.5, "test_mae": 1.0},
        versions=versions | {"torch": "2.13"},
    )
    found = rows(differ(one, two))
    assert found == {
        "setting": ["a", "b"],
        "model.width": ["2", "3"],
        "origin": ["a", "b"],
        "torch": ["2.12", "2.13"],
        "number": ["a", "b"],
        "test_mse": ["0.25", "0.5"],
        "test_mae": ["\N{EN DASH}", "1"],
    }


OLD = "def f(x):\n\treturn 2 * x\n"
NEW = "def f(x):\n\treturn 3 * x\n"


def with_code(folder, code: dict[str, str]) -> None:
    """Write texts into a run folder as the documents describe it."""
    (folder / OWN_CODE).write_text(json.dumps(code))


def test_code_is_compared_line_by_line(write_run, differ):
    one, two = (write_run(name, {"seed": 1}, code={"mine": name}) for name in "ab")
    with_code(one, {"mine": OLD})
    with_code(two, {"mine": NEW})
    lines = differ(one, two)
    assert lines[lines.index("code: mine") + 1 :] == [
        *("--- a", "+++ b", "@@ -1,2 +1,2 @@"),
        *(" def f(x):", "-    return 2 * x", "+    return 3 * x"),
    ]


@pytest.mark.parametrize(
    ("ours", "theirs", "sentence"),
    [
        ({"mine": "1"}, {}, "code: mine is part of a alone"),
        ({}, {"mine": "1"}, "code: mine is part of b alone"),
        ({"mine": "1"}, {"mine": "2"}, "code: mine differs; not both runs have stored its text"),
    ],
)
def test_code_without_two_texts_is_named(write_run, differ, ours, theirs, sentence):
    one, two = write_run("a", {"seed": 1}, code=ours), write_run("b", {"seed": 1}, code=theirs)
    assert sentence in differ(one, two)


def test_text_of_a_folder_is_printed_without_its_control_characters(write_run, differ):
    one, two = (write_run(name, {"seed": 1}, code={"mine": name}) for name in "ab")
    with_code(one, {"mine": "x = 1\n"})
    with_code(two, {"mine": "x = '\x1b[2J'\n"})
    assert not any("\x1b" in line for line in differ(one, two))


@pytest.mark.parametrize(
    "content",
    [b"[]", b"{", b'{"mine": 1}', b"\xff", b'{"mine": "' + b"x" * 200_000 + b'"}'],
    ids=["list", "cut", "number", "bytes", "large"],
)
def test_a_damaged_file_of_code_is_one_sentence(write_run, differ, content):
    one, two = (write_run(name, {"seed": 1}, code={"mine": name}) for name in "ab")
    (one / OWN_CODE).write_bytes(content)
    with pytest.raises(RequestError, match=OWN_CODE):
        differ(one, two)
    with pytest.raises(UnreadableRunError):
        stored_texts(one)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes a module of one's own, and returns its digest."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(text: str, name: str = "module_of_mine") -> dict[str, str]:
        (tmp_path / f"{name}.py").write_text(text)
        return user_code.user_code({"model": {"_target_": f"{name}.Score"}})

    return write


def test_a_run_folder_holds_the_text_of_its_code(module, tmp_path):
    code = module("# é\nWIDTH = 2\n")
    write_texts(code, tmp_path)
    assert json.loads((tmp_path / OWN_CODE).read_bytes()) == {"module_of_mine": "# é\nWIDTH = 2\n"}
    assert stored_texts(tmp_path) == {"module_of_mine": "# é\nWIDTH = 2\n"}


@pytest.mark.parametrize(
    "case",
    [{}, {"module_of_mine": "other"}, {"no_such_module": "1"}],
    ids=["none", "edited", "gone"],
)
def test_no_text_is_stored_that_is_not_that_of_the_run(module, tmp_path, case):
    module("WIDTH = 2\n")
    write_texts(case, tmp_path)
    assert not (tmp_path / OWN_CODE).exists()


def test_code_is_stored_whole_or_not_at_all(module, tmp_path):
    code = module("x = 1\n") | module(f"TEXT = '{'x' * 199_000}'\n", "large_module_of_mine")
    write_texts({"module_of_mine": code["module_of_mine"]}, tmp_path)
    assert (tmp_path / OWN_CODE).exists()
    (tmp_path / OWN_CODE).unlink()
    big = module(f"TEXT = '{'x' * 201_000}'\n", "larger_module_of_mine")
    write_texts(code | big, tmp_path)
    assert not (tmp_path / OWN_CODE).exists()

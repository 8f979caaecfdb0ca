"""`attnexp diff`, and the text of one's own code that a run folder holds."""

import io
import json
import os
from functools import partial

import pytest
from rich.console import Console

from attnexp.cli.parser import run_verb
from attnexp.core import console
from attnexp.core.errors import RequestError
from attnexp.runs import user_code
from attnexp.runs.files import OWN_CODE, UnreadableRunError
from attnexp.runs.user_code import stored_texts, text_digest, write_texts

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


@pytest.fixture
def of_texts(write_run):
    """Writes a run of each of two texts of a module, which its folder holds."""

    def write(*texts: str):
        for name, text in zip("ab", texts, strict=True):
            folder = write_run(name, {"seed": 1}, code={"mine": text_digest(text)})
            with_code(folder, {"mine": text})
            yield folder

    return write


def test_code_is_compared_line_by_line(of_texts, differ):
    lines = differ(*of_texts(OLD, NEW))
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


def test_text_of_a_folder_is_printed_without_its_control_characters(of_texts, differ):
    lines = differ(*of_texts("x = 1\n", "x = '\x1b[2J'\n"))
    assert "-x = 1" in lines
    assert not any("\x1b" in line for line in lines)


@pytest.mark.parametrize("edited", ["a", "b", "a and b"])
def test_a_text_that_was_edited_in_the_folder_is_not_compared(of_texts, differ, edited):
    folders = dict(zip("ab", of_texts(OLD, NEW), strict=True))
    for name in edited.split(" and "):
        with_code(folders[name], {"mine": f"{name} is not Python"})
    lines = differ(*folders.values())
    assert lines[-1] == f"code: the stored text of mine is not what ran in {edited}"
    assert not any(line.startswith(("---", "+", "@@")) for line in lines)


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


@pytest.mark.parametrize(
    ("put", "sentence"),
    [
        (lambda path: path.symlink_to("nowhere"), "is a link to a file that is not there"),
        (lambda path: path.symlink_to(OWN_CODE), "cannot be read: "),
        (lambda path: path.mkdir(), "is not a file"),
        (os.mkfifo, "is not a file"),
        (lambda path: (path.touch(), os.truncate(path, 2**36)), "has more than 200,000 bytes"),
    ],
    ids=["dangling", "loop", "folder", "pipe", "huge"],
)
def test_what_is_no_file_of_code_is_one_sentence(write_run, differ, put, sentence):
    one, two = (write_run(name, {"seed": 1}, code={"mine": name}) for name in "ab")
    put(one / OWN_CODE)
    with pytest.raises(UnreadableRunError, match=f"{OWN_CODE} {sentence}"):
        differ(one, two)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser reads every file")
def test_a_file_of_code_that_may_not_be_read_is_one_sentence(of_texts, differ):
    one, two = of_texts(OLD, NEW)
    (one / OWN_CODE).chmod(0)
    with pytest.raises(UnreadableRunError, match=f"{OWN_CODE} cannot be read"):
        differ(one, two)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes a module of one's own, and returns its digest."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(text: str | bytes, name: str = "module_of_mine") -> dict[str, str]:
        content = text if isinstance(text, bytes) else text.encode()
        (tmp_path / f"{name}.py").write_bytes(content)
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


LATIN = "# -*- coding: latin-1 -*-\nNAME = 'é'\n"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (LATIN.encode("latin-1"), LATIN),
        (b"\xef\xbb\xbfNAME = '\xc3\xa9'\r\n", "NAME = 'é'\n"),
    ],
    ids=["declared", "mark"],
)
def test_code_is_stored_in_the_encoding_that_it_declares(module, tmp_path, content, text):
    code = module(content)
    write_texts(code, tmp_path)
    stored = stored_texts(tmp_path)
    assert stored == {"module_of_mine": text}
    assert {name: text_digest(each) for name, each in stored.items()} == code


@pytest.mark.parametrize(
    "content",
    [b"NAME = '\xe9'\n", b"# coding: nothing\n", b"# coding: hex\n", b"# coding: ascii\n\xe9"],
    ids=["undeclared", "unknown", "bytes", "other"],
)
def test_code_that_is_not_in_its_encoding_is_not_stored(module, tmp_path, content):
    write_texts(module(content), tmp_path)
    assert not (tmp_path / OWN_CODE).exists()


def test_code_is_stored_whole_or_not_at_all(module, tmp_path):
    code = module("x = 1\n") | module(f"TEXT = '{'x' * 199_000}'\n", "large_module_of_mine")
    write_texts({"module_of_mine": code["module_of_mine"]}, tmp_path)
    assert (tmp_path / OWN_CODE).exists()
    (tmp_path / OWN_CODE).unlink()
    big = module(f"TEXT = '{'x' * 201_000}'\n", "larger_module_of_mine")
    write_texts(code | big, tmp_path)
    assert not (tmp_path / OWN_CODE).exists()

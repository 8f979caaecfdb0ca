"""What a picture was drawn from: in its metadata, and read from files that nobody should trust."""

import os
import re
import shutil
import struct
import warnings
import zlib
from dataclasses import replace
from html import unescape

import msgspec
import numpy as np
import pytest
from PIL import Image

from attnexp.core.command import carrying_out
from attnexp.core.errors import RequestError
from attnexp.plots import drawn_from, style
from attnexp.plots.catalogue import draw_run
from attnexp.plots.drawn_from import MOST_RUNS, drawn_lines, read_drawn
from attnexp.runs.folder import load_run
from attnexp.runs.origin.provenance import Checkout, GitState

COMMAND = r"attnexp plot 'a (b) \\ \u00e9é <&>' --title ')'"
FORMATS = ["png", "svg", "pdf"]


@pytest.fixture
def saved(tmp_path, monkeypatch):
    """Saves a picture of runs in a format, as a command draws it in a checkout."""
    monkeypatch.chdir(tmp_path)
    state = GitState("c" * 40, dirty=False)
    monkeypatch.setattr(drawn_from, "code", lambda: (Checkout(".", state, ""), None))

    def save(kind, runs=(), command=COMMAND):
        path = tmp_path / "pictures" / f"picture.{kind}"
        with style.style_context(), carrying_out(command):
            style.save(style.new_figure(2, 2, "title"), [path], runs)
        return path

    return save


@pytest.fixture
def run(regression_run):
    return load_run(regression_run("outputs/mine"))


def chunks(content):
    """The chunks of a PNG, each with its checksum compared."""
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    place = 8
    while place < len(content):
        (size,) = struct.unpack(">I", content[place : place + 4])
        body = content[place + 4 : place + 8 + size]
        assert struct.unpack(">I", content[place + 8 + size :][:4])[0] == zlib.crc32(body)
        yield body[:4], body[4:]
        place += 12 + size


def told_by_hand(path):
    """The metadata of a picture, taken from its bytes without any reader of the format."""
    content = path.read_bytes()
    if path.suffix == ".png":
        texts = [body.split(b"\0", 1) for kind, body in chunks(content) if kind == b"tEXt"]
        return dict(texts)[b"Description"].decode("ascii")
    if path.suffix == ".svg":
        (text,) = re.findall(r"<dc:description>(.*?)</dc:description>", content.decode("ascii"))
        return unescape(text)
    (text,) = re.findall(r"/Keywords \((.*)\)", content.decode("latin1"))
    return re.sub(r"\\(.)", r"\1", text)


@pytest.mark.parametrize("kind", FORMATS)
def test_a_picture_holds_its_command_its_commit_and_its_runs(saved, run, kind):
    path = saved(kind, [run])
    assert msgspec.json.decode(told_by_hand(path)) == {
        "count": 1,
        "runs": [["0123456789", "outputs/mine"]],
        "command": COMMAND,
        "git": {"commit": "c" * 40, "dirty": False, "diff": None},
    }
    assert drawn_lines(path) == [
        f"command: {COMMAND}",
        f"commit: {'c' * 10}",
        f"run 0123456789: {os.path.join('outputs', 'mine')}",
    ]


def test_its_pixels_are_those_without_metadata(saved, run):
    told, silent = (b"", b"")
    with Image.open(saved("png", [run])) as image:
        told = np.asarray(image).tobytes()
    path = saved("png", command=None)
    with Image.open(path) as image:
        silent = np.asarray(image).tobytes()
    assert told == silent
    assert [body for kind, body in chunks(path.read_bytes()) if kind == b"tEXt"] == [
        b"Software\0drawn by attnexp"
    ]


@pytest.mark.parametrize("kind", FORMATS)
def test_a_picture_of_no_run_has_its_command_alone(saved, kind):
    assert drawn_lines(saved(kind)) == [f"command: {COMMAND}", f"commit: {'c' * 10}"]


def test_a_picture_of_a_thousand_runs_names_the_first(saved, run):
    one, many = (saved("png", [run] * n).stat().st_size for n in (1, 1000))
    drawn = read_drawn(saved("png", [run] * 1000))
    assert (drawn.count, len(drawn.runs)) == (1000, MOST_RUNS)
    assert many - one < MOST_RUNS * (len(run.path) + 30)
    assert drawn_lines(saved("png", [run] * 1000))[-1] == (
        "and 950 more, which the picture does not name"
    )


@pytest.mark.parametrize(
    "word",
    [
        "model.password=hunter2",
        "tracker.url=https://me:hunter2@example.org",
        "--title https://me:hunter2@example.org",
    ],
)
def test_a_command_with_a_secret_is_left_out(saved, run, word):
    path = saved("svg", [run], f"attnexp attend {word}")
    assert read_drawn(path).command is None
    assert "hunter2" not in path.read_text()


def test_a_run_draws_its_pictures_by_its_own_command(regression_run):
    run = load_run(regression_run(command="attnexp -m seed=0,1"))
    with carrying_out("attnexp worker"):
        paths = draw_run(run.folder, run.summary)
    assert {read_drawn(path).command for path in paths} == {"attnexp -m seed=0,1"}


def test_runs_are_found_by_key_wherever_they_went(saved, run, tmp_path):
    gone = replace(run, path="outputs/gone", summary=msgspec.structs.replace(run.summary, key="b"))
    path = saved("png", [run, gone])
    shutil.copytree(run.folder, tmp_path / "outputs" / "copy")
    assert drawn_lines(path)[2:] == [
        "run 0123456789: outputs/copy, outputs/mine",
        "run b: not there any more; it was outputs/gone",
    ]
    (tmp_path / "outputs").rename(tmp_path / "elsewhere")
    assert drawn_lines(path)[2] == "run 0123456789: not there any more; it was outputs/mine"
    inside = tmp_path / "elsewhere" / "figures" / "sweep" / "picture.png"
    inside.parent.mkdir(parents=True)
    path.rename(inside)
    assert drawn_lines(inside)[2] == "run 0123456789: elsewhere/copy, elsewhere/mine"


def test_a_run_outside_is_found_at_its_path(saved, regression_run):
    run = load_run(regression_run("apart/mine"))
    assert drawn_lines(saved("png", [run]))[2] == "run 0123456789: apart/mine"


def hostile_pdf(text):
    return b"/Keywords (" + text.replace(b"\\", rb"\\") + b")"


HOSTILE = {
    "empty.png": b"",
    "words.svg": b"words",
    "none.pdf": b"%PDF-1.4\ntrailer",
    "nested.svg": b"<a>" * 100_000,
    "entities.svg": b'<!DOCTYPE a [<!ENTITY a "aaaa">]><a>&a;</a>',
    "open.pdf": b"/Keywords (" * 90_000,
    "escaped.pdf": b"/Keywords (" + b"\\" * 2**20,
    "deep.pdf": hostile_pdf(b"[" * 900_000),
    "types.pdf": hostile_pdf(b'{"count": "many", "runs": {}}'),
    "other.pdf": hostile_pdf(b"attention, transformers"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_attnexp_did_not_write_is_one_sentence(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(HOSTILE[name])
    with pytest.raises(RequestError, match="does not say what it was drawn from") as caught:
        drawn_lines(path)
    assert "\n" not in str(caught.value)


def said_of(path):
    try:
        return drawn_lines(path)
    except RequestError as error:
        return [str(error)]


@pytest.mark.parametrize("kind", FORMATS)
def test_damage_is_one_sentence_and_no_warning(saved, run, kind):
    path = saved(kind, [run])
    whole = path.read_bytes()
    start = whole.index(b"0123456789") - 150
    generator = np.random.default_rng(0)
    with warnings.catch_warnings(action="error"):
        for _ in range(60):
            content = bytearray(whole)
            for place in generator.integers(start, start + 300, 3):
                content[place] = generator.integers(256)
            path.write_bytes(content)
            assert all(line.isprintable() for line in said_of(path))


def test_text_of_the_file_moves_no_terminal(tmp_path):
    path = tmp_path / "picture.pdf"
    text = rb'{"count": 3, "runs": [["\u001b[31m", "\u0000"]], "command": "a\u001b]0;x\nb"}'
    path.write_bytes(hostile_pdf(text))
    command, run, more = drawn_lines(path)
    assert all(line.isprintable() for line in (command, run, more))
    assert more == "and 2 more, which the picture does not name"


def test_a_huge_file_is_not_read_whole_and_a_pipe_not_at_all(tmp_path):
    for name in ("huge.png", "huge.pdf"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(2**36)
        with pytest.raises(RequestError, match="does not say"):
            read_drawn(tmp_path / name)
    os.mkfifo(tmp_path / "pipe.svg")
    with pytest.raises(RequestError, match="is not a file"):
        read_drawn(tmp_path / "pipe.svg")

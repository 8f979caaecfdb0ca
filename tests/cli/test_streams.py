"""Standard output and error that are closed, full, or of few letters."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from attnexp.cli.streams import STAND_INS, Outlet
from attnexp.runs.stop import Stopped

ROOT = Path(__file__).resolve().parents[2]

full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")


@pytest.fixture
def shell(tmp_path):
    """Runs a line of a shell, in which $A is attnexp; the output of a pipe goes to its reader."""

    def command(line, **environment):
        return subprocess.run(
            ["sh", "-c", line],
            check=False,
            cwd=tmp_path,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "A": f"{sys.executable} -W error -m attnexp",
                **environment,
            },
            capture_output=True,
            timeout=120,
        )

    return command


@pytest.mark.parametrize(
    ("line", "code", "sentence"),
    [
        ("$A --version >&-", 1, b"attnexp: standard output cannot be written: Bad file desc"),
        ("$A --version 2>&-", 0, b""),
        ("$A nosuch=3 >&- 2>&- <&-", 2, b""),
        ("$A nosuch=3 2>/dev/full", 2, b""),
        pytest.param(
            "$A --help >/dev/full",
            1,
            b"attnexp: standard output cannot be written: the disk is full",
            marks=full,
        ),
    ],
)
def test_a_lost_output_is_said_and_nothing_else(shell, line, code, sentence):
    answer = shell(line)
    assert answer.returncode == code, answer.stderr
    assert answer.stderr.startswith(sentence)
    assert answer.stderr.count(b"\n") == bool(sentence)


def test_a_reader_that_has_left_ends_the_command_as_it_ends_others(shell):
    answer = shell("{ $A --help; echo $? >code; } | true; cat code")
    assert answer.stdout == b"141\n"
    assert answer.stderr == b""


@pytest.mark.slow
@full
def test_a_sweep_and_a_search_go_on_under_a_full_disk(shell, tmp_path):
    words = "figures=false train.max_epochs=2"
    answer = shell(f"$A -m seed=0,1 {words} >/dev/full")
    assert answer.returncode == 1
    assert answer.stderr == b"attnexp: standard output cannot be written: the disk is full\n"
    assert len(list(tmp_path.glob("outputs/*/predictions.csv"))) == 2
    answer = shell(f"$A -m seed=0,1 {words} --dry-run")
    assert b"done        2" in answer.stdout


def test_few_letters_do(shell, tmp_path):
    """Tables, maps and sentences come out in ASCII; nothing in them cannot be encoded."""
    few = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii:strict", "PYTHONUTF8": "0"}
    lines = (
        "$A -m seed=0,1 train.max_epochs=2 figures=false",
        "$A results",
        "$A show outputs/*seed0*",
        "$A results --format markdown",
        "$A --help",
    )
    answer = shell(" && ".join(lines), **few)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.isascii()
    assert b"\\x" not in answer.stdout.replace(b"3. M\\xe4rz 2021", b"")
    assert b"\\u" not in answer.stdout
    assert b"+-" in answer.stdout
    assert shell("$A model=\u00e9", **few).returncode == 2


class TestOutlet:
    @full
    def test_what_does_not_fit_is_dropped(self):
        file = os.open("/dev/full", os.O_WRONLY)
        outlet = Outlet(file)
        assert outlet.write(b"abc") == 3
        assert "No space left" in str(outlet.lost)
        os.close(file)

    def test_a_reader_that_leaves_raises_once_and_on_standard_output_alone(self, monkeypatch):
        reader, writer = os.pipe()
        os.close(reader)
        outlet = Outlet(writer)
        assert outlet.write(b"abc") == 3
        assert isinstance(outlet.lost, BrokenPipeError)
        monkeypatch.setattr("attnexp.cli.streams.OUT", writer)
        outlet = Outlet(writer)
        with pytest.raises(Stopped, match="SIGPIPE"):
            outlet.write(b"abc")
        assert outlet.write(b"abc") == 3
        os.close(writer)

    def test_stand_ins_are_ascii(self):
        assert all(text.isascii() and not letter.isascii() for letter, text in STAND_INS.items())

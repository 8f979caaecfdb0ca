"""What every command line has in common."""

import errno
import os
import signal
import sys
import tempfile

import pytest
import torch
from imported import python

from attnexp.cli import main
from attnexp.cli.main import run
from attnexp.training.stop import Stopped


def test_characters_that_a_stream_cannot_carry_are_escaped():
    """A path that the locale could not decode is written with its own bytes."""
    code = "import sys; sys.argv[1:] = ['\\u00e9']\nfrom attnexp.cli.main import main\nmain()"
    answer = python("-c", code, PYTHONIOENCODING="ascii:strict")
    assert answer.returncode == 2
    assert "\\xe9' is not a setting" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_an_undecodable_word_is_refused(capfd):
    assert run(["output_dir=\udce6"]) == 2
    assert "is not text in the encoding" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("interrupt", "code", "how"),
    [
        (KeyboardInterrupt(), 130, "interrupted; "),
        (Stopped(signal.SIGTERM), 143, "interrupted by SIGTERM; "),
    ],
)
@pytest.mark.parametrize("hidden", [False, True], ids=["itself", "as an error of a library"])
def test_a_signal_is_no_fault(in_process, monkeypatch, interrupt, code, how, hidden):
    def interrupted(argv):
        try:
            raise interrupt
        except KeyboardInterrupt:
            if hidden:
                raise AttributeError("half of it is done") from None
            raise

    monkeypatch.setattr(main, "_command", lambda argv: interrupted)
    answer = in_process("seed=0")
    assert answer.returncode == code
    assert answer.stderr == f"attnexp: {how}what had finished is kept\n"


def too_large():
    torch.empty(2**60)


def too_many():
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


def no_room_for_a_library():
    raise ImportError("libtorch_cpu.so: failed to map segment from shared object")


@pytest.mark.parametrize(
    ("fail", "what"),
    [
        (lambda: b" " * sys.maxsize, "memory has run out"),
        (too_large, "memory has run out"),
        (no_room_for_a_library, "memory has run out"),
        (too_many, "too many files are open"),
    ],
)
def test_what_a_machine_has_too_little_of_is_no_fault(in_process, monkeypatch, fail, what):
    monkeypatch.setattr(main, "_command", lambda argv: lambda argv: fail())
    answer = in_process("seed=0")
    assert answer.returncode == 1
    assert answer.stderr.startswith(f"attnexp: {what}: ")
    assert answer.stderr.count("\n") == 1


def test_a_fault_has_a_sentence_where_its_traceback_cannot_be_written(in_process, monkeypatch):
    def broken(argv):
        raise AttributeError("half of it")

    monkeypatch.setattr(main, "_command", lambda argv: broken)
    with monkeypatch.context() as patch:  # pytest makes such files itself after a test
        patch.setattr(tempfile, "tempdir", "/absent")
        answer = in_process("seed=0")
    assert answer.returncode == main.FAULT
    assert answer.stderr.startswith("attnexp: a bug in attnexp: AttributeError: half of it (")
    assert answer.stderr.count("\n") == 1


@pytest.mark.slow
def test_hydras_own_help_is_printed(succeeds):
    assert succeeds("--hydra-help").stdout.startswith("Hydra (")

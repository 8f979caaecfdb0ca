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


@pytest.mark.parametrize(
    ("words", "chinese"),
    [
        (["modle=additive"], "没有这个名称的设置"),
        (["model.lernable=true"], "没有这个名称的设置"),
        (["reslts"], "没有这个名称的命令"),
        (["model=aditive"], "没有这个名称的选项"),
        (["results", "nosuch"], "没有这个文件夹"),
        (["plot", "nosuch"], "没有这个文件夹"),
        (["report", "outputs"], "没有一次运行已经完成"),
        (["probe", "outputs"], "没有一次运行已经完成"),
        (["device=cuda:77"], "没有找到这样的设备"),
    ],
)
def test_a_usual_error_has_a_line_in_chinese_under_a_chinese_locale(
    in_process, monkeypatch, write_run, words, chinese
):
    write_run("began", status="interrupted")
    english = in_process(*words)
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    answer = in_process(*words)
    assert english.returncode == answer.returncode == 2
    assert answer.stderr.startswith(english.stderr)
    (line,) = answer.stderr.removeprefix(english.stderr).splitlines()
    assert line.startswith(f"attnexp: {chinese}")


def test_an_interrupted_command_can_be_typed_again_in_chinese(in_process, monkeypatch):
    def stopped(argv):
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "_command", lambda argv: stopped)
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    english, chinese = in_process("seed=0").stderr.splitlines()
    assert english == "attnexp: interrupted; what had finished is kept"
    assert "再次输入同一条命令" in chinese

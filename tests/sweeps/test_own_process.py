"""Functions that are called in a process of their own."""

import os
import sys
import time
from contextlib import suppress

import pytest

from attnexp.config.unknown import UnknownSettingError
from attnexp.core.errors import RequestError, RunFailedError
from attnexp.sweeps import pool
from attnexp.sweeps.own_process import in_own_process


def refuses():
    raise UnknownSettingError("model.q", {"k": 1}.keys())


def fails():
    raise UnicodeDecodeError("utf-8", b"", 0, 1, "no text")


def returns_what_cannot_be_sent():
    return lambda: None


def hangs():
    while True:
        with suppress(KeyboardInterrupt):
            time.sleep(60)


@pytest.mark.parametrize(
    ("function", "arguments", "error", "text"),
    [
        (refuses, (), RequestError, "There is no setting 'q' in 'model': choose k."),
        (fails, (), RuntimeError, "UnicodeDecodeError: .*no text"),
        (exit, (0,), RuntimeError, r"SystemExit: sys\.exit\(0\) was called"),
        (os._exit, (3,), ChildProcessError, "its process ended with exit code 3"),
        (os.abort, (), ChildProcessError, r"its process was killed by signal 6 \(SIGABRT\)"),
        (returns_what_cannot_be_sent, (), ChildProcessError, "its process ended with exit code 1"),
    ],
)
def test_whatever_a_function_does_its_caller_is_told_at_once(function, arguments, error, text):
    start = time.monotonic()
    with pytest.raises(error, match=text):
        in_own_process(3600.0, function, *arguments)
    assert time.monotonic() - start < 300


def test_a_function_that_hangs_is_ended():
    with pytest.raises(TimeoutError, match=r"no answer after 0\.5 s"):
        in_own_process(0.5, hangs)


def test_a_result_comes_back_from_another_process():
    assert in_own_process(300.0, os.getpid) != os.getpid()


def test_no_process_is_said(monkeypatch):
    """As where the numbers of files have run out."""
    monkeypatch.setattr(pool, "Pipe", lambda **_: os.open("/nowhere", os.O_RDONLY))
    with pytest.raises(RunFailedError, match=r"has not started in 3 attempts: .*No such file"):
        in_own_process(300.0, os.getpid)


@pytest.mark.parametrize("method", ["spawn", pool.METHOD])
def test_no_module_comes_from_the_current_directory(monkeypatch, tmp_path, method):
    for name in ("signal", "select", "types", "socket", "struct", "threading"):
        (tmp_path / f"{name}.py").write_text("open('ran', 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pool, "METHOD", method)
    monkeypatch.setattr(pool, "FORKED", method == "forkserver")
    assert in_own_process(300.0, os.getcwd) == str(tmp_path)
    assert not (tmp_path / "ran").exists()
    assert "PYTHONSAFEPATH" not in os.environ
    assert str(tmp_path) not in sys.path

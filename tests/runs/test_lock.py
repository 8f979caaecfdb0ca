"""One process at a time in a folder, and none that is dead."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from attnexp.runs import lock

HOLD = """
import sys, time
from pathlib import Path
from attnexp.runs import lock
with lock.hold(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the folder `run`."""
    command = [sys.executable, "-c", HOLD, str(tmp_path / "run")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_folder_is_held_for_the_length_of_the_block(tmp_path):
    folder = tmp_path / "new" / "run"
    assert not lock.is_held(folder)
    with lock.hold(folder):
        assert lock.is_held(folder)
    assert not lock.is_held(folder)


def test_another_process_is_kept_out_and_named(tmp_path, holder):
    assert lock.is_held(tmp_path / "run")
    named = rf"process {holder.pid} on \S+"
    with pytest.raises(lock.BusyError, match=named), lock.hold(tmp_path / "run"):
        pass


@pytest.mark.parametrize("death", [signal.SIGKILL, signal.SIGTERM])
def test_the_lock_of_a_dead_process_is_free(tmp_path, holder, death):
    holder.send_signal(death)
    holder.wait()
    with lock.hold(tmp_path / "run"):
        assert lock.is_held(tmp_path / "run")


def test_waiting_ends_when_the_holder_is_gone(tmp_path, holder, monkeypatch):
    monkeypatch.setattr(lock, "RETRY", 0.01)
    told = []
    threading.Timer(0.3, holder.kill).start()
    start = time.monotonic()
    with lock.hold(tmp_path / "run", on_busy=told.append):
        assert 0.1 < time.monotonic() - start < 10
    assert len(told) == 1


def test_looking_does_not_keep_others_out(tmp_path):
    """A look takes the lock for a moment, and whoever wants it just then gets it all the same."""
    stopped = threading.Event()

    def look() -> None:
        while not stopped.is_set():
            lock.is_held(tmp_path)

    lookers = [threading.Thread(target=look) for _ in range(2)]
    for looker in lookers:
        looker.start()
    try:
        for _ in range(50):
            with lock.hold(tmp_path):
                pass
    finally:
        stopped.set()
        for looker in lookers:
            looker.join()


@pytest.fixture
def no_locks(monkeypatch):
    """A file system that has no locks."""

    def refuse(file, how):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)


@pytest.fixture
def no_links(monkeypatch):
    """A file system that has no hard links."""

    def refuse(source, target):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)


def test_where_there_are_no_locks_the_lease_keeps_others_out(tmp_path, no_locks, capsys):
    with lock.hold(tmp_path):
        assert lock.is_held(tmp_path)
        with pytest.raises(lock.BusyError, match=rf"process {os.getpid()} on"), lock.hold(tmp_path):
            pass
    assert not lock.is_held(tmp_path)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("death", [signal.SIGKILL, signal.SIGTERM])
def test_without_locks_the_lease_of_a_dead_process_is_free(tmp_path, holder, no_locks, death):
    assert lock.is_held(tmp_path / "run")
    holder.send_signal(death)
    holder.wait()
    with lock.hold(tmp_path / "run"):
        pass


def test_without_hard_links_the_lock_keeps_others_out_and_a_note_says_so(
    tmp_path, no_links, capsys
):
    with (
        lock.hold(tmp_path),
        pytest.raises(lock.BusyError, match="another process"),
        lock.hold(tmp_path),
    ):
        pass
    assert "no hard links: where its locks are local to a machine" in capsys.readouterr().out


def test_without_locks_and_links_the_run_goes_on_and_says_so(tmp_path, no_locks, no_links, capsys):
    with lock.hold(tmp_path):
        pass
    assert "neither locks nor hard links: two commands" in capsys.readouterr().out


def test_a_lock_file_with_anything_in_it_is_only_a_lock(tmp_path):
    (tmp_path / lock.LOCK).write_bytes(b"\xff\x00 no json")
    with lock.hold(tmp_path):
        assert lock.is_held(tmp_path)
        with pytest.raises(lock.BusyError, match=r"process \d+"), lock.hold(tmp_path):
            pass


@pytest.mark.parametrize("name", ["figures", ".hydra", "attnexp.log", ".lock", "metrics.csv"])
def test_a_folder_with_a_link_in_it_is_not_written(tmp_path, name):
    folder, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    (folder / name).symlink_to(elsewhere)
    with pytest.raises(OSError, match=f"{name} in it is a symbolic link"), lock.hold(folder):
        pass
    assert not list(elsewhere.iterdir())


def test_a_folder_may_be_reached_through_a_link(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "link").symlink_to("run")
    with lock.hold(tmp_path / "link"):
        assert lock.is_held(tmp_path / "run")

"""Leases: one owner at a time where no lock is shared, and none that is gone."""

import os
import threading
from pathlib import Path

import msgspec
import pytest

from attnexp.runs import files, lease, lock
from attnexp.runs.lease import Owner, TakenOverError

ELSEWHERE = Owner("token", 4711, "elsewhere", "another boot", "", locked=True)


class Clock:
    """A clock that stands still until it is set on."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def look(self, folder: Path, seconds: float) -> bool:
        """Look at a folder as often as an owner beats, and return whether it is held at last."""
        for _ in range(int(seconds / lease.BEAT)):
            self.now += lease.BEAT
            held = lock.is_held(folder)
        return held


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(lease, "time", clock)
    return clock


@pytest.fixture
def run(tmp_path) -> Path:
    """A folder with the lease of another machine."""
    (tmp_path / lock.LOCK).touch()
    write(tmp_path, ELSEWHERE)
    return tmp_path


def write(folder: Path, owner: Owner) -> None:
    (folder / lease.LEASE).write_bytes(msgspec.json.encode(owner))


def left(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {lock.LOCK}


def test_a_lease_is_there_for_the_length_of_the_block(tmp_path):
    with lock.hold(tmp_path):
        assert left(tmp_path) == {lease.LEASE}
        owner = lease.read(tmp_path).owner
        assert (owner.process, owner.locked) == (os.getpid(), True)
    assert left(tmp_path) == set()
    assert threading.active_count() == 1


def test_a_lease_of_another_machine_holds_until_it_has_not_changed_for_long(run, clock):
    with pytest.raises(lock.BusyError, match="process 4711 on elsewhere"), lock.hold(run):
        pass
    assert clock.look(run, lease.EXPIRY - lease.BEAT)
    assert not clock.look(run, lease.BEAT)
    assert left(run) == set()
    with lock.hold(run):
        pass


def test_a_sign_of_life_counts_from_anew(run, clock):
    assert clock.look(run, lease.EXPIRY - lease.BEAT)
    os.utime(run / lease.LEASE, (1, 1))  # the time of a clock that is decades behind
    assert clock.look(run, lease.EXPIRY)
    assert not clock.look(run, lease.BEAT)


def test_a_pause_of_the_looker_proves_nothing(run, clock):
    assert clock.look(run, lease.BEAT)
    clock.now += 100 * lease.EXPIRY
    assert lock.is_held(run)


@pytest.mark.parametrize(
    "content", [b"", b"\xff no json", b'{"token": 3}', b"[" * 4000, b"x" * 9000]
)
def test_a_file_that_is_no_lease_expires_like_one(run, clock, content):
    (run / lease.LEASE).write_bytes(content)
    with pytest.raises(lock.BusyError, match="another process"), lock.hold(run):
        pass
    assert clock.look(run, lease.EXPIRY - lease.BEAT)
    assert not clock.look(run, lease.BEAT)


def test_a_pipe_in_its_place_is_not_waited_for(run, clock):
    (run / lease.LEASE).unlink()
    os.mkfifo(run / lease.LEASE)
    assert clock.look(run, lease.EXPIRY)
    assert not clock.look(run, lease.BEAT)


@pytest.mark.parametrize("locked", [True, False])
def test_on_one_machine_the_dead_are_known_at_once(run, locked):
    host, boot = lease.machine()
    namespace = os.readlink("/proc/self/ns/pid") if os.path.exists("/proc") else ""
    write(run, Owner("token", 2**30, host, boot, namespace, locked))
    with lock.hold(run):
        pass
    assert left(run) == set()


def test_a_number_of_a_process_that_cannot_be_is_waited_for_and_no_error(run, clock):
    host, boot = lease.machine()
    namespace = os.readlink("/proc/self/ns/pid") if os.path.exists("/proc") else ""
    write(run, Owner("token", 2**80, host, boot, namespace, locked=False))
    assert clock.look(run, lease.EXPIRY)
    assert not clock.look(run, lease.BEAT)


def test_of_many_who_take_over_one_succeeds(run):
    """As threads, each with what it has seen: the expired lease, or the one that replaced it."""
    expired = lease.read(run)
    start, won = threading.Barrier(8), []

    def take() -> None:
        start.wait()
        lease.remove(run, expired.content)
        own = lease.take(run, locked=False)
        if own is not None:
            won.append(own)

    for _ in range(50):
        takers = [threading.Thread(target=take) for _ in range(8)]
        for taker in takers:
            taker.start()
        for taker in takers:
            taker.join()
        for own in won:
            own.beat()
        assert [own.lost for own in won].count(None) == 1
        assert left(run) == {lease.LEASE}
        for own in won:
            os.close(own._file)
        won.clear()
        write(run, ELSEWHERE)


def test_the_lease_of_another_is_put_back(run):
    lease.remove(run, b"what has expired")
    assert lease.read(run).owner == ELSEWHERE
    assert left(run) == {lease.LEASE}


def test_a_link_whose_answer_was_lost_has_succeeded(tmp_path, monkeypatch):
    link = os.link

    def lose(source, target):
        link(source, target)
        raise FileExistsError(17, "File exists")

    monkeypatch.setattr(os, "link", lose)
    with lock.hold(tmp_path):
        assert left(tmp_path) == {lease.LEASE}


def test_an_owner_beats(tmp_path, monkeypatch):
    monkeypatch.setattr(lease, "BEAT", 0.01)
    with lock.hold(tmp_path):
        os.utime(tmp_path / lease.LEASE, (1, 1))
        until_beat = threading.Event()
        for _ in range(500):
            if lease.read(tmp_path).stamp[1] > 10**18:
                break
            until_beat.wait(0.01)
        assert lease.read(tmp_path).stamp[1] > 10**18


@pytest.mark.parametrize("gone", [True, False])
def test_an_owner_that_has_lost_its_lease_writes_no_more(tmp_path, gone, summary):
    summary = summary()
    with lock.hold(tmp_path):
        summary.write(tmp_path)
        (tmp_path / files.SUMMARY).unlink()
        lease.check(tmp_path)
        (tmp_path / lease.LEASE).unlink()
        if not gone:
            write(tmp_path, ELSEWHERE)
        why = "was removed" if gone else "process 4711 on elsewhere has taken over"
        with pytest.raises(TakenOverError, match=why):
            summary.write(tmp_path)
        with pytest.raises(TakenOverError, match="nothing more is written"):
            lease.check(tmp_path)
    assert left(tmp_path) == (set() if gone else {lease.LEASE})
    lease.confirm(tmp_path)  # of no concern to who holds nothing


def test_the_lock_of_a_machine_that_is_gone_is_taken_over(run, clock):
    """A file server may keep the lock of a dead machine for ever."""
    import fcntl

    with (run / lock.LOCK).open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert clock.look(run, lease.EXPIRY)
        assert not clock.look(run, lease.BEAT)

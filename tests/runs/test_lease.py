"""Leases: one owner at a time where no lock is shared, and none that is gone."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
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


def test_the_lease_of_another_stays(run):
    lease.remove(run, b"what has expired")
    assert lease.read(run).owner == ELSEWHERE


def test_a_lease_that_came_between_look_and_renaming_is_put_back(run, monkeypatch):
    expired, read = lease.Lease(b"what has expired", (0, 0), None), lease.read
    looks = [expired]
    monkeypatch.setattr(lease, "read", lambda *where: looks.pop() if looks else read(*where))
    lease.remove(run, expired.content)
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


WORK = """
import errno, fcntl, os, random, sys, time
from pathlib import Path
from attnexp.runs import files, lease, lock

name, locks, root = sys.argv[1], sys.argv[2], Path(sys.argv[3])
lease.machine = lambda: (name, "boot")
lease.BEAT, lease.EXPIRY, lock.RETRY = 0.02, 0.3, 0.02
if locks == "local":
    lock.LOCK = f".lock-{name}"
else:
    def refuse(file, how):
        raise OSError(errno.ENOLCK, "No locks available")
    fcntl.flock = refuse
folders = [root / str(number) for number in range(int(sys.argv[4]))]
random.shuffle(folders)
while folders := [folder for folder in folders if not (folder / "done").exists()]:
    for folder in folders:
        try:
            with lock.hold(folder):
                if (folder / "done").exists():
                    continue
                time.sleep(random.uniform(0, 0.1))
                files.write_bytes(folder / "done", b"", lambda: lease.confirm(folder))
                with open(root / "audit", "a") as audit:
                    audit.write(f"{folder.name}\\n")
        except (lock.BusyError, lease.TakenOverError):
            continue
"""


@pytest.mark.slow
@pytest.mark.parametrize("locks", ["local", "none"])
def test_a_storm_over_holders_loses_nothing_and_does_nothing_twice(tmp_path, locks):
    """Two processes on each of three machines; all of them are killed or stopped again and again.

    A process that stands still within the microseconds between its last look and the rename is the
    one that no lease can stop: it is allowed once in the thousands of stops.
    """
    chance = random.Random(0)
    names = [name for name in "abc" for _ in range(2)]
    root = tmp_path / "root"
    root.mkdir()

    def start(name: str) -> subprocess.Popen:
        return subprocess.Popen([sys.executable, "-c", WORK, name, locks, str(root), "1500"])

    processes = [start(name) for name in names]
    asleep: dict[int, float] = {}
    counts: Counter[str] = Counter()
    end = time.monotonic() + 240
    while any(process.poll() is None for process in processes) and time.monotonic() < end:
        time.sleep(chance.uniform(0, 0.05))
        for place, until in list(asleep.items()):
            if time.monotonic() > until:
                processes[place].send_signal(signal.SIGCONT)
                del asleep[place]
        place = chance.randrange(len(names))
        if place in asleep or processes[place].poll() is not None:
            continue
        if chance.random() < 0.2:
            processes[place].kill()
            processes[place].wait()
            processes[place] = start(names[place])
            counts["killed"] += 1
        else:
            processes[place].send_signal(signal.SIGSTOP)
            asleep[place] = time.monotonic() + chance.uniform(0.05, 0.9)
            counts["stopped"] += 1
    for place in asleep:
        processes[place].send_signal(signal.SIGCONT)
    assert [process.wait(timeout=120) for process in processes] == [0] * len(names)
    assert len(list(root.glob("*/done"))) == 1500
    times = Counter((root / "audit").read_text().split())
    counts["doubled"] = sum(times.values()) - len(times)
    sys.stdout.write(f"{dict(counts)}\n")  # shown by -rP
    assert counts["doubled"] <= 1

"""Several machines at the same jobs in one folder, where no machine knows the locks of another.

A machine is a name that its processes take for that of their host. Its locks are files of its own,
as on a file system that keeps locks to each machine, or it has no locks at all.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from imported import IMPORTED
from sweeping import MACHINE, Started, begun, marked, statuses, until

EXPIRY = 2.0
"""Seconds without a sign of life after which a machine is given up here."""


class Machines:
    """Machines that run commands on the score that breaks, in one folder."""

    def __init__(self, start, home: Path, locks: str) -> None:
        self._start = start
        self._home = home
        self._locks = locks
        place = home / "machine"
        place.mkdir()
        (place / "sitecustomize.py").write_text(MACHINE)

    def run(self, name: str, *arguments: str, namespaces: bool = False) -> Started:
        """Start a command on a machine; its processes know the machine's name."""
        own = ("unshare", "--uts", "--net", "sh", "-c", 'hostname "$0"; exec "$@"', name)
        return self._start(
            *arguments,
            within=own if namespaces else (),
            PYTHONPATH=f"{self._home / 'machine'}:{IMPORTED}",
            MACHINE=name,
            LOCKS=self._locks,
            AUDIT=str(self._home / "finished.txt"),
            NAMESPACES="1" if namespaces else "",
        )

    def send(self, name: str, number: signal.Signals) -> None:
        """Send a signal to all processes of a machine."""
        for process in marked(self._start.mark):
            try:
                if f"MACHINE={name}\0".encode() in Path(f"/proc/{process}/environ").read_bytes():
                    os.kill(process, number)
            except OSError:
                continue  # it has just ended

    def finished(self) -> Counter[int]:
        """Return how often each job has been recorded as finished, by its seed."""
        file = self._home / "finished.txt"
        lines = file.read_text().splitlines() if file.exists() else []
        return Counter(int(line.split()[0]) for line in lines)


@pytest.fixture
def machines(start, home, request) -> Machines:
    return Machines(start, home, request.param)


@pytest.mark.slow
@pytest.mark.parametrize("machines", ["local"], indirect=True)
def test_the_jobs_of_a_machine_that_died_are_taken_over(machines, home):
    jobs = ("-m", "model.how=wait", "seed=0,1")
    first = machines.run("a", *jobs)
    until(lambda: begun(home))
    second = machines.run("b", *jobs)
    until(lambda: len(begun(home)) == 2)
    machines.send("a", signal.SIGKILL)
    first.end()
    (home / "go").touch()
    second.output()
    assert len(begun(home)) == 3
    assert machines.finished() == {0: 1, 1: 1}
    assert not list(home.glob("outputs/*/.lease*"))


@pytest.mark.slow
@pytest.mark.parametrize("machines", ["none"], indirect=True)
def test_a_machine_that_wakes_up_too_late_writes_nothing(machines, home):
    single = machines.run("a", "model.how=wait", "seed=0")
    until(lambda: begun(home))
    machines.send("a", signal.SIGSTOP)
    second = machines.run("b", "-m", "model.how=wait", "seed=0")
    until(lambda: second.said("waiting for 1 jobs that another process is running"))
    (home / "go").touch()
    second.output()
    files = {path: path.stat().st_mtime_ns for path in home.glob("outputs/*/*.*")}
    machines.send("a", signal.SIGCONT)
    code, out, err = single.end()
    assert code == 1, out + err
    assert "gave no sign of life" in err or "was removed" in err
    assert "nothing more is written" in err
    assert machines.finished() == {0: 1}
    assert statuses(home) == {"wait-0": "finished"}
    changed = [path.name for path, moment in files.items() if path.stat().st_mtime_ns != moment]
    assert set(changed) <= {"attnexp.log"}


def has_namespaces() -> bool:
    try:
        return subprocess.run(["unshare", "--uts", "--net", "true"], check=False).returncode == 0
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("machines", "namespaces"),
    [
        ("local", False),
        ("none", False),
        pytest.param(
            "none", True, marks=pytest.mark.skipif(not has_namespaces(), reason="no unshare")
        ),
    ],
    indirect=["machines"],
    ids=["local", "none", "namespaces"],
)
def test_a_storm_over_three_machines_loses_and_doubles_no_job(machines, namespaces, home, seed):
    """Machines are killed with all their processes, and begin anew, or stand still for a while."""
    chance = random.Random(seed)
    jobs = (
        *("-m", "hydra/launcher=parallel", "hydra.launcher.n_jobs=2", "seed=range(0,80)"),
        f"model.seconds={chance.choice((0.2, 1, 2))}",
    )
    running = {name: machines.run(name, *jobs, namespaces=namespaces) for name in "abc"}
    counts: Counter[str] = Counter()
    until(lambda: begun(home), seconds=120)
    end = time.monotonic() + 200
    while len(machines.finished()) < 80 and time.monotonic() < end:
        time.sleep(chance.uniform(0.1, 3))
        name = chance.choice("abc")
        if chance.random() < 0.5:
            machines.send(name, signal.SIGKILL)
            running[name].end()
            running[name] = machines.run(name, *jobs, namespaces=namespaces)
            counts["killed"] += 1
        else:
            machines.send(name, signal.SIGSTOP)
            time.sleep(chance.uniform(0.5, 2.5) * EXPIRY)
            machines.send(name, signal.SIGCONT)
            counts["stopped"] += 1
    ends = {name: command.end(timeout=300) for name, command in running.items()}
    assert {code for code, *_ in ends.values()} == {0}, ends
    assert set(statuses(home).values()) == {"finished"}
    assert len(statuses(home)) == 80
    assert max(machines.finished().values()) == 1
    assert not (home / "outputs" / ".plans").exists()
    sys.stdout.write(f"{dict(counts)}, {len(begun(home))} attempts\n")  # shown by -rP

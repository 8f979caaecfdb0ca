"""Workers that are forked: how they and their server end, and what the sweep makes of it."""

import os
import signal
import sys

import pytest
from sweeping import begun, marked, summaries, until

from attnexp.errors import RunFailedError
from attnexp.sweeps import fork_server, worker_process
from attnexp.sweeps.fork_server import ForkServer

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="workers are not forked there")


@pytest.fixture
def server():
    ours = ForkServer()
    yield ours
    ours.close()


def end_of(worker):
    """Wait until a worker has failed to start for good."""
    while True:
        list(worker_process.ended_jobs([worker]))


@pytest.mark.slow
def test_a_killed_server_costs_no_job_and_workers_still_end_and_begin(start, home):
    command = start(
        "-m", "hydra/launcher=parallel", "hydra.launcher.n_jobs=2", "model.seconds=2,60,0"
    )
    until(lambda: len(begun(home)) == 2)
    workers = {seconds: int(process) for _, seconds, process, *_ in begun(home)}
    (number,) = set(marked(start.mark)) - {*workers.values(), command.process.pid}
    os.kill(number, signal.SIGKILL)
    os.kill(workers["60"], signal.SIGKILL)
    code, out, err = command.end(timeout=60)
    assert code == 1
    assert "failed: model.seconds=60: its process does not answer" in out
    assert "Traceback" not in out + err
    ends = {one["config"]["model"]["seconds"]: one["status"] for one in summaries(home)}
    assert ends == {2: "finished", 60: "failed", 0: "finished"}
    assert marked(start.mark) == []


def test_a_server_that_does_not_start_says_why(server, monkeypatch):
    monkeypatch.setattr(fork_server, "PROGRAM", "raise SystemExit('there is no torch')")
    ours = worker_process.WorkerProcess({"OMP_NUM_THREADS": "1"}, server)
    ours.start()
    with pytest.raises(RunFailedError, match=r"exit code 1 \(there is no torch\)"):
        end_of(ours)


def test_what_is_not_forked_yet_is_not_waited_for(server, monkeypatch):
    monkeypatch.setattr(fork_server, "PROGRAM", "import time; time.sleep(600)")
    ours = worker_process.WorkerProcess({"OMP_NUM_THREADS": "1"}, server)
    ours.start()
    ours.close()
    assert ours.stop(0.0) == []


def test_a_server_that_cannot_fork_says_why(server, monkeypatch):
    program = (
        "import os, sys; sys.path[:] = {path}; import attnexp.sweeps.fork_server as s\n"
        "sys.modules['attnexp.config.build'] = s  # torch is not needed\n"
        "def fork():\n"
        "    raise BlockingIOError(11, 'Resource temporarily unavailable')\n"
        "s.os.fork = fork\n"
        "s.serve({fd})"
    )
    monkeypatch.setattr(fork_server, "PROGRAM", program)
    ours = worker_process.WorkerProcess({"OMP_NUM_THREADS": "1"}, server)
    ours.start()
    with pytest.raises(
        RunFailedError, match=r"exit code 1 \(cannot fork: Resource temporarily unavailable\)"
    ):
        end_of(ours)

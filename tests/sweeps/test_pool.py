"""Worker processes and their server: how they begin and end, and what a sweep makes of it."""

import multiprocessing
import os
import signal
import sys
import threading

import pytest
from omegaconf import OmegaConf
from sweeping import begun, marked, summaries, until

from attnexp.architectures import compiled
from attnexp.config.job import Job
from attnexp.core.errors import RunFailedError
from attnexp.runs.place import Place
from attnexp.runs.summary import read_summary
from attnexp.sweeps import pool

pytestmark = pytest.mark.skipif(not pool.FORKED, reason="workers are not forked here")


@pytest.fixture
def worker():
    ours = pool.WorkerProcess()
    yield ours
    ours.close()


def servers(mark):
    """The fork servers among the processes of a test."""
    found = []
    for number in marked(mark):
        with open(f"/proc/{number}/cmdline") as file:
            if "multiprocessing.forkserver" in file.read():
                found.append(number)
    return found


def test_a_killed_server_costs_no_job_and_workers_still_end_and_begin(start, home):
    command = start(
        "-m", "hydra/launcher=parallel", "hydra.launcher.n_jobs=2", "model.seconds=2,60,0"
    )
    until(lambda: len(begun(home)) == 2)
    workers = {seconds: int(process) for _, seconds, process, *_ in begun(home)}
    (server,) = set(servers(start.mark)) - set(workers.values())
    os.kill(server, signal.SIGKILL)
    os.kill(workers["60"], signal.SIGKILL)
    code, out, err = command.end(timeout=60)
    assert code == 1
    assert "failed: model.seconds=60: its process died without an exit code" in out
    assert "Traceback" not in out + err
    ends = {one["config"]["model"]["seconds"]: one["status"] for one in summaries(home)}
    assert ends == {2: "finished", 60: "failed", 0: "finished"}
    until(lambda: marked(start.mark) == [], seconds=20)


@pytest.mark.slow
def test_a_server_that_is_stopped_is_replaced(worker, monkeypatch, capsys):
    worker.start()
    server = worker._server
    os.kill(server, signal.SIGSTOP)
    other = pool.WorkerProcess()
    monkeypatch.setattr(pool, "START", 1.0)
    threading.Timer(1.5, monkeypatch.setattr, [pool, "START", 60.0]).start()
    other.start()
    assert other._server != server
    assert "a worker process does not start: its server has died or" in capsys.readouterr().out
    other.close()


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (EOFError(), "its server has died or was silent"),
        (OSError("AF_UNIX path too long"), "AF_UNIX path too long .TMPDIR="),
    ],
)
def test_a_worker_that_never_starts_ends_the_sweep_with_a_sentence(
    worker, monkeypatch, error, cause
):
    def refuse(preloaded):
        raise error

    monkeypatch.setattr(pool, "_running_server", refuse)
    with pytest.raises(RunFailedError, match=f"has not started in 3 attempts: .*{cause}"):
        worker.start()


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("raise MemoryError", "^a worker process does not start: memory has run out: "),
        ("raise ValueError('no')", "has not started in 3 attempts: ValueError: no$"),
    ],
)
def test_the_error_of_a_server_is_said_without_its_traceback(
    worker, monkeypatch, tmp_path, capfd, fault, sentence
):
    (tmp_path / "faulty.py").write_text(fault)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    pool._kill_server(pool._running_server())
    with pytest.raises(RunFailedError, match=sentence):
        worker.start(["faulty"])
    assert "Traceback" not in "".join(capfd.readouterr())


def test_a_process_that_was_killed_without_a_job_fails_no_job(worker, tmp_path):
    """The next job gets a new process, where it was once said to have died in the old one."""
    worker.start()
    first = worker._process
    first.kill()
    first.join()
    worker.submit([Job(OmegaConf.create(), {"batched": False}, Place(tmp_path, "key"))])
    assert worker._process is not first
    assert worker._process.exitcode is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("optimizer", "imports"), [("torch.optim.Adam", True), ("attnexp.training.optimizers.X", False)]
)
def test_the_server_imports_the_compiler_for_optimizers_that_need_it(
    worker, tmp_path, optimizer, imports
):
    pool._kill_server(pool._running_server())
    config = OmegaConf.create({"optim": {"_target_": optimizer}})
    worker.submit([Job(config, {"batched": False}, Place(tmp_path, "key"))])
    context = multiprocessing.get_context("forkserver")
    ours, theirs = context.Pipe()
    fork = context.Process(target=report_modules, args=(theirs,))
    fork.start()
    assert ("torch._dynamo" in ours.recv()) is imports
    fork.join()


def report_modules(pipe):
    pipe.send(list(sys.modules))


def test_the_server_takes_no_module_from_the_current_directory(worker, tmp_path, monkeypatch):
    (tmp_path / "torch.py").write_text("raise SystemExit('this is not torch')")
    monkeypatch.chdir(tmp_path)
    pool._kill_server(pool._running_server())
    worker.start()
    assert "PYTHONSAFEPATH" not in os.environ


def test_an_interrupt_while_the_timer_starts_leaves_no_timer(monkeypatch):
    """Python waits for threads at its end, but for those that are daemons."""
    started = []
    start = threading.Thread.start

    def interrupted(timer):
        start(timer)
        started.append(timer)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Timer, "start", interrupted)
    with pytest.raises(KeyboardInterrupt), pool._killed_after(None, 3600):
        pass
    (timer,) = started
    timer.join(10)
    assert not timer.is_alive()
    assert timer.daemon


def test_a_sweep_asks_a_compiler_that_hangs_once(unasked, succeeds, tmp_path, monkeypatch):
    compiler = tmp_path / "bin" / "cc"
    compiler.parent.mkdir()
    compiler.write_text(f"#!/bin/sh\necho asked >> {tmp_path}/calls\nexec sleep 77\n")
    compiler.chmod(0o700)
    monkeypatch.setenv("PATH", f"{compiler.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(compiled, "SECONDS", 0.2)
    small = ("data.num_train=4", "data.num_validation=2", "data.num_test=2", "arch.hidden_dim=4")
    two = ("hydra/launcher=parallel", "hydra.launcher.n_jobs=2", "train.max_epochs=1")
    for model in ("additive", "dot"):
        words = ("-m", "data=reverse", f"model={model}", "figures=false", *small, *two, "seed=1,2")
        said = succeeds(*words).stdout
        assert said.count("bin/cc has not answered in 0.2 seconds") == (model == "additive")
    assert (tmp_path / "calls").read_text() == "asked\n"
    notes = [read_summary(folder).notes for folder in tmp_path.glob("outputs/*-seed*")]
    assert [note.count("has not answered") for (note,) in notes] == [1] * 4


def test_no_compiler_is_asked_for_runs_that_call_no_steps(unasked, succeeds, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    words = ("-m", "data=reverse", "arch=rnn,transformer", "model=dot", "train.max_epochs=1")
    few = ("data.num_train=4", "data.num_validation=2", "data.num_test=2", "arch.heads=1")
    said = succeeds(*words, *few, "native=false", "figures=false", "seed=1").stdout
    assert "native:" not in said
    assert [read_summary(each).notes for each in tmp_path.glob("outputs/*-seed1-*")] == [[], []]

"""A worker process is ended by whoever has started it."""

import signal
import subprocess

import pytest
from omegaconf import OmegaConf

from attnexp.config.job import Job
from attnexp.sweeps import worker_process


def test_an_interrupt_while_a_process_starts_leaves_none(monkeypatch):
    """One that was started and is not known yet could not be ended."""
    popen, started = subprocess.Popen, []

    def interrupted(*arguments, **options):
        started.append(popen(*arguments, **options))
        signal.raise_signal(signal.SIGINT)
        return started[0]

    monkeypatch.setattr(worker_process.subprocess, "Popen", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    ours = worker_process.WorkerProcess()
    try:
        with pytest.raises(KeyboardInterrupt):
            ours.start()
    finally:
        signal.signal(signal.SIGINT, before)
        ours.close()
    assert started[0].returncode is not None


def test_a_process_that_was_killed_without_a_job_fails_no_job(tmp_path):
    """The next job gets a new process, where it was once said to have died in the old one."""
    ours = worker_process.WorkerProcess()
    try:
        ours.start()
        first = ours._process
        first.kill()
        first.wait()
        ours.submit([Job(OmegaConf.create(), tmp_path)])
        assert ours._process is not first
        assert ours._process.poll() is None
    finally:
        ours.close()

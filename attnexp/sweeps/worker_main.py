"""The main function of a worker process.

It receives jobs through a pipe and sends back their outcomes. The pipe closes when the parent
process ends: the worker then interrupts a job that is running, and ends.
"""

import faulthandler
import gc
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

from attnexp import console
from attnexp.config.job import Job, at_work, finished_before, register_resolvers
from attnexp.runs import files, lock
from attnexp.runs.summary import error_text, first_summary
from attnexp.sweeps.outcome import Outcome
from attnexp.sweeps.worker_process import GRACE, READY, log_name


def main(pipe_number: int) -> None:
    """Run the jobs that arrive, until the pipe closes or a job has spoiled the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # Ray's processes block it
    os.set_inheritable(pipe_number, False)
    pipe = Connection(pipe_number)
    jobs: SimpleQueue[bytes] = SimpleQueue()
    busy = threading.Event()
    threading.Thread(target=_receive, args=(pipe, jobs, busy), daemon=True).start()

    from attnexp.training import run  # noqa: F401  torch, imported before the first job arrives

    gc.freeze()  # the garbage collector need not search torch's modules again
    console.out.quiet = console.err.quiet = True
    register_resolvers()
    pipe.send(READY)
    while True:
        group: dict[int, Job] = pickle.loads(jobs.get())
        before = _global_settings()
        busy.set()
        for number, outcome in _run_interruptible(group):
            last = len(group) == 1 and spoiled(outcome, _global_settings() != before)
            del group[number]
            with suppress(OSError):  # the parent has ended
                pipe.send((number, outcome, last))
        busy.clear()
        if last:
            return


def run_job(job: Job) -> Outcome:
    """Run a job in its folder, unless it has finished or another process is running it."""
    try:
        with lock.hold(job.folder):
            if finished_before(job) is not None:
                return Outcome("skipped")
            with _output_to_log(job):
                at_work(job, partial(_build_and_train, job))
    except lock.BusyError as busy:
        return Outcome("busy", str(busy))
    except KeyboardInterrupt:
        return Outcome("interrupted")
    except BaseException as error:
        return Outcome("failed", error_text(error))
    return Outcome("done")


def spoiled(outcome: Outcome, changed: bool) -> bool:
    """Return whether a job has left the process in a state that could change the next job.

    It has if it changed a global setting, was interrupted or ran out of memory. A failure on a GPU
    may have broken the process's connection to it, so it counts too.
    """
    import torch

    if changed or outcome.status == "interrupted":
        return True
    out_of_memory = outcome.error is not None and "Memory" in outcome.error.partition(":")[0]
    return outcome.status == "failed" and (out_of_memory or torch.cuda.is_initialized())


def _build_and_train(job: Job) -> None:
    from attnexp.config import build
    from attnexp.training import run

    try:
        prepared = build.prepare(job.config, job.chosen)
    except BaseException as error:
        files.clear(job.folder)
        run.record_end(job.folder, first_summary(job.settings, job.chosen), error)
        raise
    run.execute(prepared, job.folder)


def _run_interruptible(job: Job) -> Outcome:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return run_job(job)
    except KeyboardInterrupt:
        return Outcome("interrupted")
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _receive(pipe: Connection, jobs: "SimpleQueue[bytes]", busy: threading.Event) -> None:
    """Receive jobs at once, so that sending one never blocks the parent."""
    try:
        while True:
            jobs.put(pipe.recv_bytes())
    except (EOFError, OSError):
        if busy.is_set():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(GRACE)
        os._exit(0)


@contextmanager
def _output_to_log(job: Job) -> Iterator[None]:
    """Write what the job prints, and the interpreter's report of a crash, into the job's log."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(1), os.dup(2)]
    with (job.folder / log_name(job)).open("ab") as log:
        for number in (1, 2):
            os.dup2(log.fileno(), number)
        faulthandler.enable(log)
        try:
            yield
        finally:
            faulthandler.disable()
            sys.stdout.flush()
            sys.stderr.flush()
            for number, file in zip((1, 2), kept, strict=True):
                os.dup2(file, number)
                os.close(file)


def _global_settings() -> tuple[Any, ...]:
    """Return the global settings that a job may change and that change what jobs compute."""
    import torch

    return (
        torch.get_default_dtype(),
        torch.get_default_device(),
        torch.is_grad_enabled(),
        torch.are_deterministic_algorithms_enabled(),
        torch.get_float32_matmul_precision(),
        os.getcwd(),
        dict(os.environ),
    )

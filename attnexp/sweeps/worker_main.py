"""A process of its own for jobs, from inside.

It reads jobs from the pipe and writes how each ended. When the pipe closes, whoever started it is
gone, and it ends: at once between jobs, and within a job by interrupting it.
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


def main(number: int) -> None:
    """Run jobs from the pipe with this file number, until it closes or a job leaves us unfit."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # Ray's processes block it
    os.set_inheritable(number, False)
    pipe = Connection(number)
    jobs: SimpleQueue[bytes] = SimpleQueue()
    busy = threading.Event()
    threading.Thread(target=_listen, args=(pipe, jobs, busy), daemon=True).start()

    from attnexp.training import run  # noqa: F401  torch, before the first job is waited for

    gc.freeze()  # torch stays, and is not to be looked through again and again
    console.out.quiet = console.err.quiet = True
    register_resolvers()
    pipe.send(READY)
    while True:
        job = pickle.loads(jobs.get())
        before = _traits()
        busy.set()
        outcome = _interruptible(job)
        busy.clear()
        last = unfit(outcome, _traits() != before)
        with suppress(OSError):  # nobody is there to hear it
            pipe.send((outcome, last))
        if last:
            return


def perform(job: Job) -> Outcome:
    """Run a job in its folder, unless it has finished or another process is at work on it."""
    try:
        with lock.hold(job.folder):
            if finished_before(job) is not None:
                return Outcome("skipped")
            with _output_to_log(job):
                at_work(job, partial(_attempt, job))
    except lock.BusyError as busy:
        return Outcome("busy", str(busy))
    except KeyboardInterrupt:
        return Outcome("interrupted")
    except BaseException as error:
        return Outcome("failed", error_text(error))
    return Outcome("done")


def unfit(outcome: Outcome, changed: bool) -> bool:
    """Whether a job has left the process in a state that would spoil the next one.

    That is so where it changed a global setting, was interrupted or ran out of memory, and after a
    failure on a GPU, which can leave the connection to it broken.
    """
    import torch

    if changed or outcome.status == "interrupted":
        return True
    out_of_memory = outcome.error is not None and "Memory" in outcome.error.partition(":")[0]
    return outcome.status == "failed" and (out_of_memory or torch.cuda.is_initialized())


def _attempt(job: Job) -> None:
    from attnexp.config import build
    from attnexp.training import run

    try:
        prepared = build.prepare(job.config, job.chosen)
    except BaseException as error:
        files.clear(job.folder)
        run.record_end(job.folder, first_summary(job.settings, job.chosen), error)
        raise
    run.execute(prepared, job.folder)


def _interruptible(job: Job) -> Outcome:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return perform(job)
    except KeyboardInterrupt:
        return Outcome("interrupted")
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _listen(pipe: Connection, jobs: "SimpleQueue[bytes]", busy: threading.Event) -> None:
    """Take in jobs as they come, so that whoever sends them never waits."""
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
    """What the job prints, or the interpreter as it crashes, goes into the job's log."""
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


def _traits() -> tuple[Any, ...]:
    """Global settings that a job might change, and that would change what the next one computes."""
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

"""The main function of a worker process.

It receives jobs through a pipe and sends back their outcomes. The pipe closes when the parent
process ends: the worker then interrupts a job that is running, and ends.
"""

import gc
import os
import pickle
import signal
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

from attnexp import console
from attnexp.config.job import Job, register_resolvers
from attnexp.sweeps.job_at_work import Report, run_job
from attnexp.sweeps.outcome import GRACE, READY, Outcome


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
        if _serve(pickle.loads(jobs.get()), pipe, busy):
            return


def _serve(group: dict[int, Job], pipe: Connection, busy: threading.Event) -> bool:
    """Run a group of jobs and send each outcome; return whether they have spoiled the process."""
    before, remaining, bad = _global_settings(), set(group), False

    def report(number: int, outcome: Outcome) -> None:
        nonlocal bad
        remaining.remove(number)
        bad = bad or spoiled(outcome, _global_settings() != before)
        with suppress(OSError):  # the parent has ended
            pipe.send((number, outcome, bad and not remaining))

    busy.set()
    _run_interruptible(group, report)
    busy.clear()
    return bad


def run_jobs(jobs: Mapping[int, Job], report: Report) -> None:
    """Run jobs in their folders, and report the outcome of each by its number.

    Those with batched=true train together.
    """
    if all(job.settings["batched"] for job in jobs.values()):
        from attnexp.sweeps.worker_group import run_group

        run_group(jobs, report)
        return
    for number, job in jobs.items():
        report(number, run_job(job))


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


def _run_interruptible(jobs: dict[int, Job], report: Report) -> None:
    """Run jobs that an interrupt ends."""
    ended: set[int] = set()

    def note(number: int, outcome: Outcome) -> None:
        ended.add(number)
        report(number, outcome)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run_jobs(jobs, note)
    except KeyboardInterrupt:
        for number in jobs.keys() - ended:
            note(number, Outcome("interrupted"))
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

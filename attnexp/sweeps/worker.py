"""A worker process: its main function, and how jobs run in it.

The worker receives groups of jobs through a pipe and sends back their outcomes. A second pipe, the
lifeline, carries nothing: when the parent process closes the lifeline or ends, the worker
interrupts its jobs and ends.
"""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from attnexp.architectures import compiled
from attnexp.config.job import Job
from attnexp.config.resolved import register_resolvers
from attnexp.core import console
from attnexp.runs.run_status import Status
from attnexp.sweeps.job_outcome import GRACE, JobOutcome
from attnexp.sweeps.run_job import Report, run_job

Serve = Callable[[Any, Connection], bool]
"""Answers an object received through a pipe, and returns whether the process must end."""


def main(
    pipe: Connection,
    lifeline: Connection,
    environment: Mapping[str, str],
    steps: compiled.Answer,
    serve: Serve,
) -> None:
    """Call `serve` with each received object, until a pipe closes or `serve` returns True.

    The process gets a session of its own, which Ctrl-C in a terminal does not reach, these
    environment variables, and the parent's knowledge of compiled `steps`. Output goes to the logs
    of jobs, and nowhere between jobs.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "setsid"):
        os.setsid()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.environ.clear()
    os.environ.update(environment)
    multiprocessing.current_process().daemon = False  # jobs may start processes
    console.screen.out.quiet = console.screen.err.quiet = True
    compiled.remember(steps)
    register_resolvers()
    with suppress(EOFError, OSError, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Thread(target=_interrupt_when_closed, args=(lifeline,), daemon=True).start()
        while not serve(pipe.recv(), pipe):
            pass


def _interrupt_when_closed(lifeline: Connection) -> None:
    """Interrupt the process when the lifeline closes, and end it if it still runs after GRACE."""
    with suppress(EOFError, OSError):
        lifeline.recv_bytes()
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(GRACE)
    os._exit(0)


def serve_jobs(group: dict[int, Job], pipe: Connection) -> bool:
    """Run a group of jobs and send each outcome; return whether the process must not be reused."""
    before, remaining, unusable = _global_settings(), set(group), False

    def report(number: int, outcome: JobOutcome) -> None:
        nonlocal unusable
        remaining.remove(number)
        unusable = unusable or leaves_unusable(outcome) or _global_settings() != before
        with suppress(OSError):  # the parent has ended
            pipe.send((number, outcome, unusable and not remaining))

    try:
        run_jobs(group, report)
    except KeyboardInterrupt:
        for number in sorted(remaining):
            report(number, JobOutcome(Status.INTERRUPTED))
    return unusable


def run_jobs(jobs: Mapping[int, Job], report: Report) -> None:
    """Run jobs in their folders, and report the outcome of each by its number.

    Those with batched=true train together.
    """
    if all(job.settings["batched"] for job in jobs.values()):
        from attnexp.sweeps.replicas import run_group

        run_group(jobs, report)
        return
    for number, job in jobs.items():
        report(number, run_job(job))


def leaves_unusable(outcome: JobOutcome) -> bool:
    """Return whether a job with this outcome may affect the next job of its process.

    True for a job that was interrupted, ran out of memory, or failed in a process with a GPU, as
    the failure may have broken the connection to the GPU.
    """
    import torch

    out_of_memory = outcome.error is not None and "Memory" in outcome.error.partition(":")[0]
    failed = outcome.status is Status.FAILED
    failed_badly = failed and (out_of_memory or torch.cuda.is_initialized())
    return outcome.status is Status.INTERRUPTED or failed_badly


def _global_settings() -> tuple[Any, ...]:
    """Return the global settings that a job may change and on which results depend."""
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

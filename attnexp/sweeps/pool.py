"""Starts and watches worker processes.

Jobs run in a worker one after another. With a process for each job, a sweep of short runs takes
twice as long: the first job of a process costs as much as two later ones, and a fork with its end
as much again. A job that exits, runs out of memory or is killed ends only its process; the next job
gets a new process. On Linux the standard library's fork server imports torch once and forks workers
in milliseconds; if the server dies, its workers live on, and a new server forks the next one.
Elsewhere each worker is a new process: Apple's libraries do not allow a fork after torch was
imported.
"""

import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing import Pipe, forkserver, resource_tracker
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any

from hydra.core.utils import env_override
from omegaconf import OmegaConf

from attnexp.architectures import compiled
from attnexp.config.job import Job
from attnexp.core import console
from attnexp.core.errors import MachineError, shortage
from attnexp.runs import lock
from attnexp.runs.files import UnreadableRunError
from attnexp.runs.place import Stamp, stamp
from attnexp.runs.run_status import Status
from attnexp.runs.summary import error_text, read_summary
from attnexp.sweeps import worker
from attnexp.sweeps.job_outcome import GRACE, JobOutcome

FORKED = sys.platform == "linux"
"""Whether workers are forked by a server."""

METHOD = "forkserver" if FORKED else "spawn"
"""The start method of the standard library by which workers are started."""

PRELOADED = "attnexp.sweeps.preload"

COMPILER = "torch._dynamo"
"""The module that an optimizer of `torch.optim` imports when it is made, in more than a second. The
fork server imports the module first if the jobs that start the server have such an optimizer."""

START = 60.0
"""Seconds for forking a worker, after which the server is replaced."""

STARTS = 3
"""The number of attempts to start a worker."""

_POLL = 0.2
"""Seconds between two checks of whether a process is alive."""

_RELEASE = 1.0
"""The most seconds until the system releases the lock of a dead process."""

_SERVER_DIED = 255
"""The exit code that the standard library gives to a worker whose server died first."""

Group = dict[int, tuple[Job, Stamp]]
"""Submitted jobs that have not ended, by number, with the stamps of summaries when submitted."""


class ChildProcess:
    """A process that is started when needed, and again when it has died.

    The process calls `serve` with each object that it receives: see `worker.main`. `environment` is
    added to the environment of this process.
    """

    def __init__(self, serve: worker.Serve, environment: Mapping[str, str] | None = None) -> None:
        self._serve = serve
        self._environment = dict(environment or {})
        self._process: BaseProcess | None = None
        self._server: int | None = None

    def start(self, preloaded: Sequence[str] = (PRELOADED,)) -> None:
        """Start the process. A stopped server, which would never fork, is replaced.

        Raises MachineError after three failed attempts, or for lack of memory or file descriptors.
        """
        if multiprocessing.get_start_method() not in multiprocessing.get_all_start_methods():
            multiprocessing.set_start_method(METHOD, force=True)  # joblib's, unknown to a worker
        for _ in range(STARTS):
            try:
                self._process = self._started(preloaded)
                return
            except EOFError:
                _kill_server(self._server)  # if it is dead already, it has said why
                cause = _last_error() or f"its server has died or was silent for {START:g} seconds"
            except OSError as error:
                cause = f"{error_text(error)} (TMPDIR={os.environ.get('TMPDIR', '/tmp')})"
            if short := shortage(cause):
                raise MachineError(f"a worker process does not start: {short}")
            console.warn(f"a worker process does not start: {cause}")
        raise MachineError(f"the worker process has not started in {STARTS} attempts: {cause}")

    def _started(self, preloaded: Sequence[str]) -> BaseProcess:
        """Start the process and its server, without modules from the current directory."""
        context: Any = multiprocessing.get_context(METHOD)
        environment = {**os.environ, **self._environment}
        self._pipe, pipe = Pipe()
        lifeline, self._lifeline = Pipe(duplex=False)
        theirs = (pipe, lifeline, environment, compiled.known(), self._serve)
        process: BaseProcess = context.Process(target=worker.main, args=theirs, daemon=True)
        with pipe, lifeline, env_override({"PYTHONSAFEPATH": "1"}):
            self._server = _running_server(preloaded)
            with _killed_after(self._server, START):
                process.start()
        return process

    def ask(self, question: object, seconds: float) -> Any:
        """Send a question to the process and return the answer.

        Raises TimeoutError without an answer after `seconds`, and ChildProcessError, at once, if
        the process has died.
        """
        end = time.monotonic() + seconds
        try:
            self._pipe.send(question)
            while not self._pipe.poll(_POLL):
                if time.monotonic() > end:
                    raise TimeoutError(f"no answer after {seconds:g} s")
            return self._pipe.recv()
        except (EOFError, ConnectionError) as error:
            raise ChildProcessError(self._death()) from error

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        self._lifeline.close()
        self._pipe.close()
        process.join(_POLL * 10)
        if process.exitcode is None:
            process.kill()
            process.join(_POLL * 10)
        if process.exitcode is None:
            _kill_server(self._server)  # which does not report the end of its workers

    def _death(self) -> str:
        """Wait for the end of a process that has closed its pipe, and return the cause."""
        assert self._process is not None
        self._process.join(GRACE)
        cause = _cause_of_death(self._process.exitcode)
        if self._process.exitcode == 1 and (error := _last_error()):
            cause += f": {shortage(error) or error}"
        self.close()
        return cause


class WorkerProcess(ChildProcess):
    """Runs jobs in a process.

    Jobs are sent in groups, usually of one job, and the next group after the end of the last.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        super().__init__(worker.serve_jobs, environment)
        self._group: Group = {}

    @property
    def busy(self) -> bool:
        """Whether there are jobs that have not ended."""
        return bool(self._group)

    def run(self, job: Job, on_wait: Callable[[], None]) -> JobOutcome:
        """Run one job and return its outcome.

        `on_wait` is called every 0.2 seconds. A KeyboardInterrupt of `on_wait` interrupts the job,
        and is raised after the job has ended.
        """
        self.submit([job])
        try:
            while not (ended := ended_jobs([self])):
                on_wait()
        except KeyboardInterrupt:
            self.interrupt()
            self.stop(time.monotonic() + GRACE)
            raise
        [(_, outcome)] = ended
        assert outcome is not None
        return outcome

    def submit(self, jobs: Sequence[Job]) -> None:
        """Send a group of jobs to the process. Raises MachineError as `start`."""
        if self._process is not None and self._process.exitcode is not None:
            self.close()  # it died while it had no job
        if self._process is None:
            self.start(preloaded_for(jobs))
        self._group = dict(enumerate((job, stamp(job.folder)) for job in jobs))
        with suppress(OSError):  # `receive` notices that the process is dead
            self._pipe.send(dict(enumerate(jobs)))

    def interrupt(self) -> None:
        """Interrupt the running jobs, without waiting for their end. The process ends then."""
        if self._process is not None:
            self._lifeline.close()

    def stop(self, end: float) -> None:
        """End the process. Interrupted jobs have until `end` to record their interruption.

        `end` is a time of `time.monotonic`.
        """
        group, self._group = self._group, {}
        with suppress(EOFError, OSError):
            while group and self._pipe.poll(max(0.0, end - time.monotonic())):
                number, _, _ = self._pipe.recv()
                del group[number]
        self.close()
        for job, before in group.values():
            if stamp(job.folder) != before:
                record_end(job, before, Status.INTERRUPTED, "interrupted")

    def receive(self) -> list[tuple[Job, JobOutcome | None]]:
        """Return jobs that have ended, with outcomes as in `ended_jobs`, without waiting."""
        try:
            if not self._pipe.poll():
                return []
            number, outcome, is_last = self._pipe.recv()
        except (EOFError, OSError):
            return self._dead()
        job, _ = self._group.pop(number)
        if is_last:
            self.close()
        return [(job, outcome)]

    def _dead(self) -> list[tuple[Job, JobOutcome | None]]:
        cause = self._death()
        group, self._group = self._group, {}
        if len(group) > 1:
            return [(job, None) for job, _ in group.values()]
        return [
            (job, record_end(job, before, Status.FAILED, cause)) for job, before in group.values()
        ]


def ended_jobs(workers: Sequence[WorkerProcess]) -> list[tuple[Job, JobOutcome | None]]:
    """Wait up to 0.2 seconds for workers that have jobs, and return the jobs that have ended.

    If a process with one job dies, the job has failed, also in its summary. If a process with
    several jobs dies, their outcome is None, as nobody knows which is at fault: run them again one
    by one.
    """
    wait([each._pipe for each in workers], _POLL)
    return [ended for each in workers for ended in each.receive()]


def preloaded_for(jobs: Sequence[Job]) -> tuple[str, ...]:
    """Return the modules that the fork server should import for jobs."""
    optimizers = [str(OmegaConf.select(job.config, "optim._target_")) for job in jobs]
    compiles = any(name.startswith("torch.optim.") for name in optimizers)
    return (PRELOADED, COMPILER) if compiles else (PRELOADED,)


def _running_server(preloaded: Sequence[str] = (PRELOADED,)) -> int | None:
    """Start the fork server unless it runs, and return its process id; None where none is used.

    The server and its workers inherit a blocked SIGINT, so that Ctrl-C does not reach them before
    they are ready.
    """
    if not FORKED:
        return None
    forkserver.set_forkserver_preload([*preloaded])
    resource_tracker.ensure_running()  # it would unblock SIGINT
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with _errors_kept():
            forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    number: int | None = forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined]
    return number


@cache
def _errors() -> int:
    """Return the file descriptor of standard error of the server and of new workers."""
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


@contextmanager
def _errors_kept() -> Iterator[None]:
    """Let processes started in a block write standard error to the file of `_errors`."""
    errors, own = _errors(), os.dup(2)
    try:
        os.dup2(errors, 2)
        yield
    finally:
        os.dup2(own, 2)
        os.close(own)


def _last_error() -> str:
    """Return the last line of a traceback of the server or a new worker, and clear the file."""
    if not FORKED:
        return ""
    text = os.pread(_errors(), os.fstat(_errors()).st_size, 0).decode(errors="replace")
    os.ftruncate(_errors(), 0)
    os.lseek(_errors(), 0, os.SEEK_SET)  # theirs, too
    return text.strip().rpartition("\n")[2] if "Traceback (most recent" in text else ""


@contextmanager
def _killed_after(server: int | None, seconds: float) -> Iterator[None]:
    timer = threading.Timer(seconds, _kill_server, [server])
    timer.daemon = True  # an interrupt while it starts must not make the command wait for its end
    try:
        timer.start()
        yield
    finally:
        timer.cancel()
        if timer.is_alive():
            timer.join()  # its pipes close before a killed server counts as dead


def _kill_server(number: int | None) -> None:
    """Kill the fork server with this process id and await its death, unless it was replaced.

    Python's own code collects the dead process.
    """
    if number is not None and number == forkserver._forkserver._forkserver_pid:  # type: ignore[attr-defined]
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(number, signal.SIGKILL)
            os.waitid(os.P_PID, number, os.WEXITED | os.WNOWAIT)


def record_end(job: Job, before: Stamp, status: Status, error: str) -> JobOutcome:
    """Write the end of a job whose process could not, and return the outcome.

    `before` is the stamp of the summary when the job was submitted: the job itself wrote a summary
    that has finished since then, which stays.
    """
    outcome = JobOutcome(status, error)
    end = time.monotonic() + _RELEASE
    while lock.is_held(job.folder) and time.monotonic() < end:
        time.sleep(_POLL / 10)
    # Where another process runs the job by now, or nothing can be written, nothing is recorded.
    with suppress(lock.BusyError, OSError), lock.hold(job.folder):
        try:
            summary = read_summary(job.folder)
        except UnreadableRunError:
            summary = job.first_summary()
        if summary.status is Status.FINISHED:
            return outcome if stamp(job.folder) == before else JobOutcome(Status.FINISHED)
        summary.ended_early(status, error).write(job.folder)
        with job.log.open("a", encoding="utf-8") as log:
            log.write(f"{error}\n")
    return outcome


def _cause_of_death(code: int | None) -> str:
    if code is None or code == _SERVER_DIED:
        return "its process died without an exit code"
    if code >= 0:
        return f"its process ended with exit code {code}"
    number = -code
    name = signal.Signals(number).name if number in set(signal.Signals) else "a signal"
    memory = ", perhaps for lack of memory" if number == signal.SIGKILL else ""
    return f"its process was killed by signal {number} ({name}){memory}"

"""Worker processes, as the process that starts them sees them.

Jobs run there one after another, so that torch is imported once. A job that exits, runs out of
memory or is killed ends that process alone: the next job gets a new one. On Linux the standard
library's fork server imports torch once and forks workers in milliseconds; where it dies, its
workers live on, and the next one is forked by a new server. Elsewhere each worker is a new process:
Apple's libraries do not allow that a process is forked that has imported torch.
"""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from multiprocessing import Pipe, forkserver, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from hydra.core.utils import env_override

from attnexp import console
from attnexp.config.job import Job
from attnexp.errors import RunFailedError
from attnexp.runs import lock
from attnexp.runs.files import UnreadableRunError
from attnexp.runs.place import Stamp, stamp
from attnexp.runs.status import Status
from attnexp.runs.summary import read_summary
from attnexp.sweeps import worker
from attnexp.sweeps.outcome import GRACE, INTERRUPT, READY, Outcome

FORKED = sys.platform == "linux"
"""Whether workers are forked by a server."""

METHOD = "forkserver" if FORKED else "spawn"
"""The start method of the standard library by which workers are started."""

PRELOADED = "attnexp.sweeps.preload"
"""The module that the fork server imports."""

START = 60.0
"""Seconds that a worker may take to start. Then its server is replaced."""

STARTS = 3
"""How often in a row a worker may fail to start."""

_POLL = 0.2
"""Seconds between two checks of whether a process is alive."""

_RELEASE = 1.0
"""Seconds in which the system releases the lock of a process that has just died, at the most."""

LONGEST_FOLDER = 70
"""Characters of a temporary folder in which a socket can have its name, which Linux keeps short."""

_SERVER_DIED = 255
"""The exit code that the standard library gives to a worker whose server died before it."""

Group = dict[int, tuple[Job, Stamp]]
"""The jobs that were sent together and have not ended, by their number, with the stamps before."""


class WorkerProcess:
    """Runs jobs in a process, which is started when needed and again when it has died.

    Jobs are sent in groups, most of them of one. Where the process dies, the jobs of a larger group
    are sent again one by one, so that one of them does not end the others. `environment` is added
    to the environment of this process.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = dict(environment or {})
        self._process: BaseProcess | None = None
        self._server: int | None = None
        self._pipe: Connection | None = None
        self._ready = False
        self._ready_by = 0.0
        self._failed_starts = 0
        self._submitted: deque[Group] = deque()

    @property
    def submitted(self) -> int:
        """The number of submitted groups that have not ended."""
        return len(self._submitted)

    def start(self) -> None:
        """Start the process unless it has been started. Returns before it is ready.

        A thread waits for the server to fork the process, which a server that is stopped never
        does.
        """
        if self._process is not None:
            return
        self._server = _running_server()
        self._pipe, theirs = Pipe()
        environment = {**os.environ, **self._environment}
        if multiprocessing.get_start_method() not in multiprocessing.get_all_start_methods():
            multiprocessing.set_start_method(METHOD, force=True)  # joblib's, unknown to a worker
        context: Any = multiprocessing.get_context(METHOD)
        self._process = context.Process(target=worker.main, args=(theirs, environment), daemon=True)
        self._ready, self._ready_by = False, time.monotonic() + START
        threading.Thread(target=_launch, args=(self._process, theirs), daemon=True).start()

    def run(self, job: Job, on_wait: Callable[[], None]) -> Outcome | None:
        """Run one job and return its outcome, or None where it was interrupted before it began.

        `on_wait` is called every 0.2 seconds. A KeyboardInterrupt that it raises interrupts the
        job. Raises RunFailedError as `ended_jobs` does.
        """
        ended: Iterable[tuple[Job, Outcome]] = ()
        try:
            self.submit([job])
            while not (ended := tuple(ended_jobs([self]))):
                on_wait()
        except KeyboardInterrupt:
            self.interrupt()
            ended = self.stop(time.monotonic() + GRACE)
        return next((outcome for _, outcome in ended), None)

    def submit(self, jobs: Sequence[Job]) -> None:
        """Send a group of jobs to the process. It starts when those sent before it have ended."""
        if not self._submitted and self._process is not None and self._process.exitcode is not None:
            self.close()  # it died while it had no job
        self.start()
        self._submitted.append(dict(enumerate((job, stamp(job.folder)) for job in jobs)))
        if self._ready:
            self._send(self._submitted[-1])

    def interrupt(self) -> None:
        """Interrupt the running job, without waiting for its end."""
        if self._pipe is not None and self._ready and self._submitted:
            with suppress(OSError):
                self._pipe.send_bytes(INTERRUPT)

    def stop(self, end: float) -> list[tuple[Job, Outcome]]:
        """End the process, and return the interrupted jobs with their outcomes.

        They have until the moment `end` of `time.monotonic` to record their interruption.
        """
        ended = []
        if self._pipe is not None and self._ready and self._submitted:
            group = self._submitted.popleft()
            with suppress(EOFError, OSError):
                while group and self._pipe.poll(max(0.0, end - time.monotonic())):
                    number, outcome, _ = self._pipe.recv()
                    ended.append((group.pop(number)[0], outcome))
            self.close()
            for job, before in group.values():
                ended.append((job, record_end(job, before, Status.INTERRUPTED, "interrupted")))
        self._submitted.clear()
        self.close()
        return ended

    def close(self) -> None:
        """End the process. One that has not started yet ends when it finds its pipe closed."""
        process, self._process, self._ready = self._process, None, False
        if process is None or self._pipe is None:
            return
        self._pipe.close()
        if process.pid is None:
            return
        process.join(_POLL * 10)
        if process.exitcode is None:
            process.kill()
            process.join(_POLL * 10)
        if process.exitcode is None:
            _kill_server(self._server)  # which does not report the end of its workers

    def receive(self) -> tuple[Job, Outcome] | None:
        """Return a job of the oldest group that has ended, with its outcome, or None."""
        assert self._pipe is not None
        message: Any = None
        try:
            if not self._pipe.poll():
                self._check_start()
                return None
            message = self._pipe.recv()
        except (EOFError, OSError):
            return self._dead()
        if message == READY:
            self._ready, self._failed_starts = True, 0
            for group in self._submitted:
                self._send(group)
            return None
        if isinstance(message, str):
            self._failed_start(message)
            return None
        number, outcome, is_last = message
        job, _ = self._submitted[0].pop(number)
        if not self._submitted[0]:
            self._submitted.popleft()
        if is_last:
            self.close()
        return job, outcome

    def _dead(self) -> tuple[Job, Outcome] | None:
        """Return a job that ran alone in the process that has died, or None where none did."""
        assert self._process is not None
        if self._process.pid is not None:
            self._process.join(GRACE)
        ready, cause = self._ready, _cause_of_death(self._process.exitcode)
        self.close()
        if not ready:
            self._failed_start(cause)
            return None
        group = self._submitted.popleft()
        if len(group) > 1:
            self._submitted.extendleft({number: group[number]} for number in reversed(group))
            return None
        [(job, before)] = group.values()
        return job, record_end(job, before, Status.FAILED, cause)

    def _check_start(self) -> None:
        """Give up a start that takes too long, and the server with it."""
        if not self._ready and time.monotonic() > self._ready_by:
            cause = f"it was not ready after {START:g} seconds"
            console.warn(f"a worker process does not start, {cause}: trying again")
            _kill_server(self._server)
            self._failed_start(cause)

    def _failed_start(self, cause: str) -> None:
        self.close()
        self._failed_starts += 1
        if self._failed_starts == STARTS:
            raise RunFailedError(f"the worker process does not start: {cause}")

    def _send(self, group: Group) -> None:
        assert self._pipe is not None
        with suppress(OSError):  # `receive` notices that the process is dead
            self._pipe.send({number: job for number, (job, _) in group.items()})


def ended_jobs(workers: Sequence[WorkerProcess]) -> Iterator[tuple[Job, Outcome]]:
    """Wait up to 0.2 seconds for workers that have jobs, and yield each job that has ended.

    Where a process dies, a job that ran in it alone has failed, and this is written into the job's
    summary. The next job of the worker gets a new process. Raises RunFailedError where the process
    of a worker fails to start three times in a row.
    """
    for each in workers:
        each.start()
    wait([each._pipe for each in workers if each._pipe is not None], _POLL)
    for each in workers:
        if (ended := each.receive()) is not None:
            yield ended


def _running_server() -> int | None:
    """Start the fork server unless it runs, and return its process number; None without one.

    Its modules do not come from the current directory, and Ctrl-C reaches neither it nor its
    workers before they are ready for it: they inherit that SIGINT is blocked.
    """
    if not FORKED:
        return None
    forkserver.set_forkserver_preload([PRELOADED])
    with env_override({"PYTHONSAFEPATH": "1"}):
        resource_tracker.ensure_running()  # it would unblock SIGINT
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            forkserver.ensure_running()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    number: int | None = forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined]
    return number


def _kill_server(number: int | None) -> None:
    """Kill the fork server with this process number, unless another has taken its place."""
    if number is not None and number == forkserver._forkserver._forkserver_pid:  # type: ignore[attr-defined]
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


def _launch(process: BaseProcess, pipe: Connection) -> None:
    """Start a process, and close the end of the pipe that is its own."""
    with pipe, suppress(OSError, EOFError):  # the server has died: the closed pipe says so
        process.start()


def record_end(job: Job, before: Stamp, status: Status, error: str) -> Outcome:
    """Write the end of a job whose process could not, and return the outcome.

    `before` is the stamp of the summary when the job was submitted: a summary that has finished
    since then is the job's own, and stays.
    """
    outcome = Outcome(status, error)
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
            return outcome if stamp(job.folder) == before else Outcome(Status.FINISHED)
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

"""A worker process, as the process that starts it sees it.

Jobs run there one after another, so that torch is imported once. A job that exits, runs out of
memory or is killed ends that process alone: the next job gets a new one. The worker has a session
of its own, so that Ctrl-C does not reach it directly, and it ends by itself when its parent has
ended.
"""

import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import Pipe
from multiprocessing.connection import wait
from typing import IO, Any, Literal

from attnexp.config.job import Job
from attnexp.errors import RunFailedError, temporary
from attnexp.redaction import redacted
from attnexp.runs import lock
from attnexp.runs.files import UnreadableRunError
from attnexp.runs.state import Stamp, stamp
from attnexp.runs.summary import first_summary, read_summary
from attnexp.sweeps.fork_server import UNKNOWN, ForkedProcess, ForkServer, start_python
from attnexp.sweeps.outcome import GRACE, READY, Outcome

PROGRAM = "import sys; sys.path[:] = {path}; import attnexp.sweeps.worker_main as m; m.main({pipe})"
"""The program of a worker process. It has this process's import path."""

_POLL = 0.2
"""Seconds between two checks of whether a process is alive."""

_RELEASE = 1.0
"""Seconds in which the system releases the lock of a process that has just died, at the most."""

_STARTS = 3
"""How often in a row a process may die before it is ready."""


Group = dict[int, tuple[Job, Stamp]]
"""The jobs that were sent together and have not ended, by their number, with the stamps before."""


class WorkerProcess:
    """Runs jobs in a process, which is started when needed and again when it has died.

    Jobs are sent in groups, most of them of one. Where the process dies, the jobs of a larger group
    are sent again one by one, so that one of them does not end the others.

    `environment` is added to the environment of this process. The process is forked by the server
    where one is given, and else started anew.
    """

    def __init__(
        self, environment: Mapping[str, str] | None = None, server: ForkServer | None = None
    ) -> None:
        self._environment = dict(environment or {})
        self._server = server
        self._process: subprocess.Popen[bytes] | ForkedProcess | None = None
        self._pipe: Any = None
        self._output: IO[bytes] | None = None
        self._ready = False
        self._dead_starts = 0
        self._submitted: deque[Group] = deque()

    def start(self) -> None:
        """Start the process unless it has been started. Returns before it is ready."""
        if self._process is not None:
            return
        with temporary():
            self._output = tempfile.TemporaryFile()  # noqa: SIM115
        self._pipe, theirs = Pipe()
        program = PROGRAM.format(path=sys.path, pipe=theirs.fileno())
        with _delayed_interrupt():
            self._process = (
                self._server.fork(self._environment, theirs, self._output)
                if self._server
                else start_python(program, self._environment, theirs.fileno(), self._output)
            )
        theirs.close()
        self._ready = False
        for group in self._submitted:
            self._send(group)

    @property
    def submitted(self) -> int:
        """The number of submitted groups that have not ended."""
        return len(self._submitted)

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
        if not self._submitted and self._process is not None and self._process.poll() is not None:
            self.close()  # it died while it had no job
        self.start()
        self._submitted.append(dict(enumerate((job, stamp(job.folder)) for job in jobs)))
        self._send(self._submitted[-1])

    def interrupt(self) -> None:
        """Interrupt the running job, without waiting for its end."""
        if self._process is not None and self._ready and self._submitted:
            self._process.send_signal(signal.SIGINT)

    def stop(self, end: float) -> list[tuple[Job, Outcome]]:
        """End the process, and return the interrupted jobs with their outcomes.

        They have until the moment `end` of `time.monotonic` to record their interruption.
        """
        ended = []
        if self._process is not None and self._ready and self._submitted:
            group = self._submitted.popleft()
            with suppress(EOFError, OSError):
                while group and self._pipe.poll(max(0.0, end - time.monotonic())):
                    number, outcome, _ = self._pipe.recv()
                    ended.append((group.pop(number)[0], outcome))
            self.close()
            for job, before in group.values():
                ended.append((job, record_end(job, before, "interrupted", "interrupted")))
        self._submitted.clear()
        self.close()
        return ended

    def close(self) -> None:
        """End the process."""
        if self._process is None:
            return
        self._pipe.close()
        try:
            self._process.wait(timeout=_POLL * 10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None
        if self._output is not None:
            self._output.close()

    def _send(self, group: Group) -> None:
        with suppress(OSError):  # `_receive` notices that the process is dead
            self._pipe.send({number: job for number, (job, _) in group.items()})

    def _receive(self) -> tuple[Job, Outcome] | None:
        """Return a job of the oldest group that has ended, with its outcome, or None."""
        assert self._process is not None
        dead = self._process.poll() is not None
        message = None
        with suppress(EOFError, OSError):
            if self._pipe.poll():
                message = self._pipe.recv()
            elif not dead:
                return None
        if message == READY:
            self._ready, self._dead_starts = True, 0
        elif message is not None:
            number, outcome, last = message
            job, _ = self._submitted[0].pop(number)
            if not self._submitted[0]:
                self._submitted.popleft()
            if last:
                self.close()
            return job, outcome
        else:
            ready, cause = self._ready, self._clear_dead_process()
            if ready:
                group = self._submitted.popleft()
                if len(group) > 1:
                    singles = [{number: entry} for number, entry in group.items()]
                    self._submitted.extendleft(reversed(singles))
                    return None
                [(job, before)] = group.values()
                return job, record_end(job, before, "failed", cause)
            self._dead_starts += 1
            if self._dead_starts == _STARTS:
                raise RunFailedError(f"the process for jobs does not start: {cause}")
        return None

    def _clear_dead_process(self) -> str:
        """Close the dead process, and return how it died with its last line of output."""
        assert self._process is not None
        assert self._output is not None
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=GRACE)
        code = self._process.poll()
        last_line = _last_line(self._output)
        if not last_line and self._server and self._server.output:
            last_line = _last_line(self._server.output)
        self.close()
        return " ".join(filter(None, [_cause_of_death(code), last_line and f"({last_line})"]))


def ended_jobs(workers: Sequence[WorkerProcess]) -> Iterator[tuple[Job, Outcome]]:
    """Wait up to 0.2 seconds for workers that have jobs, and yield each job that has ended.

    Where a process dies, a job that ran in it alone has failed, and this is written into the job's
    summary. The next job of the worker gets a new process. Raises RunFailedError where the process
    of a worker dies three times in a row before it can run any job.
    """
    for worker in workers:
        worker.start()
    wait([worker._pipe for worker in workers], _POLL)
    for worker in workers:
        if (ended := worker._receive()) is not None:
            yield ended


@contextmanager
def _delayed_interrupt() -> Iterator[None]:
    """Deliver Ctrl-C only after the block, in which a process is started.

    An interrupt within Popen would leave a process that nobody could end. Only the main thread
    receives Ctrl-C.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if received and callable(before):
        before(received[0], None)


def record_end(
    job: Job, before: Stamp, status: Literal["failed", "interrupted"], error: str
) -> Outcome:
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
            summary = first_summary(job.settings, job.chosen, job.command)
        if summary.status == "finished":
            return outcome if stamp(job.folder) == before else Outcome("done")
        summary.ended_early(status, error).write(job.folder)
        with job.log.open("a", encoding="utf-8") as log:
            log.write(f"{redacted(error)}\n")
    return outcome


def _last_line(output: IO[bytes]) -> str:
    output.seek(0)
    return output.read().decode(errors="replace").strip().rpartition("\n")[2]


def _cause_of_death(code: int | None) -> str:
    if code is None or code == UNKNOWN:
        return "its process does not answer"
    if code >= 0:
        return f"its process ended with exit code {code}"
    number = -code
    name = signal.Signals(number).name if number in set(signal.Signals) else "a signal"
    memory = ", perhaps for want of memory" if number == signal.SIGKILL else ""
    return f"its process was killed by signal {number} ({name}){memory}"

"""A process of its own for jobs, seen from outside.

Jobs run there one after another, so torch is imported once. Whatever a job does to its process,
exit, run out of memory, be killed, ends that process and nothing else: the next job gets a new one.
The process has a session of its own, so Ctrl-C reaches it only through us, and it ends by itself
when we are gone.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from multiprocessing import Pipe
from typing import IO, Any, Literal

from attnexp.config.job import Job
from attnexp.errors import RunFailedError
from attnexp.runs import lock
from attnexp.runs.files import UnreadableRunError
from attnexp.runs.state import Stamp, stamp
from attnexp.runs.summary import first_summary, read_summary
from attnexp.sweeps.outcome import Outcome

BOOT = "import sys; sys.path[:] = {path}; import attnexp.sweeps.worker_main as m; m.main({number})"
"""What the process is given to run: it imports what we would import."""

READY = "ready"
"""What the process says when it has imported all that jobs need."""

GRACE = 10.0
"""Seconds that an interrupted job has to record that it was."""

_GLANCE = 0.2
"""Seconds between two looks at whether the process is alive."""

_STARTS = 3
"""How often in a row a process may die before it is ready."""


class Worker:
    """Runs jobs in a process of its own, which is started when needed and again when it has died.

    `environment` is added to that of this process.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = dict(environment or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Any = None
        self._output: IO[bytes] | None = None
        self._ready = False
        self._dead_starts = 0
        self._sent: deque[tuple[Job, Stamp]] = deque()

    def start(self) -> None:
        """Start the process unless it runs. It gets ready while we go on."""
        if self._process is not None:
            return
        self._pipe, theirs = Pipe()
        self._output = tempfile.TemporaryFile()  # noqa: SIM115
        options = [f"-W{option}" for option in sys.warnoptions]
        program = BOOT.format(path=sys.path, number=theirs.fileno())
        with _undisturbed():
            self._process = subprocess.Popen(
                [sys.executable, *options, "-c", program],
                # Threads that wait without spinning leave the cores to other processes.
                env={"OMP_WAIT_POLICY": "PASSIVE", **os.environ, **self._environment},
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=self._output,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        theirs.close()
        self._ready = False
        for job, _ in self._sent:
            self._send(job)

    def submit(self, job: Job) -> None:
        """Hand over a job. It starts when those handed over before have ended."""
        self.start()
        self._sent.append((job, stamp(job.folder)))
        self._send(job)

    def wait(self, glance: Callable[[], None] = lambda: None) -> Outcome:
        """How the oldest job ended of those that were handed over. `glance` is called meanwhile.

        A job whose process died has failed, and its summary says so. Raises RunFailedError where
        the process dies before it can run any job.
        """
        while True:
            self.start()
            heard = self._hear(glance)
            if heard == READY:
                self._ready, self._dead_starts = True, 0
            elif heard is not None:
                outcome, last = heard
                self._sent.popleft()
                if last:
                    self.close()
                return outcome
            else:
                ready, death = self._ready, self._bury()
                if ready:
                    return record_end(*self._sent.popleft(), "failed", death)
                self._dead_starts += 1
                if self._dead_starts == _STARTS:
                    raise RunFailedError(f"the process for jobs does not start: {death}")

    def interrupt(self) -> Outcome | None:
        """Interrupt the job that runs, if any, end the process, and return how the job ended."""
        if self._process is None:
            return None
        outcome = None
        if self._ready and self._sent:
            self._process.send_signal(signal.SIGINT)
            end = time.monotonic() + GRACE
            with suppress(EOFError, OSError):
                while outcome is None and time.monotonic() < end:
                    if self._pipe.poll(_GLANCE):
                        outcome, _ = self._pipe.recv()
            job, before = self._sent.popleft()
            self.close()
            outcome = outcome or record_end(job, before, "interrupted", "interrupted")
        self._sent.clear()
        self.close()
        return outcome

    def close(self) -> None:
        """End the process."""
        if self._process is None:
            return
        self._pipe.close()
        try:
            self._process.wait(timeout=_GLANCE * 10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None
        if self._output is not None:
            self._output.close()

    def _send(self, job: Job) -> None:
        with suppress(OSError):  # a dead process is noticed where its answer is awaited
            self._pipe.send(job)

    def _hear(self, glance: Callable[[], None]) -> Any:
        """What the process says next, or None when it is dead."""
        assert self._process is not None
        try:
            while not self._pipe.poll(_GLANCE):
                glance()
                if self._process.poll() is not None and not self._pipe.poll(0):
                    return None
            return self._pipe.recv()
        except (EOFError, OSError):
            return None

    def _bury(self) -> str:
        """Clear away the dead process, and return how it died."""
        assert self._process is not None
        assert self._output is not None
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=GRACE)
        code = self._process.poll()
        self._output.seek(0)
        last_words = self._output.read().decode(errors="replace").strip().rpartition("\n")[2]
        self.close()
        return " ".join(filter(None, [_death(code), last_words and f"({last_words})"]))


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Put off Ctrl-C until the block has ended.

    A process that was started while it is not known yet which one it is could not be ended. Only
    the main thread hears of Ctrl-C.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if heard and callable(before):
        before(heard[0], None)


def record_end(
    job: Job, before: Stamp, status: Literal["failed", "interrupted"], why: str
) -> Outcome:
    """Record in place of its process how a job ended, unless the process has done so.

    `before` is the stamp of the summary when the job was handed over.
    """
    outcome = Outcome(status, why)
    try:
        with lock.hold(job.folder):
            try:
                summary = read_summary(job.folder)
            except UnreadableRunError:
                summary = first_summary(job.settings, job.chosen)
            own = stamp(job.folder) != before
            if summary.status == "finished":
                return Outcome("done") if own else outcome
            summary.ended_early(status, why).write(job.folder)
            with (job.folder / log_name(job)).open("a", encoding="utf-8") as log:
                log.write(f"{why}\n")
    except (
        lock.BusyError,
        OSError,
    ):  # somebody else has the job already, or nothing can be written
        pass
    return outcome


def log_name(job: Job) -> str:
    """The file that Hydra logs a job to."""
    return f"{job.config.hydra.job.name}.log"


def _death(code: int | None) -> str:
    if code is None:
        return "its process does not answer"
    if code >= 0:
        return f"its process ended with exit code {code}"
    number = -code
    name = signal.Signals(number).name if number in set(signal.Signals) else "a signal"
    memory = ", perhaps for want of memory" if number == signal.SIGKILL else ""
    return f"its process was killed by signal {number} ({name}){memory}"

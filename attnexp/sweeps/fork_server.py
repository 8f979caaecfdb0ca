"""A process that imports torch once and forks worker processes, which then start in milliseconds.

It runs no job, starts no thread and does not touch a GPU, so that a fork of it is as good as a new
process. Where it dies, its workers live on, and the next one is forked by a new server.
"""

import gc
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import IO

from attnexp.errors import temporary

PROGRAM = "import sys; sys.path[:] = {path}; import attnexp.sweeps.fork_server as s; s.serve({fd})"
"""The program of a fork server. It has this process's import path."""

BRIEF = 0.2
"""Seconds in which the death of a server is noticed."""

UNKNOWN = -(2**15)
"""Stands for the exit code of a worker whose server died before it."""

SAFE = sys.platform != "darwin"
"""Whether a process that has imported torch may be forked. Apple's libraries do not allow it."""


class ForkedProcess:
    """A process that a server forks, with the methods of `subprocess.Popen` that workers need.

    The server reports through `reports` the number of the process, and later its exit code. The
    process has that pipe open too, so that it closes when both are dead.
    """

    def __init__(self, reports: Connection, server: subprocess.Popen[bytes]) -> None:
        self._reports = reports
        self._server = server
        self._number: int | None = None
        self._exit_code: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal, or None while the process runs."""
        self._read_reports(0)
        return self._exit_code

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit code. What is not forked yet is hardly waited for.

        Raises TimeoutExpired where the end does not come in time.
        """
        self.poll()
        self._read_reports(BRIEF if self._number is None else timeout)
        if self._exit_code is None and self._number is not None:
            raise subprocess.TimeoutExpired("worker process", timeout or 0.0)
        return -signal.SIGKILL if self._exit_code is None else self._exit_code

    def send_signal(self, signal_number: int) -> None:
        """Send a signal to the process where it runs."""
        if self.poll() is None and self._number is not None:
            with suppress(ProcessLookupError):
                os.kill(self._number, signal_number)

    def kill(self) -> None:
        """Kill the process where it runs."""
        self.send_signal(signal.SIGKILL)

    def _read_reports(self, timeout: float | None) -> None:
        """Read what the server reports until the process has ended, or for so many seconds."""
        end = time.monotonic() + (timeout or 0.0)
        while self._exit_code is None:
            if not self._reports.poll(timeout and max(0.0, end - time.monotonic())):
                return
            try:
                report = self._reports.recv()
            except (EOFError, OSError):
                self._exit_code = UNKNOWN if self._number else self._end_of_server()
                return
            if self._number is None:
                self._number = report
            else:
                self._exit_code = report

    def _end_of_server(self) -> int:
        """Return the exit code of the server, or 1 where it lives and could not fork."""
        try:
            return self._server.wait(timeout=BRIEF)
        except subprocess.TimeoutExpired:
            return 1


class ForkServer:
    """A fork server, as the process that starts it sees it.

    It is started when a worker is first asked for, and again when it has died.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None
        self.output: IO[bytes] | None = None

    def fork(
        self, environment: Mapping[str, str], pipe: Connection, output: IO[bytes]
    ) -> ForkedProcess:
        """Return a worker process, without waiting until it is forked.

        It has one end of a pipe for jobs, an output file, and these environment variables besides
        those of this process, among them OMP_NUM_THREADS.
        """
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._start()
        assert self._process is not None
        assert self._requests is not None
        ours, theirs = Pipe(duplex=False)
        files = [pipe.fileno(), output.fileno(), theirs.fileno()]
        with suppress(OSError):  # the server has just died, which `poll` notices
            socket.send_fds(self._requests, [pickle.dumps(dict(environment))], files)
        theirs.close()
        return ForkedProcess(ours, self._process)

    def close(self) -> None:
        """End the server. Its workers live on."""
        if self._process is None or self._requests is None or self.output is None:
            return
        self._requests.close()
        self._process.kill()
        self._process.wait()
        self.output.close()
        self._process = self._requests = self.output = None

    def _start(self) -> None:
        with temporary():
            self.output = tempfile.TemporaryFile()  # noqa: SIM115
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = start_python(
            PROGRAM.format(path=sys.path, fd=theirs.fileno()),
            {"OMP_NUM_THREADS": "1"},  # a fork would not have the threads of numpy
            theirs.fileno(),
            self.output,
        )
        theirs.close()


def start_python(
    program: str, environment: Mapping[str, str], file: int, output: IO[bytes]
) -> subprocess.Popen[bytes]:
    """Start a Python process in a session of its own. It inherits a file besides its output."""
    options = [f"-W{option}" for option in sys.warnoptions]
    return subprocess.Popen(
        [sys.executable, *options, "-c", program],
        # Threads that wait without spinning leave the cores to other processes.
        env={"OMP_WAIT_POLICY": "PASSIVE", **os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        pass_fds=(file,),
        start_new_session=True,
    )


def serve(requests_number: int) -> None:
    """Fork a worker process for each request, until whoever asks has ended.

    Returns, in the server alone, when the socket closes.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests = socket.socket(fileno=requests_number)
    os.set_inheritable(requests_number, False)
    from attnexp.config import build  # noqa: F401  torch, and what else jobs need
    from attnexp.runs import provenance

    provenance.differences()  # asked once for all workers, whose code is that of this moment
    gc.freeze()  # pages that the garbage collector does not write to stay shared
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    running: dict[int, Connection] = {}
    while True:
        ready, _, _ = select.select([requests_number, woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            _report_ends(running)
        if requests_number in ready:
            message, files, _, _ = socket.recv_fds(requests, 2**16, 3)
            if not message:
                return
            pipe, output, reports = files
            try:
                number = os.fork()
            except OSError as error:
                sys.stderr.write(f"cannot fork: {error.strerror}\n")
                sys.stderr.flush()
                for file in files:
                    os.close(file)
                continue
            if number == 0:
                # What the server has open would keep others from noticing that it has died.
                for file in (requests.detach(), woken, wake):
                    os.close(file)
                for other in running.values():
                    other.close()
                break
            running[number] = Connection(reports, readable=False)
            _report(running[number], number)
            os.close(pipe)
            os.close(output)
    _become_worker(pickle.loads(message), pipe, output)


def _report_ends(running: dict[int, Connection]) -> None:
    """Report the exit code of each worker that has ended."""
    while running:
        number, status = os.waitpid(-1, os.WNOHANG)
        if number == 0:
            return
        with running.pop(number) as reports:
            _report(reports, os.waitstatus_to_exitcode(status))


def _report(reports: Connection, number: int) -> None:
    with suppress(OSError):  # nobody wants to know any more
        reports.send(number)


def _become_worker(environment: Mapping[str, str], pipe: int, output: int) -> None:
    """Run as a worker process does that is started anew."""
    import torch

    from attnexp.sweeps import worker_main

    os.setsid()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for stream in (1, 2):
        os.dup2(output, stream)
    os.close(output)
    os.environ.update(environment)
    torch.set_num_threads(int(environment["OMP_NUM_THREADS"]))
    worker_main.main(pipe)

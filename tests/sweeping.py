"""What tests of sweeps share: a score that breaks as it is told to, and commands to watch."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from imported import IMPORTED

FRAGILE = '''
import os, signal, sys, time
import torch
from attnexp.scores.average import Average
from attnexp.training.base import TrainingDivergedError

def exhaust():
    raise MemoryError("no memory is left")

def change_precision():
    torch.set_default_dtype(torch.float64)

def wait():
    while not os.path.exists("go"):
        time.sleep(0.02)

def diverge():
    if os.path.exists("diverge"):
        raise TrainingDivergedError("the loss is nan")

def ignore_interrupts():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    time.sleep(60)

WAYS = {
    "fine": lambda: None,
    "diverge": diverge,
    "wait": wait,
    "stubborn": ignore_interrupts,
    "raise": lambda: 1 / 0,
    "exit": lambda: sys.exit(3),
    "os_exit": lambda: os._exit(3),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "crash": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "memory": exhaust,
    "precision": change_precision,
    "kill_parent": lambda: os.kill(os.getppid(), signal.SIGKILL),
}

class Fragile(Average):
    """Writes down that it was begun, waits, and breaks."""

    def __init__(self, query_dim: int, key_dim: int, how: str = "fine", seconds: float = 0.0):
        super().__init__(query_dim, key_dim)
        self.how, self.seconds, self.begun = how, seconds, False

    def compare(self, queries, keys):
        if not self.begun:
            self.begun = True
            with open("begun.txt", "a") as file:
                threads = os.environ.get("OMP_NUM_THREADS")
                gpus = os.environ.get("CUDA_VISIBLE_DEVICES")
                file.write(f"{self.how} {self.seconds} {os.getpid()} {threads} {gpus}\\n")
            print("a word from the score")
            time.sleep(self.seconds)
            WAYS[self.how]()
        return super().compare(queries, keys)
'''

SETTINGS = """# Breaks as it is told to.
_target_: fragile.Fragile
how: fine
seconds: 0.0
"""

MACHINE = '''
"""Makes this process and its children those of a machine of its own, before they run anything."""

import errno
import fcntl
import os
import socket

from attnexp.runs import lock, summary

name = os.environ["MACHINE"]
lock.BEAT, lock.EXPIRY = 0.2, 2.0
if os.environ["LOCKS"] == "local":
    lock.LOCK = f".lock-{name}"
else:
    def refuse(file, how):
        raise OSError(errno.ENOLCK, "No locks available")

    fcntl.flock = refuse
lock.boot = lambda: f"a boot of {name}"
if not os.environ.get("NAMESPACES"):
    socket.gethostname = lambda: name

write = summary.Summary.write

def write_down(self, folder):
    write(self, folder)
    if self.status == "finished":
        with open(os.environ["AUDIT"], "a") as file:
            file.write(f"{self.seed} {name} {os.getpid()}\\n")

summary.Summary.write = write_down
'''

ARGUMENTS = ("--config-dir", "mine", "model=fragile", "figures=false")


class Started:
    """A command in a process group of its own, with files for what it says."""

    def __init__(
        self,
        home: Path,
        arguments: tuple[str, ...],
        mark: str,
        within: tuple[str, ...] = (),
        **more: str,
    ) -> None:
        """`within` are words before the command, `more` environment variables besides ours."""
        environment = {**os.environ, "PYTHONPATH": IMPORTED, "ATTNEXP_TEST": mark, **more}
        self._out = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._err = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self.process = subprocess.Popen(
            [*within, sys.executable, "-m", "attnexp", *arguments],
            cwd=home,
            env=environment,
            stdout=self._out,
            stderr=self._err,
            start_new_session=True,
            # Tests in the background have SIGINT ignored, and would hand that on.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        )

    def interrupt(self) -> None:
        """What Ctrl-C does: SIGINT to every process of the group."""
        os.killpg(self.process.pid, signal.SIGINT)

    def said(self, text: str) -> bool:
        """Whether the command has written this so far."""
        return text in _content(self._out) + _content(self._err)

    def end(self, timeout: float = 60) -> tuple[int, str, str]:
        """Exit code, output and error output."""
        code = self.process.wait(timeout=timeout)
        return code, _content(self._out), _content(self._err)

    def output(self, timeout: float = 60) -> str:
        """Wait for the end, which must be a good one, and return the output."""
        code, out, err = self.end(timeout)
        assert code == 0, out + err
        return out

    def close(self) -> None:
        """Wait until the command has ended, and forget what it has said."""
        self.process.wait()
        self._out.close()
        self._err.close()


def _content(file: IO[str]) -> str:
    """All that is in a file to which another process may be writing at its place."""
    size = os.fstat(file.fileno()).st_size
    return os.pread(file.fileno(), size, 0).decode()


def marked(mark: str) -> list[int]:
    """The living processes that a test has started, and those that they have started."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes()
            alive = " Z " not in (folder / "stat").read_text()
        except OSError:
            continue
        if f"ATTNEXP_TEST={mark}".encode() in environment and alive:
            found.append(int(folder.name))
    return found


def until(condition: Callable[[], object], seconds: float = 60) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.02)


def begun(home: Path) -> list[list[str]]:
    """What the scores have written down: how, seconds, process, threads, GPUs."""
    file = home / "begun.txt"
    return [line.split() for line in file.read_text().splitlines()] if file.exists() else []


def statuses(home: Path) -> dict[str, str]:
    """The status of every run, by its `how` and seed."""
    found = {}
    for path in (home / "outputs").glob("*/summary.json"):
        summary = json.loads(path.read_text())
        model = summary["config"]["model"]
        found[f"{model.get('how')}-{summary['config']['seed']}"] = summary["status"]
    return found


def summaries(home: Path) -> list[dict]:
    """The summaries of all runs."""
    return [json.loads(path.read_text()) for path in (home / "outputs").glob("*/summary.json")]


def folder_of(home: Path, how: str, seed: int) -> Path:
    """The folder of a run, by its `how` and seed."""
    for path in (home / "outputs").glob("*/summary.json"):
        config = json.loads(path.read_text())["config"]
        if (config["model"]["how"], config["seed"]) == (how, seed):
            return path.parent
    raise AssertionError(f"no run of {how}, seed {seed}")

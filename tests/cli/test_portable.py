"""A single run, tables, pages and the course need nothing that Windows lacks."""

import pytest
from imported import python

MODULES = ("fcntl", "resource", "termios", "pwd", "grp", "tty", "pty")
SIGNALS = ("SIGHUP", "SIGALRM", "SIGKILL", "SIGPIPE", "SIGUSR1", "setitimer", "alarm")
SYSTEM = (
    *("fork", "forkpty", "sysconf", "getuid", "setsid", "killpg"),
    *("sched_getaffinity", "posix_fadvise"),
)

SCRIPT = """
import os, signal, sys
import asyncio, filelock  # have their own ways on each system

class WithoutModules:
    def find_spec(self, name, path=None, target=None):
        if name in {modules!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, WithoutModules())
for name in {modules!r}:
    sys.modules.pop(name, None)
for module, names in ((signal, {signals!r}), (os, {system!r})):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)

from attnexp.cli.main import run
for words in {lines!r}:
    print("attnexp", *words, flush=True)
    code = run(words)
    if code:
        sys.exit(f"{{words}}: exit code {{code}}")
"""

FEW = ("train.max_epochs=2", "data.num_train=20", "data.num_test=8")

LINES = (
    ("--help",),
    FEW,
    FEW,
    ("seed=1", "model=additive", *FEW),
    ("results",),
    ("status",),
    ("report",),
    ("attend", "example=additive"),
    ("chapter",),
    ("exercise", "list"),
)


@pytest.mark.slow
def test_nothing_needs_what_windows_lacks(tmp_path):
    code = SCRIPT.format(modules=MODULES, signals=SIGNALS, system=SYSTEM, lines=LINES)
    answer = python("-c", code, cwd=tmp_path, timeout=300)
    assert answer.returncode == 0, answer.stdout[-2000:] + answer.stderr
    assert "finished before" in answer.stdout
    assert (tmp_path / "report.html").exists()

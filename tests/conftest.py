"""What the tests share. It must not import attnexp: shapes are checked from the import on."""

import logging
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml
from imported import python

# Two test processes with two threads each would spend their time waiting for each other.
os.environ["OMP_NUM_THREADS"] = "1"

# Texts are in English, whatever the locale of whoever runs the tests.
os.environ["LC_ALL"] = "C.UTF-8"

ROOT = Path(__file__).resolve().parent.parent
CONF = ROOT / "conf"

OF_FILES: dict[str, dict[str, Any]] = {
    "table": {
        "path": str(ROOT / "tests" / "data" / "points.csv"),
        "x": ["a", "b"],
        "y": "c (m/s)",
    },
}
"""The settings of data that come from a file, without which they cannot be made."""

pytest_plugins = ("stored_runs", "finished_runs")

Command = Callable[..., subprocess.CompletedProcess[str]]


TIER = "not slow and not check"
"""The markers of `make test`, which pytest without arguments runs."""

CHECKED = ("benchmarks", "cli", "devices", "docs", "sweeps")
"""The folders whose tests all have the marker `check`: they run commands and read documents."""


def pytest_configure(config: pytest.Config) -> None:
    """Run all tests but slow ones of a folder or file that is named."""
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    if named and config.option.markexpr == TIER:
        config.option.markexpr = "not slow"


def folder_of(path: Path) -> str:
    return path.relative_to(ROOT / "tests").parts[0]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the folders without a test of `make test`, whose imports take seconds."""
    left_out = config.option.markexpr == TIER and collection_path.is_dir()
    return (left_out and collection_path.name in CHECKED) or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of `CHECKED`, and as slow the cases that `first` leaves out."""
    cases: Counter[str] = Counter()
    for item in items:
        if folder_of(item.path) in CHECKED:
            item.add_marker("check")
        if most := item.get_closest_marker("first"):
            test = item.nodeid.partition("[")[0]
            cases[test] += 1
            if cases[test] > most.args[0]:
                item.add_marker("slow")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--site", help="test the site in this folder instead of building one")
    parser.addoption("--times", action="store_true", help="print the seconds of each folder")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the seconds of each folder: those of `make test`, and those that `make check` adds."""
    if not config.option.times:
        return
    seconds: dict[str, list[float]] = {}
    for report in chain(*terminalreporter.stats.values()):
        if isinstance(report, pytest.TestReport):
            _, *folders, _ = report.nodeid.partition("::")[0].split("/")
            folder = folders[0] if folders else "tests"
            seconds.setdefault(folder, [0.0, 0.0])["check" in report.keywords] += report.duration
    terminalreporter.section("seconds by folder")
    terminalreporter.write_line("| folder | `make test` | `make check` adds |\n|---|--:|--:|")
    for folder, (core, others) in sorted(seconds.items(), key=lambda found: -sum(found[1])):
        terminalreporter.write_line(f"| {folder} | {core:.0f} | {others:.0f} |")


GROUPS = (
    *("model", "normalizer", "estimator", "attention", "positions"),
    *("data", "arch", "optim", "schedule", "experiment"),
)
"""The groups by whose choices a test may be repeated."""


def choice_names(group: str) -> list[str]:
    """The choices of a group, found by listing the folder: a new file is tested at once."""
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes `model_name`, `data_name`, ... runs for every choice of that group."""
    for group in GROUPS:
        if f"{group}_name" in metafunc.fixturenames:
            metafunc.parametrize(f"{group}_name", choice_names(group))


@pytest.fixture(autouse=True)
def denormals() -> Iterator[None]:
    """Leaves no denormals flushed by a run: hypothesis refuses to draw floats then."""
    yield
    if "torch" in sys.modules:
        sys.modules["torch"].set_flush_denormal(False)


@pytest.fixture(autouse=True)
def log_handlers() -> Iterator[None]:
    """Closes the log of a run that a test left open."""
    before = logging.root.handlers[:]
    yield
    for handler in logging.root.handlers:
        if handler not in before:
            handler.close()
    logging.root.handlers[:] = before


@pytest.fixture
def settings_of() -> Callable[[str, str], dict]:
    """The content of a YAML file of conf/, without its defaults list."""

    def read(group: str, name: str) -> dict:
        content = yaml.safe_load((CONF / group / f"{name}.yaml").read_text())
        content.pop("defaults", None)
        return content

    return read


@pytest.fixture
def attnexp(tmp_path: Path) -> Command:
    """Runs `python -m attnexp` in a process of its own, in an empty folder."""

    def command(*arguments: str, cwd: Path = tmp_path) -> subprocess.CompletedProcess[str]:
        return python("-W", "error", "-m", "attnexp", *arguments, cwd=cwd)

    return command


@pytest.fixture
def in_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Command]:
    """Runs a command line in this process, which saves importing torch again.

    Modules imported from the test's own folder are forgotten: the next test may have others of the
    same name.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    variables = {"PYTEST_CURRENT_TEST", *os.environ}

    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        from attnexp.cli.main import run

        capfd.readouterr()
        code = run(arguments)
        out, err = capfd.readouterr()
        return subprocess.CompletedProcess(arguments, code, out, err)

    yield command
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(f"{tmp_path}{os.sep}"):
            del sys.modules[name]
    for name in os.environ.keys() - variables:  # a launcher sets one for its processes
        del os.environ[name]


@pytest.fixture
def unasked() -> Iterator[None]:
    """Makes this process one that has not asked the C compiler, until the end of the test."""
    from attnexp.architectures.compiled import known, remember
    from attnexp.architectures.recurrence.native.library import load

    before = known()
    load.cache_clear()
    remember(None)
    yield
    load.cache_clear()
    remember(before)


@pytest.fixture
def own_choice(tmp_path: Path) -> Callable[..., tuple[str, ...]]:
    """Writes the YAML of a class of the user's own, and its module; returns what chooses it."""

    def write(group: str, target: str, code: str = "", settings: str = "") -> tuple[str, ...]:
        folder = tmp_path / "my_conf" / group
        folder.mkdir(parents=True)
        (folder / "mine.yaml").write_text(f"# My own.\n_target_: {target}\n{settings}")
        if code:
            (tmp_path / f"{target.partition('.')[0]}.py").write_text(code)
        return "--config-dir", "my_conf", f"{group}=mine"

    return write


@pytest.fixture
def succeeds(in_process: Command) -> Command:
    """Runs a command line in this process that must end well, and returns its answer."""

    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        answer = in_process(*arguments)
        assert answer.returncode == 0, answer.stdout + answer.stderr
        return answer

    return command


@pytest.fixture
def refused(in_process: Command) -> Callable[..., str]:
    """Runs a command line in this process that must be refused, and returns what it is told."""

    def command(*arguments: str) -> str:
        answer = in_process(*arguments)
        assert answer.returncode == 2, answer.stdout + answer.stderr
        assert "Traceback" not in answer.stdout + answer.stderr
        return answer.stderr

    return command

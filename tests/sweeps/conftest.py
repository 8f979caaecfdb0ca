"""Sweeps over a score that breaks in the way it is told to."""

import os
import secrets
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sweeping import ARGUMENTS, FRAGILE, SETTINGS, Started, marked


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A user's folder with a score that breaks."""
    (tmp_path / "fragile.py").write_text(FRAGILE)
    (tmp_path / "mine" / "model").mkdir(parents=True)
    (tmp_path / "mine" / "model" / "fragile.yaml").write_text(SETTINGS)
    return tmp_path


@pytest.fixture
def fragile(home: Path, in_process: Callable) -> Callable:
    """Runs a command line on the score that breaks."""
    return lambda *arguments: in_process(*ARGUMENTS, *arguments)


@pytest.fixture
def start(home: Path) -> Iterator[Callable[..., Started]]:
    """Starts commands on the score that breaks; none of their processes survives the test."""
    mark = secrets.token_hex(8)

    commands = []

    def begin(*arguments: str, **options: Any) -> Started:
        commands.append(Started(home, (*ARGUMENTS, *arguments), mark, **options))
        return commands[-1]

    setattr(begin, "mark", mark)
    yield begin
    for number in marked(mark):
        os.kill(number, signal.SIGKILL)
    for command in commands:
        command.close()

"""Composing, within bounds."""

import subprocess
import sys

import pytest
from hydra.core.singleton import Singleton

from attnexp.config.composition import state_for_others

TAKE_UP = """
import pickle, sys
from hydra.core.singleton import Singleton
Singleton.set_state(pickle.load(sys.stdin.buffer))
"""


def test_a_process_of_a_launcher_can_take_up_hydras_state(in_process):
    """Launchers hand it to their processes, which register Hydra's plugins once more."""
    cloudpickle = pytest.importorskip("cloudpickle")
    assert in_process("--cfg", "job").returncode == 0
    with state_for_others():
        state = cloudpickle.dumps(Singleton.get_state())
    taken = [sys.executable, "-c", TAKE_UP]
    answer = subprocess.run(taken, input=state, capture_output=True, timeout=60, check=False)
    assert answer.returncode == 0, answer.stderr
    without = cloudpickle.dumps(Singleton.get_state())
    assert subprocess.run(taken, input=without, capture_output=True, check=False).returncode == 1

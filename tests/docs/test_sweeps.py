"""Every command in docs/sweeps.md can be planned.

Those of experiments are planned in tests/sweeps/test_experiments.py.
"""

import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "sweeps.md").read_text()
LINES = re.findall(r"^attnexp -m (?!experiment).*$", PAGE.replace("\\\n", " "), flags=re.MULTILINE)
NEEDS = {
    "launcher=joblib": "hydra_plugins.hydra_joblib_launcher",
    "launcher=slurm": "hydra_plugins.hydra_submitit_launcher",
    "launcher=ray_tasks": "hydra_plugins.hydra_ray_launcher",
    "sweeper=optuna": "optuna",
}


@pytest.mark.parametrize("line", LINES)
def test_a_command_can_be_planned(in_process, line):
    for words, module in NEEDS.items():
        if words in line and find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    words = [word for word in shlex.split(line)[2:] if word not in ("...", "device=cuda")]
    answer = in_process("-m", *words, "--dry-run")
    assert answer.returncode == 0, answer.stderr
    assert re.search(r"^to do +\d+$| of \d+ points: ", answer.stdout, flags=re.MULTILINE)

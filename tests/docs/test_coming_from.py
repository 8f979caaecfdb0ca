"""What docs/coming_from.md says is here is here: each command and setting in the right column."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from command_outcome import run_here

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coming_from.md"
HERE = [
    code
    for line in re.findall(r"^\|(?!---| there ).*\|$", PAGE.read_text(), flags=re.MULTILINE)
    for code in re.findall(r"`([^`]+)`", line.split(" | ")[-1])
]
COMMANDS = [code for code in HERE if code.startswith("attnexp")]
SETTINGS = [code for code in HERE if re.fullmatch(r"[\w./]+=\w+", code)]
FILES = {"summary.json", "code.diff", "attention.safetensors", "outputs/"}
PARTS = {"model=", "data=", "train.max_epochs=", "--config-dir my_conf"}
VERBS = ("plot", "report", "results")


def test_every_command_and_setting_is_looked_at():
    assert set(HERE) == {*COMMANDS, *SETTINGS} | FILES | PARTS
    assert len(COMMANDS) >= 9
    assert len(SETTINGS) >= 12


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_setting_is_one(setting, in_process):
    ahead = ["data=reverse", "arch=transformer"] if setting.startswith("arch.") else []
    answer = in_process(*ahead, setting, "--cfg", "job")
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_one(command, in_process, tmp_path):
    words = shlex.split(command)[1:]
    if words[:1] == ["attend"]:
        np.save(tmp_path / "X.npy", np.zeros((2, 4, 5), dtype=np.float32))
        answer = in_process(*words)
    elif words[:1] and words[0] in VERBS:
        text = run_here([words[0], "--help"], seconds=30).out
        assert [word for word in words if word[:2] == "--" and word not in text] == []
        return
    elif words[:1] == ["-m"]:
        answer = in_process(*words, "--dry-run")
    else:
        answer = in_process(*words, "--cfg", "job")
    assert answer.returncode == 0, answer.stderr

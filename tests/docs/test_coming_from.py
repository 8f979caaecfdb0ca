"""What docs/coming_from.md says is here is here: each command and setting in the right column."""

import re

import pytest
from conftest import ROOT
from documented import commands, compose

PAGE = ROOT / "docs" / "coming_from.md"
HERE = [
    code
    for line in re.findall(r"^\|(?!---| there ).*\|$", PAGE.read_text(), flags=re.MULTILINE)
    for code in re.findall(r"`([^`]+)`", line.split(" | ")[-1])
]
COMMANDS = [code for code in HERE if code.startswith("attnexp")]
SETTINGS = [code for code in HERE if re.fullmatch(r"[\w./]+=\w+", code)]
FILES = {"summary.json", "code.diff", "attention.safetensors", "outputs/"}
PARTS = {"model=", "data=", "train.max_epochs=", "--config-dir my_conf"}


def test_every_command_and_setting_is_looked_at():
    assert set(HERE) == {*COMMANDS, *SETTINGS} | FILES | PARTS
    assert len(COMMANDS) >= 9
    assert len(SETTINGS) >= 12


@pytest.mark.first(12)
@pytest.mark.parametrize("setting", SETTINGS)
def test_a_setting_is_one(setting, in_process):
    ahead = "data=reverse " if setting.startswith("arch") else ""
    ahead += "arch=transformer " if setting.startswith("arch.") else ""
    compose(f"attnexp {ahead}{setting}", in_process)


@pytest.mark.first(12)
@pytest.mark.parametrize("command", [*COMMANDS, *commands("docs/coming_from.md")])
def test_a_command_is_one(command, in_process):
    compose(command, in_process)

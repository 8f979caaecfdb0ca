"""The help page marks the defaults, and says how documents are read."""

import re

import pytest
from conftest import ROOT

from attnexp.cli.parser import run_verb
from attnexp.cli.verbs import VERBS

LISTED = (ROOT / "conf" / "config.yaml").read_text().partition("_self_")[0]
DEFAULTS = dict(re.findall(r"^  - (\w+): (\w+)$", LISTED, flags=re.MULTILINE))


def test_the_first_page_begins_each_group_with_its_default(succeeds):
    lines = succeeds("--help").stdout.splitlines()
    marked = {
        line.split("=")[0].strip(): line.split("=")[1].split()[0]
        for line in lines
        if "(default)" in line
    }
    assert marked == DEFAULTS
    assert len(marked) >= 9


@pytest.mark.parametrize("group", DEFAULTS)
def test_the_page_of_a_group_marks_one_choice(group, succeeds):
    lines = succeeds("--help", group).stdout.splitlines()
    assert [line.split()[0] for line in lines if line.endswith("(default)")] == [DEFAULTS[group]]


def test_a_group_without_a_default_has_no_mark(succeeds):
    assert "(default)" not in succeeds("--help", "experiment").stdout


def test_the_first_page_says_how_a_document_is_read(succeeds):
    (line,) = (each for each in succeeds("--help").stdout.splitlines() if "attnexp docs -" in each)
    command = line.partition("`")[2].rstrip("`")
    assert succeeds(*command.split()[1:]).stdout == (ROOT / "docs" / "recipes.md").read_text()


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_is_short_and_has_80_columns(verb, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        run_verb(verb, ["--help"])
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if len(line) > 80] == []
    assert len(lines) <= 90

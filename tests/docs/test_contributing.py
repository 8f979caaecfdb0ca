"""The tree in CONTRIBUTING.md has every part of attnexp and every folder next to it."""

import re
from fnmatch import fnmatch

from conftest import ROOT


def tree() -> dict[str, str]:
    """The paths of the tree, with what is said about each; two spaces are one level."""
    block = re.search(r"```\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)[1]
    parents: list[str] = []
    found = {}
    for line in block.splitlines():
        indent, name, phrase = re.fullmatch(r"( *)(\S+) *(.*)", line).groups()
        parents[len(indent) // 2 :] = [name]
        found["".join(parents)] = phrase
    return found


def test_nothing_is_missing_and_nothing_is_made_up():
    ignored = [line.strip("/*") for line in (ROOT / ".gitignore").read_text().split()]
    folders = {
        path.name
        for path in ROOT.glob("[!.]*")
        if path.is_dir() and not any(fnmatch(path.name, pattern) for pattern in ignored)
    }
    parts = {f"attnexp/{path.parent.name}" for path in (ROOT / "attnexp").glob("*/__init__.py")}
    assert sorted(tree()) == sorted(f"{path}/" for path in folders | parts)


def test_every_line_says_what_is_there():
    assert [path for path, phrase in tree().items() if not phrase] == []


def test_targets_of_make_that_are_named_are_there():
    (phony,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = set(re.findall(r"`make ([\w-]+)", (ROOT / "CONTRIBUTING.md").read_text()))
    assert {"test", "check", "bench"} <= named <= set(phony.split())


def test_what_holds_before_a_change_lands_is_what_is_told():
    (sentence,) = re.findall(r"`\.ci/run` runs (.*)", (ROOT / "CONTRIBUTING.md").read_text())
    commands = re.findall(r"^make (\w+)$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    assert re.findall(r"`make (\w+)`", sentence) == commands


def test_each_part_has_its_folder_of_tests_and_three_folders_are_of_no_part():
    parts = {path.parent.name for path in (ROOT / "attnexp").glob("*/__init__.py")}
    tested = {
        path.relative_to(ROOT / "tests").parts[0] for path in ROOT.glob("tests/*/**/test_*.py")
    }
    assert tested - parts == {"benchmarks", "devices", "docs"}
    assert parts <= tested

"""The tree in CONTRIBUTING.md has every part of attnexp and every folder next to it."""

import re
from fnmatch import fnmatch

from conftest import ROOT
from documented import script


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


def test_the_worked_examples_are_changes_of_the_files_as_they_are_now():
    page = (ROOT / "CONTRIBUTING.md").read_text()
    assert script("contributing").written(page) == page, "run `python docs/contributing.py`"


def test_an_example_is_applied_although_lines_were_added_around_it(tmp_path, monkeypatch):
    contributing = script("contributing")
    monkeypatch.setattr(contributing, "ROOT", tmp_path)
    (tmp_path / "a.py").write_text("".join(f"{i}\n" for i in range(9)))
    change = "--- a/a.py\n+++ b/a.py\n@@ -5,2 +5,3 @@\n 4\n+new\n 5\n"
    before = contributing.anew(change)
    assert "@@ -4,4 +4,5 @@" in before
    (tmp_path / "a.py").write_text("".join(f"{i}\n" for i in (-2, -1, 0, 1, 2, 33, 4, 5, 66, 7)))
    after = contributing.anew(before)
    assert " 33\n 4\n+new\n 5\n 66\n" in after


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

"""The tree in CONTRIBUTING.md has every folder and loose module, and nothing else."""

import re
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXERCISES = Path("attnexp", "course", "exercises")
"""Each folder below it is an exercise; the tree names none, so that a new one edits no file."""


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
    beside = {
        Path(path.name)
        for path in ROOT.glob("[!.]*")
        if path.is_dir() and not any(fnmatch(path.name, pattern) for pattern in ignored)
    }
    found = (path.relative_to(ROOT) for path in (ROOT / "attnexp").rglob("*") if path.is_file())
    files = {
        EXERCISES / path.name if EXERCISES in path.parents else path
        for path in found
        if "__pycache__" not in path.parts
    }
    folders = beside | {folder for path in files for folder in path.parents} - {Path()}
    loose = {path for path in files if path.parent == Path("attnexp") and path.suffix == ".py"}
    expected = [f"{path}/" for path in folders] + [str(path) for path in loose]
    assert sorted(tree()) == sorted(expected)


def test_every_line_says_what_is_there():
    assert [path for path, phrase in tree().items() if not phrase] == []

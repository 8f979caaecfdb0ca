"""Writes the worked examples of CONTRIBUTING.md anew: `python docs/contributing.py`.

An example whose context has changed is applied with less of it. One whose own lines no longer fit
is to be written by hand: git says which.
"""

import re
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "CONTRIBUTING.md"
EXAMPLE = re.compile(r"(?<=```diff\n).*?(?=```)", re.DOTALL)
CONTEXT = 2
"""The lines around a change."""


def written(page: str) -> str:
    """Return the page with its examples as changes of the files as they are now."""
    return EXAMPLE.sub(lambda found: anew(found[0]), page)


def anew(example: str) -> str:
    """Return a change of files as they are now.

    Raises CalledProcessError if the change does not fit.
    """
    with TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in re.findall(r"^--- a/(.*)$", example, re.MULTILINE):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes((ROOT / name).read_bytes())
        git(copy, "init", "--quiet")
        git(copy, "add", ".")
        git(copy, "apply", "-C1", "--recount", "-", given=example)
        git(copy, "add", "--intent-to-add", ".")
        found = git(copy, "diff", f"--unified={CONTEXT}", "--no-color", "--no-ext-diff")
    return re.sub(r"^index .*\n", "", found, flags=re.MULTILINE)


def git(folder: Path, *words: str, given: str | None = None) -> str:
    """Run git in a folder and return its output."""
    command = ["git", "-c", "core.autocrlf=false", *words]
    return subprocess.run(
        command, cwd=folder, input=given, text=True, check=True, capture_output=True
    ).stdout


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

"""Runs every command of the course's chapters and draws their pictures: `python docs/draw.py`.

Each chapter has an empty folder, in which its commands run in their order. The title of a picture
on the page, such as "outputs/bahdanau/dates/*/figures/attention.png", is the file that they leave
there.
"""

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CHAPTERS = Path(__file__).resolve().parent / "course"


def commands(page: str) -> list[str]:
    """Return the attnexp commands of a page, without their comments."""
    return re.findall(r"^(attnexp .*?)(?:  +#.*)?$", page, flags=re.MULTILINE)


def pictures(page: str) -> list[tuple[str, str]]:
    """Return the pictures of a page, each with the file that a command leaves."""
    return re.findall(r'!\[[^]]+\]\((\S+) "(\S+)"\)', page)


def draw(chapter: Path, folder: Path) -> None:
    """Run the commands of a chapter in a folder, and keep the pictures of the page."""
    page = chapter.read_text()
    for command in commands(page):
        subprocess.run(
            [sys.executable, "-m", "attnexp", *shlex.split(command)[1:]],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            check=True,
        )
    for picture, file in pictures(page):
        (chapter.parent / picture).parent.mkdir(parents=True, exist_ok=True)
        (drawn,) = folder.glob(file)
        shutil.copy(drawn, chapter.parent / picture)


def main() -> None:
    for chapter in sorted(CHAPTERS.glob("*.md")):
        with tempfile.TemporaryDirectory() as folder:
            draw(chapter, Path(folder))


if __name__ == "__main__":
    main()

"""Draws the pictures of README and of the course's chapters: `python docs/draw.py`.

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

DOCS = Path(__file__).resolve().parent
CHAPTERS = DOCS / "course"

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")

COMPARED = "attnexp -m model=gaussian,gaussian_learned,additive seed=range(40) output_dir=compared"
"""The sweep of README whose page is shown there."""


def run(command: str, folder: Path) -> None:
    """Run an attnexp command in a folder."""
    words = [sys.executable, "-m", "attnexp", *shlex.split(command)[1:]]
    subprocess.run(words, cwd=folder, stdout=subprocess.DEVNULL, check=True)


def draw_first(folder: Path) -> None:
    """Draw the pictures of README: those of the first command, and the head of a page."""
    run("attnexp", folder)
    for name in ("fit.png", "attention.png"):
        (drawn,) = folder.glob(f"outputs/*/figures/{name}")
        shutil.copy(drawn, DOCS / "images" / name)
    if BROWSER is None:
        sys.stderr.write("images/report.png is left as it was: chromium is not installed\n")
        return
    run(COMPARED, folder)
    run("attnexp report compared", folder)
    photograph(folder / "report.html", DOCS / "images" / "report.png", folder / "profile")


def photograph(page: Path, picture: Path, profile: Path) -> None:
    """Write the head of a page as a picture."""
    flags = (
        "--headless --no-sandbox --disable-gpu --hide-scrollbars --force-device-scale-factor=1.5"
    )
    own = [f"--user-data-dir={profile}", "--window-size=760,490", f"--screenshot={picture}"]
    subprocess.run(
        [str(BROWSER), *flags.split(), *own, page.as_uri()],
        stderr=subprocess.DEVNULL,
        check=True,
    )


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
        run(command, folder)
    for picture, file in pictures(page):
        (chapter.parent / picture).parent.mkdir(parents=True, exist_ok=True)
        (drawn,) = folder.glob(file)
        shutil.copy(drawn, chapter.parent / picture)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        draw_first(Path(folder))
    for chapter in sorted(CHAPTERS.glob("*.md")):
        with tempfile.TemporaryDirectory() as folder:
            draw(chapter, Path(folder))


if __name__ == "__main__":
    main()

"""Every module, class and file of the project that the documents name exists."""

import pkgutil
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")])
FOLDERS = "attnexp|conf|hydra_plugins|benchmarks|docs|tests"


def pages() -> list:
    return [pytest.param(page.read_text(), id=str(page.relative_to(ROOT))) for page in PAGES]


def without_former_names(page: str) -> str:
    """A page without its diffs and without the former names in CHANGELOG.md."""
    page = re.sub(r"```diff\n.*?```", "", page, flags=re.DOTALL)
    return re.sub(r"^ *\| `attnexp[\w.]+` (?=\| `attnexp)", "", page, flags=re.MULTILINE)


@pytest.mark.parametrize("page", pages())
def test_names_in_python_exist(page):
    """Dotted names that begin with attnexp; attnexp.log is a file of a run."""
    for name in re.findall(r"\battnexp(?!\.log\b)(?:\.\w+)+", without_former_names(page)):
        pkgutil.resolve_name(name)


@pytest.mark.parametrize("page", pages())
def test_paths_exist(page):
    """Words in capitals, as in benchmarks/NAME.py, stand for something else."""
    for path in re.findall(rf"(?<![\w/])(?:{FOLDERS})/[a-z0-9_./]*", without_former_names(page)):
        assert (ROOT / path.rstrip(".")).exists(), path


@pytest.mark.parametrize("path", PAGES, ids=str)
def test_links_between_pages_work(path):
    for link in re.findall(r"\]\((?!https?:)([^)#\s]+)", path.read_text()):
        assert (path.parent / link).exists(), link

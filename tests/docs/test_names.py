"""Every module, class and file of the project that the documents name exists."""

import pkgutil
import re

import pytest
from conftest import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")])
FOLDERS = "attnexp|conf|hydra_plugins|benchmarks|docs|tests"


def pages() -> list:
    return [pytest.param(page.read_text(), id=str(page.relative_to(ROOT))) for page in PAGES]


def without_diffs(page: str) -> str:
    return re.sub(r"```diff\n.*?```", "", page, flags=re.DOTALL)


@pytest.mark.parametrize("page", pages())
def test_names_in_python_exist(page):
    """Dotted names that begin with attnexp; attnexp.log is a file of a run."""
    for name in re.findall(r"\battnexp(?!\.log\b)(?:\.\w+)+", without_diffs(page)):
        pkgutil.resolve_name(name)


@pytest.mark.parametrize("page", pages())
def test_paths_exist(page):
    """Words in capitals, as in benchmarks/NAME.py, stand for something else."""
    for path in re.findall(rf"(?<![\w/])(?:{FOLDERS})/[a-z0-9_./]*", without_diffs(page)):
        assert (ROOT / path.rstrip(".")).exists(), path


@pytest.mark.parametrize("path", PAGES, ids=str)
def test_links_between_pages_work(path):
    for link in re.findall(r"\]\((?!https?:)([^)#\s]+)", path.read_text()):
        assert (path.parent / link).exists(), link

"""Every page installs attnexp from a clone, as no package index has it."""

import re
import tomllib

import pytest
from conftest import ROOT
from packaging.requirements import Requirement

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
INSTALL = [ROOT / "docs" / folder / "install.md" for folder in ("", "zh")]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FORM = re.compile(r"pip install (?:--editable )?'?(attnexp|\.)(?:\[(\w+)\])?(?!\w)")
"""The source of attnexp that a command of pip names, and an extra."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_installs_from_a_clone_and_names_extras_that_there_are(page):
    found = FORM.findall(page.read_text())
    assert page in INSTALL or {source for source, _ in found} <= {"."}
    assert {extra for _, extra in found if extra} <= {*EXTRAS}


@pytest.mark.parametrize("page", INSTALL, ids=["en", "zh"])
def test_the_page_of_installing_has_what_every_extra_of_users_installs(page):
    _, section, *_ = page.read_text().split("\n## ")
    told = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|", section, re.M))
    assert told.keys() == {*EXTRAS} - {"test", "docs", "lint"}
    assert EXTRAS["all"] == [f"attnexp[{told.pop('all').replace('`', '').replace(' ', '')}]"]
    for extra, cell in told.items():
        assert cell.split(", ") == [Requirement(line).name for line in EXTRAS[extra]]
    assert FORM.search(page.read_text())

"""Every page installs attnexp from a clone, as no package index has it."""

import re
import tomllib

import pytest
from conftest import ROOT
from packaging.requirements import Requirement

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
INSTALL = ROOT / "docs" / "install.md"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FORM = re.compile(r"pip install (?:--editable )?'?(attnexp|\.)(?:\[(\w+)\])?(?!\w)")
"""The source of attnexp that a command of pip names, and an extra."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_installs_from_a_clone_and_names_extras_that_there_are(page):
    found = FORM.findall(page.read_text())
    assert page == INSTALL or {source for source, _ in found} <= {"."}
    assert {extra for _, extra in found if extra} <= {*EXTRAS}


def test_the_page_of_installing_has_what_every_extra_of_users_installs():
    section = INSTALL.read_text().partition("## Extras")[2].partition("## ")[0]
    told = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|", section, re.M))
    assert told.keys() == {*EXTRAS} - {"test", "docs", "lint"}
    assert EXTRAS["all"] == [f"attnexp[{told.pop('all').replace('`', '').replace(' ', '')}]"]
    for extra, cell in told.items():
        assert cell.split(", ") == [Requirement(line).name for line in EXTRAS[extra]]
    assert FORM.search(INSTALL.read_text())

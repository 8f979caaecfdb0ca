"""The site builds without a warning, loads nothing from elsewhere and can be used by everybody."""

import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from browser import needs_browser, started
from conftest import ROOT
from documented import script
from imported import python

for library in ("zensical", "mkdocstrings", "latex2mathml"):
    pytest.importorskip(library, reason=f"{library} of the extra docs is not installed")


class Page(HTMLParser):
    """What a page loads, its headings and its pictures."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.headings: list[int] = []
        self.alternatives: list[str | None] = []
        self.language: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "html":
            self.language = values.get("lang")
        elif tag == "img":
            self.alternatives.append(values.get("alt"))
        elif re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag == "link" and values.get("rel") not in ("prev", "next"):
            self.loads.append(values.get("href") or "")
        elif tag in ("script", "img", "iframe", "source"):
            self.loads.append(values.get("src") or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    target = tmp_path_factory.mktemp("docs") / "site"
    built = python(ROOT / "docs" / "build.py", target, PYTHONPATH=str(ROOT))
    assert built.returncode == 0, built.stdout + built.stderr
    return target


@pytest.fixture(scope="module")
def pages(site):
    """All pages by their place in the site, but that for places that are not there, and cards."""
    html = site.rglob("*.html")
    paths = [path for path in html if path.name != "404.html" and path.parent.name != "cards"]
    return {path.relative_to(site).as_posix(): path.read_text() for path in paths}


def nav() -> set[str]:
    """The pages that the navigation names."""
    return set(re.findall(r'"([\w/]+)\.md"', (ROOT / "docs" / "zensical.toml").read_text()))


def test_the_navigation_has_every_page_and_no_other(pages):
    assert {f"{name}.html" for name in nav()} == set(pages)


def test_nothing_is_loaded_from_elsewhere(pages):
    loads = {load for text in pages.values() for load in Page(text).loads}
    assert any(load.endswith(".css") for load in loads)
    assert not [load for load in loads if re.match(r"(https?:)?//", load)]


def test_links_lead_to_files_of_the_site(site, pages):
    for name, text in pages.items():
        for link in re.findall(r'(?:href|src)="([^"#?:]+)[#"]', text):
            assert ((site / name).parent / link).exists(), f"{link} on {name}"


def test_formulas_are_mathml(pages):
    assert "<mfrac>" in pages["course/pooling.html"]
    assert not [name for name, text in pages.items() if "arithmatex" in text]


def test_the_reference_has_formulas_signatures_and_examples(pages):
    text = re.sub(r"<[^>]*>", "", pages["reference/model.html"])
    assert "a(q, k) = w_v' tanh(W_q q + W_k k), without biases." in text
    assert "Additive(query_dim=2, key_dim=3, hidden_dim=8)" in text
    assert "load_run(" in re.sub(r"<[^>]*>", "", pages["reference/attnexp.html"])


def test_pages_say_their_language_and_have_headings_in_order_and_words_for_pictures(pages):
    for name, text in pages.items():
        page = Page(text)
        assert page.language == "en", name
        assert all(page.alternatives), name
        assert page.headings.count(1) == 1, name
        assert all(below <= above + 1 for above, below in pairwise(page.headings)), name


@pytest.mark.parametrize(
    ("link", "page", "there"),
    [
        ("../README.md#speed", "docs/recipes.md", "index.md#speed"),
        ("docs/course/heads.md", "README.md", "course/heads.md"),
        ("../recipes.md#sequences", "docs/course/heads.md", "../recipes.md#sequences"),
        ("../images/course/dates.png", "docs/course/bahdanau.md", "../images/course/dates.png"),
        ("../benchmarks/", "docs/sweeps.md", None),
        ("https://hydra.cc", "README.md", "https://hydra.cc"),
    ],
)
def test_links_work_on_a_forge_and_in_the_site(link, page, there):
    assert script("build").moved(link, page) == there


def test_a_link_to_a_file_outside_the_site_becomes_its_text():
    text = script("build").laid_out("README.md")
    assert "[CONTRIBUTING.md](contributing.md), [CHANGELOG.md](changelog.md), LICENSE (MIT)" in text


def test_a_link_to_nothing_is_refused():
    with pytest.raises(SystemExit) as caught:
        script("build").moved("nowhere.md", "docs/recipes.md")
    assert str(caught.value) == "docs/recipes.md links to nowhere.md, which is not there."


@pytest.mark.slow
@needs_browser
def test_axe_finds_no_serious_fault(site, pages, tmp_path):
    """On every page."""
    from axe_core_python.selenium import Axe

    faults = {}
    driver = started(tmp_path)
    try:
        for name in sorted(pages):
            driver.get((site / name).as_uri())
            found = Axe().run(driver)["violations"]
            serious = [fault for fault in found if fault["impact"] in ("serious", "critical")]
            if serious:
                faults[name] = [
                    (fault["id"], [node["target"] for node in fault["nodes"]][:3])
                    for fault in serious
                ]
    finally:
        driver.quit()
    assert not faults

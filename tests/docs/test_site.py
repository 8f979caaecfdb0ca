"""The site builds without a warning, loads nothing from elsewhere and can be used by everybody."""

import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from browser import needs_browser, started
from conftest import ROOT
from documented import script
from imported import python
from interpreted import in_node, needs_node

from attnexp.cli.docs import GROUPS

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


of_the_site = pytest.mark.site
"""Tests of the whole site, which `make docs` runs on the site that it has built."""


@pytest.fixture(scope="module")
def site(tmp_path_factory, pytestconfig):
    if built_before := pytestconfig.option.site:
        return Path(built_before).resolve()
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


@of_the_site
def test_the_navigation_has_every_page_and_no_other(pages):
    assert {f"{name}.html" for name in nav()} == set(pages)


@of_the_site
def test_nothing_is_loaded_from_elsewhere(pages):
    loads = {load for text in pages.values() for load in Page(text).loads}
    assert any(load.endswith(".css") for load in loads)
    assert not [load for load in loads if re.match(r"(https?:)?//", load)]


@of_the_site
def test_links_lead_to_files_of_the_site(site, pages):
    for name, text in pages.items():
        for link in re.findall(r'(?:href|src)="([^"#?:]+)[#"]', text):
            assert ((site / name).parent / link).exists(), f"{link} on {name}"


@of_the_site
@pytest.mark.parametrize(
    ("name", "english", "chinese"),
    [
        ("index.html", "index.html", "zh/index.html"),
        ("zh/index.html", "../index.html", "index.html"),
        ("tour.html", "tour.html", "zh/tour.html"),
        ("zh/tour.html", "../tour.html", "tour.html"),
        ("sweeps.html", "sweeps.html", "zh/index.html"),  # not translated
        ("reference/data.html", "data.html", "../zh/index.html"),
        ("zh/glossary.html", "../index.html", "glossary.html"),  # Chinese alone
    ],
)
def test_a_page_switches_to_its_translation_or_to_the_front_page(pages, name, english, chinese):
    switch = re.findall(r'<a href="([^"]*)" hreflang="([^"]*)"', pages[name])
    assert switch == [(english, "en"), (chinese, "zh-CN")]


@of_the_site
def test_the_words_of_the_theme_are_those_of_the_page(pages):
    assert 'aria-label="页脚"' in pages["zh/tour.html"]
    assert 'aria-label="Footer"' in pages["tour.html"]


@of_the_site
def test_every_page_is_read_from_left_to_right(pages):
    assert [name for name, text in pages.items() if '<body dir="ltr"' not in text] == []


@of_the_site
def test_chinese_lines_are_joined_without_a_space(pages):
    text = re.sub(r"<[^>]*>", "", pages["zh/tour.html"])
    assert re.search(r"Ray\Ssweeps\.md", text)
    assert re.search(r"从检查点继续\S结果与", text)


@of_the_site
def test_chinese_headings_have_anchors_of_their_words(pages):
    assert '<h2 id="教材中的例子">' in pages["zh/attend.html"]


@of_the_site
@needs_node
def test_the_search_finds_words_of_both_languages_inside_running_text(site):
    (worker,) = site.glob("assets/javascripts/workers/search*.js")
    wanted = {
        "留一法": "zh/tour.html",
        "逐位相同": "zh/tour.html",
        "滑块": "zh/attend.html#自己的张量",
        "teacher forcing": "recipes.html#sequences",
        "bandwidth": "course/pooling.html#bandwidth",
    }
    script = Path(__file__).parent / "search.js"
    found = in_node(list(wanted), script, worker, site / "search.json")
    for (words, place), places in zip(wanted.items(), found, strict=True):
        assert place in places, words


@of_the_site
def test_formulas_are_mathml(pages):
    assert "<mfrac>" in pages["course/pooling.html"]
    assert not [name for name, text in pages.items() if "arithmatex" in text]


@of_the_site
def test_headings_of_columns_have_words(pages):
    assert not [name for name, text in pages.items() if re.search(r"<th[^>]*></th>", text)]


@of_the_site
def test_the_reference_has_formulas_signatures_and_examples(pages):
    text = re.sub(r"<[^>]*>", "", pages["reference/model.html"])
    assert "a(q, k) = w_v' tanh(W_q q + W_k k), without biases." in text
    assert "Additive(query_dim=2, key_dim=3, hidden_dim=8)" in text
    assert "load_run(" in re.sub(r"<[^>]*>", "", pages["reference/attnexp.html"])


@of_the_site
def test_pages_say_their_language_and_have_headings_in_order_and_words_for_pictures(pages):
    for name, text in pages.items():
        page = Page(text)
        assert page.language == ("zh-CN" if name.startswith("zh/") else "en"), name
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


def luminance(colour: str) -> float:
    """The relative luminance of #rrggbb, by WCAG 2."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted([luminance(one), luminance(other)])
    return (lighter + 0.05) / (darker + 0.05)


def test_contrast_is_that_of_the_examples_of_wcag():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("scheme", ["default", "slate"])
def test_the_entry_of_the_current_page_in_the_menu_can_be_read(scheme):
    sheet = (ROOT / "docs" / "site.css").read_text()
    (rule,) = re.findall(
        rf'\[data-md-color-scheme="{scheme}"\] \.md-nav__item \.md-nav__link--active {{(.*?)}}',
        sheet,
        flags=re.DOTALL,
    )
    said = dict(re.findall(r"([\w-]+): (#\w{6});", rule))
    assert contrast(said["color"], said["background"]) >= 4.5


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    driver = started(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()


def shown(browser, width: int, scheme: str) -> None:
    """Make the window of a width, for a reader who prefers a scheme of colours."""
    size = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 800}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    preferred = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", preferred)


WITHOUT_FOCUS = """
return [...document.querySelectorAll("article *")].filter(box =>
    ["auto", "scroll"].includes(getComputedStyle(box).overflowX)
    && box.scrollWidth > box.clientWidth && box.getAttribute("tabindex") !== "0"
).map(box => box.outerHTML.slice(0, 80))
"""


@pytest.mark.slow
@of_the_site
@needs_browser
def test_on_a_phone_pages_are_as_wide_as_the_window_and_the_keyboard_scrolls_their_parts(
    site, pages, browser
):
    shown(browser, 390, "light")
    for name in sorted(pages):
        browser.get((site / name).as_uri())
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 390, name
        assert browser.execute_script(WITHOUT_FOCUS) == [], name


MENU = ["Start", *(group.en for group in GROUPS), "Python reference", "The project"]


@of_the_site
@needs_browser
@pytest.mark.parametrize(
    ("name", "menu"),
    [
        ("index.html", MENU),
        ("changelog.html", MENU),
        ("zh/index.html", ["中文"]),
        ("zh/course/heads.html", ["中文"]),
    ],
)
def test_the_menu_and_the_footer_lead_to_pages_of_the_same_language(site, browser, name, menu):
    browser.set_window_size(1400, 900)
    browser.get((site / name).as_uri())
    shown = browser.execute_script("""
        const seen = (one) => one.checkVisibility();
        const items = document.querySelectorAll(".md-nav--primary > .md-nav__list > li");
        const links = [...document.querySelectorAll(".md-footer__link")].filter(seen);
        const first = (item) => item.querySelector("label, a").innerText.trim();
        return [[...items].filter(seen).map(first), links.map((link) => link.getAttribute("href"))];
    """)
    assert shown[0] == menu
    inside = name.startswith("zh/")
    assert all(
        (("zh" in (site / name).parent.joinpath(link).resolve().parts) == inside)
        for link in shown[1]
    )


@of_the_site
@needs_browser
def test_the_palette_follows_the_reader_also_when_they_change_their_mind(site, browser):
    for scheme, dark in {"light": False, "dark": True}.items():
        shown(browser, 1280, scheme)
        browser.get((site / "index.html").as_uri())
        colour = "return getComputedStyle(document.body).backgroundColor"
        red, green, blue = map(int, re.findall(r"\d+", browser.execute_script(colour))[:3])
        assert (max(red, green, blue) < 64) == dark, scheme


COLUMN = """
return [...document.querySelectorAll("#register tbody tr:not([hidden])")].map(row =>
    row.cells[arguments[0]].innerText.trim())
"""


@of_the_site
@needs_browser
def test_the_register_is_sorted_by_the_keyboard_and_filtered_by_words(site, pages, browser):
    from selenium.webdriver.common.by import By

    shown(browser, 1280, "light")
    browser.get((site / "register.html").as_uri())
    there = re.findall(r"<tr>\s*<td>.*?</td>\s*<td>(.*?)</td>", pages["register.html"])
    assert browser.execute_script(COLUMN, 1) == there != sorted(there)
    head = browser.find_elements(By.CSS_SELECTOR, "#register th")[1]
    years, blank = [year for year in there if year], [year for year in there if not year]
    for order in ("ascending", "descending", "ascending"):
        head.find_element(By.TAG_NAME, "button").send_keys("\ue007")  # Enter
        assert head.get_attribute("aria-sort") == order
        wanted = sorted(years, reverse=order == "descending") + blank
        assert browser.execute_script(COLUMN, 1) == wanted
    browser.find_elements(By.CSS_SELECTOR, "#register th button")[0].click()
    sorted_heads = browser.find_elements(By.CSS_SELECTOR, "#register th[aria-sort]")
    assert [each.text.split()[0] for each in sorted_heads] == ["mechanism"]
    field = browser.find_element(By.CSS_SELECTOR, "#register label input")
    field.send_keys("KERNEL 1986")
    kernels = [
        f"model={name}{more}" for name in ("biweight", "triweight") for more in ("", "_learned")
    ]
    assert browser.execute_script(COLUMN, 0) == kernels
    field.send_keys("\ue009a\ue000\ue003")  # all of it, deleted
    assert len(browser.execute_script(COLUMN, 0)) == len(there)


@pytest.mark.slow
@of_the_site
@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_no_fault(site, pages, browser, width, scheme):
    """On every page."""
    from axe_core_python.selenium import Axe

    shown(browser, width, scheme)
    faults = {}
    for name in sorted(pages):
        browser.get((site / name).as_uri())
        for fault in Axe().run(browser)["violations"]:
            targets = [node["target"] for node in fault["nodes"]]
            faults[name, fault["id"]] = targets[:3]
    assert not faults

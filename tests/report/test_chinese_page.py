"""Pages in Chinese, in a real browser: no fixed word stays English, and the switch keeps all."""

import html
import re
import time

import pytest
from browser import needs_browser

from attnexp.cli.parser import run_verb
from attnexp.report.page import Page
from attnexp.report.render import page

pytestmark = pytest.mark.check

NAMES = re.compile(
    r"[\w./]+=[\w.]+|\w*_\w*|\bcommit [0-9a-f]+|"
    r"\b(additive|boxcar|gaussian|learned|dot|softmax|sine|reverse|transformer|"
    r"rnn|width|seed|score|model|arch|positions|normalizer|none|"
    r"sinusoidal|steps|missing|exact match|pad|eos|bos|English|log|dev\d*|"
    r"attnexp|torch|cpu|python|native|cc)\b"
)
"""Names of choices, settings, metrics and symbols, and of the other language."""

TEXTS = """
    const left = "p.note:not(.verdicts p), pre, details table, script, style, .every table";
    for (const section of document.querySelectorAll("section")) {
      section.classList.toggle("every", section.querySelector("h2").innerText === "每次运行");
    }
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      if (!walker.currentNode.parentElement.closest(left)) found.push(walker.currentNode.data);
    }
    for (const one of document.querySelectorAll("[aria-label], [title]")) {
      if (!one.closest(left)) found.push(one.getAttribute("aria-label") ?? one.title);
    }
    return found.filter((text) => text.trim());
"""

TOUCH = """
    for (const one of document.querySelectorAll(".panel svg, .panel canvas")) {
      const { left, top, width, height } = one.getBoundingClientRect();
      const at = { clientX: left + width / 2, clientY: top + height / 3 };
      one.dispatchEvent(new PointerEvent("pointermove", at));
    }
"""


@pytest.fixture(scope="module")
def pages(finished_runs, tmp_path_factory):
    """Pages of a report and of an attention, in Chinese."""
    folder = tmp_path_factory.mktemp("chinese")
    names = ("rnn", "transformer", "curve", "second", "boxcar")
    files = [folder / "report.html", folder / "attend.html"]
    runs = [str(finished_runs[name]) for name in names]
    run_verb("report", [*runs, "--lang", "zh", "--output", str(files[0])])
    run_verb("attend", ["example=additive", "--lang", "zh", "--output", str(files[1])])
    return files


def open_page(browser, url):
    browser.get("about:blank")
    browser.get(url)
    browser.execute_script("sessionStorage.clear()")
    browser.get("about:blank")
    browser.get(url)


def settle(browser):
    """Wait until the answers of a page, which are written symbol by symbol, have ended."""
    read, before = "return document.getElementById('page').innerText", None
    for _ in range(60):
        time.sleep(0.5)
        text = browser.execute_script(read)
        if text == before and "\u2026" not in text:
            return text
        before = text
    raise AssertionError(before)


def language(browser):
    return browser.execute_script("return document.documentElement.lang")


def switch(browser):
    browser.execute_script("document.querySelector('.tools [lang]').click()")
    for _ in range(100):
        time.sleep(0.05)
        if browser.execute_script("return document.querySelector('.tools [lang]') !== null"):
            return
    raise AssertionError


@needs_browser
def test_no_fixed_word_of_a_page_stays_english(browser, pages):
    for file in pages:
        open_page(browser, file.as_uri())
        assert language(browser) == "zh-CN"
        settle(browser)
        browser.execute_script(TOUCH)
        texts = set(browser.execute_script(TEXTS)) - {browser.title}
        left = {text: re.findall("[A-Za-z]{2,}", NAMES.sub("", text)) for text in texts}
        assert {text: words for text, words in left.items() if words} == {}
        assert browser.get_log("browser") == []


@needs_browser
def test_the_switch_changes_the_language_and_keeps_what_was_typed(browser, pages):
    open_page(browser, pages[0].as_uri())
    chinese = browser.execute_script("return document.querySelector('.verdicts h2').innerText")
    browser.execute_script("""
        const input = document.querySelector('.computed-body input[type=text]');
        input.value = "3 1 2";
        input.dispatchEvent(new Event("change"));
    """)
    switch(browser)
    english = browser.execute_script("return document.querySelector('.verdicts h2').innerText")
    typed = "return document.querySelector('.computed-body input[type=text]').value"
    assert (chinese, english, language(browser)) == ("判定", "Verdict", "en")
    assert browser.execute_script(typed) == "3 1 2"
    assert "lang=en" in browser.current_url
    browser.execute_script("document.querySelector('nav a').click()")
    assert browser.current_url.endswith("#part-0")
    browser.refresh()
    assert language(browser) == "en"
    switch(browser)
    assert language(browser) == "zh-CN"


@needs_browser
def test_a_link_has_a_language_and_an_unknown_one_is_that_of_the_page(browser, pages):
    for asked, found in (("en", "en"), ("zh", "zh-CN"), ("fr", "zh-CN")):
        open_page(browser, f"{pages[0].as_uri()}#lang={asked}")
        assert language(browser) == found


@needs_browser
@pytest.mark.parametrize("sandbox", ["", ' sandbox="allow-scripts"'])
def test_a_page_in_a_frame_without_an_address_has_no_switch(browser, pages, tmp_path, sandbox):
    outside = tmp_path / "outside.html"
    content = html.escape(pages[1].read_text(), quote=True)
    outside.write_text(f'<iframe{sandbox} width=900 height=900 srcdoc="{content}"></iframe>')
    browser.get(outside.as_uri())
    browser.switch_to.frame(0)
    time.sleep(1)
    inside = "return document.getElementById('page').innerText"
    assert "序列 1" in browser.execute_script(inside)
    browser.execute_script("""
        const input = document.querySelector('.computes input[type=number]');
        input.value = 3;
        input.dispatchEvent(new Event("change"));
    """)
    assert browser.execute_script("return document.querySelector('.tools [lang]')") is None
    browser.switch_to.default_content()
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


@needs_browser
def test_the_numbers_of_a_page_are_the_same_in_both_languages(browser, pages):
    found = []
    for asked in ("en", "zh"):
        open_page(browser, f"{pages[0].as_uri()}#lang={asked}")
        found.append(sorted(re.findall(r"\d+\.\d+", settle(browser))))
    assert found[0] == found[1] != []


@needs_browser
def test_a_page_without_a_language_is_english_whatever_a_link_asks(browser, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(page(Page("t", notes=["a note"])))
    open_page(browser, f"{file.as_uri()}#lang=zh")
    assert language(browser) == "en"
    assert "Notes" in browser.execute_script("return document.body.innerText")
    assert browser.execute_script("return document.querySelector('.tools [lang]')") is None
    assert browser.get_log("browser") == []


def test_a_page_without_a_language_has_no_table():
    whole = page(Page("t"))
    assert '<html lang="en">' in whole
    assert '<script type="application/json" id="table">{}</script>' in whole


def test_a_page_in_chinese_says_so_in_its_head(pages):
    whole = pages[0].read_text()
    assert '<html lang="zh-CN">' in whole
    assert "<title>注意力机制的比较</title>" in whole


@pytest.mark.parametrize(
    ("verb", "words", "said"),
    [
        ("report", ["--lang", "fr"], "attnexp: --lang 'fr' is not a choice: choose en or zh."),
        ("attend", ["example=kernel", "--lang", "zh"], "name its file with --output"),
    ],
)
def test_a_language_that_cannot_be_told_is_refused(refused, verb, words, said):
    assert said in refused(verb, *words)

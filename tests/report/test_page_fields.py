"""The scripts of a page read the fields of its type: all of them, and no others."""

import msgspec
import pytest
from browser import needs_browser
from pages import content_of

from attnexp.cli.parser import run_verb
from attnexp.report import page as types
from attnexp.report.page import DataSection, Live, Page, Result
from attnexp.report.render import page

pytestmark = pytest.mark.check

WATCH = """
    const read = window.read = [], known = new WeakMap(), parse = JSON.parse;
    const watched = (value, path) => {
      if (value === null || typeof value !== "object") return value;
      if (!known.has(value)) known.set(value, new Proxy(value, { get(target, name) {
        if (typeof name === "symbol") return target[name];
        if (!Array.isArray(target)) read.push([...path, name]);
        return watched(target[name], [...path, name]);
      } }));
      return known.get(value);
    };
    JSON.parse = (text, revive) => {
      const content = document.getElementById("content");
      return text === content?.textContent ? watched(parse(text, revive), []) : parse(text, revive);
    };
"""
"""Keeps the path of each field that is read."""

TOUCH = """
    for (const one of document.querySelectorAll(".panel svg, .panel canvas")) {
      const { left, top, width, height } = one.getBoundingClientRect();
      const at = { clientX: left + width / 2, clientY: top + height / 3 };
      one.dispatchEvent(new PointerEvent("pointermove", at));
    }
    for (const input of document.querySelectorAll("[aria-label=source]")) {
      input.value = "an unknown source";
      input.dispatchEvent(new Event("change"));
    }
    const buttons = document.querySelectorAll(".quiz, .tools button:not([lang])");
    for (const button of buttons) button.click();
    return [...new Set(window.read.map((path) => path.join("/")))];
"""


def fields():
    """Yield the fields of all parts of a page, as pairs of names."""
    for part in vars(types).values():
        if isinstance(part, type) and issubclass(part, msgspec.Struct) and part != msgspec.Struct:
            names = [field.encode_name for field in msgspec.structs.fields(part)]
            tag = part.__struct_config__.tag_field
            yield from ((part.__name__, name) for name in filter(None, [tag, *names]))


def owner(content, path):
    """Return the part of a page at a path."""
    for name in path:
        if isinstance(content, msgspec.Struct):
            content = getattr(content, name)
        else:
            content = content[name if isinstance(content, dict) else int(name)]
    return content


@needs_browser
def test_the_scripts_read_each_field_of_a_page_and_no_others(browser, finished_runs, tmp_path):
    files = [tmp_path / f"{name}.html" for name in ("report", "attend", "live")]
    run_verb("report", [*map(str, finished_runs.values()), "--output", str(files[0])])
    run_verb("attend", ["example=local_linear", "--output", str(files[1])])
    results = [Result("results", "", None, None)]
    sections = [DataSection("a", 0), DataSection("b", 0)]
    live = Page(
        "t", verdicts=["a verdict"], results=results, data=sections, live=Live("1 of 2 runs", [])
    )
    files[2].write_text(page(live))
    browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
    read = set()
    for file in files:
        content = msgspec.convert(content_of(file.read_text()), type=Page)
        browser.get(file.as_uri())
        for path in browser.execute_script(TOUCH):
            *before, name = path.split("/")
            part = owner(content, before)
            if isinstance(part, msgspec.Struct):
                read.add((type(part).__name__, name))
        assert browser.get_log("browser") == []
    assert read == set(fields())

"""The scripts of a page read the fields of its type: all of them, and no others."""

import pytest
from browser import needs_browser
from msgspec import inspect

from attnexp.cli import attend, report
from attnexp.report.page import DataSection, Live, Page, Result
from attnexp.report.render import page

WATCH = """
    const read = window.read = new Set(), known = new WeakMap(), parse = JSON.parse;
    const watched = (value, path) => {
      if (value === null || typeof value !== "object") return value;
      if (!known.has(value)) known.set(value, new Proxy(value, { get(target, name) {
        if (typeof name === "symbol") return target[name];
        const at = `${path}/${Array.isArray(target) ? target[name]?.kind ?? 0 : name}`;
        read.add(at);
        return watched(target[name], at);
      } }));
      return known.get(value);
    };
    JSON.parse = (text) => {
      const content = document.getElementById("content");
      return text === content?.textContent ? watched(parse(text), "") : parse(text);
    };
"""
"""Keeps the path of each field that is read. A member of a list is named by its kind, if any."""

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
    for (const button of document.querySelectorAll(".quiz, .tools button")) button.click();
    return [...window.read];
"""


@pytest.fixture(scope="module")
def pages(finished_runs, tmp_path_factory):
    """Pages with each kind of model, and one about runs that are going on."""
    folder = tmp_path_factory.mktemp("pages")
    paths = [folder / f"{name}.html" for name in ("report", "attend", "live")]
    report.main([*map(str, finished_runs.values()), "--output", str(paths[0])])
    attend.main(["example=kernel", "--output", str(paths[1])])
    sections = [DataSection("a", 0), DataSection("b", 0)]
    result = Result("results", "", None, None)
    live = Page("t", (), ["a verdict"], [result], sections, live=Live("1 of 2 runs", []))
    paths[2].write_text(page(live))
    return [path.as_uri() for path in paths]


def fields(kind):
    """Yield the fields of a type and of the types in it, as pairs of names."""
    match kind:
        case inspect.StructType():
            for name, inside in members(kind).items():
                yield kind.cls.__name__, name
                yield from fields(inside)
        case inspect.UnionType():
            for each in kind.types:
                yield from fields(each)
        case inspect.ListType():
            yield from fields(kind.item_type)
        case inspect.DictType():
            yield from fields(kind.value_type)


def members(kind):
    tag = {kind.tag_field: None} if kind.tag_field else {}
    return tag | {field.encode_name: field.type for field in kind.fields}


def behind(kind, name):
    """Return the type of a member of a type."""
    match kind:
        case inspect.StructType():
            kind = members(kind).get(name)
        case inspect.ListType():
            kind = kind.item_type
        case inspect.DictType():
            kind = kind.value_type
        case _:
            return None
    if isinstance(kind, inspect.UnionType):
        structs = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
        kind = next((each for each in structs if getattr(each, "tag", None) == name), structs[0])
    return kind


def field_at(path):
    """Return the type and the field at a path, or None for a member of a list or a mapping."""
    *before, name = path.removeprefix("/").split("/")
    kind = inspect.type_info(Page)
    for each in before:
        kind = behind(kind, each)
    return (kind.cls.__name__, name) if isinstance(kind, inspect.StructType) else None


@needs_browser
def test_the_scripts_read_each_field_of_a_page_and_no_others(browser, pages):
    browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
    read = set()
    for address in pages:
        browser.get(address)
        read |= {field_at(path) for path in browser.execute_script(TOUCH)}
        assert browser.get_log("browser") == []
    assert read - {None} == set(fields(inspect.type_info(Page)))

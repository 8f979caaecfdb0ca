"""The report in a real browser: it renders, sorts, slides and logs no error, on a phone too."""

from functools import partial

import pytest
from browser import needs_browser

from attnexp.cli.parser import run_verb

main = partial(run_verb, "report")

pytestmark = [needs_browser, pytest.mark.check]

EACH = "document.querySelectorAll('section')[2].querySelectorAll('table')[arguments[1]]"
"""A table with a row per run: the results of the two data sets come first."""

HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=alert(1)>"


@pytest.fixture(params=[1100, 390], ids=["desktop", "phone"])
def opened(request, browser, regression_run, sequence_run, tmp_path):
    """The report of a few runs, opened at a width; nothing may have been logged at the end."""
    width = request.param
    for seed in (0, 1, 10):
        losses = (2.0, 1.0, 0.5 / (seed + 1))
        metrics = {"test_mse": 0.1 * (seed + 1), "test_mae": {0: 0.7, 1: 0.3}.get(seed)}
        regression_run(f"r{seed}", seed=seed, losses=losses, metrics=metrics, snapshots=(0, 3))
    names = {"data": "reverse", "arch": "transformer"}
    measured = {"exact": 0.98, "test_mse": None}
    sequence_run("plain", layers=2, heads=3, choices={"model": "dot", **names}, metrics=measured)
    hostile = {"seed": 0, "model.hidden_dim": 9}
    sequence_run(
        "hostile",
        choices={"model": HOSTILE, **names},
        settings=hostile,
        notes=[HOSTILE],
        metrics=measured,
    )
    file = tmp_path / "report.html"
    main([str(tmp_path), "--output", str(file), "--title", HOSTILE])
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(file.as_uri())
    yield browser
    assert browser.get_log("browser") == []


def texts(browser, selector):
    script = "return [...document.querySelectorAll(arguments[0])].map((e) => e.innerText)"
    return [text.strip() for text in browser.execute_script(script, selector)]


def picture(browser, place):
    """The pixels of a canvas."""
    script = "return document.querySelectorAll('canvas')[arguments[0]].toDataURL()"
    return browser.execute_script(script, place)


def slide(browser, name, value):
    script = """
        const input = [...document.querySelectorAll("input[type=range]")].find(
            (one) => one.getAttribute("aria-label") === arguments[0]);
        input.value = arguments[1];
        input.dispatchEvent(new Event("input"));
        return input.parentElement.querySelector("output").textContent;
    """
    return browser.execute_script(script, name, value)


def test_it_renders_within_its_width(opened):
    titles = texts(opened, "h2")
    assert (titles[-1], set(titles[:-1])) == ("Every run", {"sine", "reverse", "Verdict"})
    wide, room = opened.execute_script(
        "const e = document.documentElement; return [e.scrollWidth, e.clientWidth]"
    )
    assert wide <= room
    assert len(texts(opened, "canvas")) == 3
    lines = opened.execute_script("return document.querySelectorAll('polyline').length")
    assert lines == 5


def test_hostile_names_are_text(opened):
    assert opened.title == HOSTILE
    assert texts(opened, "h1") == [HOSTILE]
    assert HOSTILE in " ".join(texts(opened, "figcaption"))
    assert opened.execute_script("return document.querySelectorAll('img, main script').length") == 0


def test_tables_sort_by_numbers_both_ways_with_gaps_last(opened):
    titles = "return [...document.querySelectorAll('section')[2].querySelectorAll('h3')]"
    own = opened.execute_script(titles + ".map((e) => e.innerText)").index("sine")
    script = f"return [...{EACH}.tHead.rows[0].cells].map((e) => e.textContent)"
    heads = opened.execute_script(script, None, own)
    seed, mse, mae = (heads.index(name) for name in ("seed", "test_mse", "test_mae"))

    def press(place):
        click = f"{EACH}.tHead.rows[0].cells[arguments[0]].firstChild.click();"
        cells = f"[...{EACH}.tBodies[0].rows].map((row) => row.cells[arguments[0]].textContent)"
        return opened.execute_script(f"{click} return {cells}", place, own)

    assert press(seed) == ["0", "1", "10"]
    assert press(seed) == ["10", "1", "0"]
    assert press(mse) == ["0.1", "0.2", "1.1"]
    assert press(mse) == ["1.1", "0.2", "0.1"]
    assert press(mae) == ["0.3", "0.7", "\u2013"]
    assert press(mae) == ["0.7", "0.3", "\u2013"]
    sorted_heads = opened.execute_script(
        "return [...document.querySelectorAll('th[aria-sort]')].map((e) => e.ariaSort)"
    )
    assert sorted_heads == ["descending"]


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("example", 2, "3 of 4"),
        ("layer", 0, "1 of 2"),
        ("head", 3, "3 of 3"),
        ("epoch", 0, "0"),
    ],
)
def test_sliders_change_the_maps(opened, name, value, told):
    before = [picture(opened, place) for place in range(3)]
    assert slide(opened, name, value) == told
    after = [picture(opened, place) for place in range(3)]
    assert before != after


def test_more_columns_are_shown_when_they_are_asked_for(opened):
    script = """
        const button = [...document.querySelectorAll("button")].find((one) => one.textContent.endsWith("more columns"));
        const count = () => [...button.parentElement.querySelectorAll("th")].filter((one) => one.offsetParent).length;
        const before = count();
        button.click();
        return [before < count(), button.getAttribute("aria-pressed")];
    """  # noqa: E501
    assert opened.execute_script(script) == [True, "true"]


def test_the_first_picture_comes_before_the_first_table(opened):
    script = """
        const top = (name) => document.querySelector(name).getBoundingClientRect().top;
        return [top(".verdicts .note"), top("nav"), top(".dots"), top("table"), top("canvas")];
    """
    places = opened.execute_script(script)
    assert places == sorted(places)
    assert places[2] < 800


def test_a_map_can_be_read_and_a_line_hidden(opened):
    read = """
        const canvas = document.querySelectorAll("canvas")[arguments[0]];
        const box = canvas.getBoundingClientRect();
        canvas.dispatchEvent(new PointerEvent("pointermove", {
            clientX: box.left + box.width * 0.7, clientY: box.top + box.height * 0.3}));
        return canvas.closest("section").querySelector(".maps ~ .reading").innerText;
    """
    assert "with weight 0." in opened.execute_script(read, 0)
    hide = """
        const button = document.querySelector(".legend button");
        const count = () => button.closest(".chart").querySelectorAll("polyline").length;
        const before = count();
        button.click();
        return [before, count(), button.getAttribute("aria-pressed")];
    """
    before, after, pressed = opened.execute_script(hide)
    assert after == before - 1
    assert pressed == "false"

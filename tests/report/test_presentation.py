"""A presentation fills the screen: each panel is measured in a real browser."""

import time
from functools import partial

import msgspec
import pytest
from browser import needs_browser

from attnexp.cli.parser import run_verb
from attnexp.report.content import report_content
from attnexp.report.page import Chart, DataSection, DotRow, Dots, Page, Result, Series
from attnexp.report.render import page
from attnexp.runs.folder import load_run

main = partial(run_verb, "report")
attend = partial(run_verb, "attend")

pytestmark = [needs_browser, pytest.mark.check]

SCREENS = [
    (1280, 720),
    pytest.param((1920, 1080), marks=pytest.mark.slow),
    pytest.param((1024, 768), marks=pytest.mark.slow),
]

SMALLEST = {(1280, 720): 18, (1920, 1080): 24, (1024, 768): 16}
"""The smallest letters of a slide, in pixels."""

RECORD = """
    const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
        const size = parseFloat(this.font), width = this.measureText(text).width, high = 0.7 * size;
        const left = { left: 0, center: width / 2, right: width }[this.textAlign];
        const above = { top: 0, middle: high / 2, bottom: high }[this.textBaseline] ?? high;
        const corners = [[x - left, y - above], [x - left + width, y - above + high]]
            .map(([a, b]) => this.getTransform().transformPoint(new DOMPoint(a, b)));
        (this.canvas.texts ??= []).push({ text, size, xs: corners.map((c) => c.x), ys: corners.map((c) => c.y) });
        return fillText.call(this, text, x, y);
    };
"""  # noqa: E501
"""Keeps the texts of each canvas: their sizes and boxes."""

MEASURE = """
    const panel = document.querySelector("#stage .panel"), box = (one) => one.getBoundingClientRect();
    const visible = (selector) => [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility());
    const pictures = visible("#stage .picture svg, #stage canvas, #stage .dots, #stage .matrix").map(box);
    const least = (side) => Math.min(...pictures.map((one) => one[side]));
    const most = (side) => Math.max(...pictures.map((one) => one[side]));
    const [top, bottom] = [least("top"), most("bottom")];
    const under = visible("#stage p").map(box).filter((one) => one.top >= bottom - 2);
    const text = under.length ? Math.max(...under.map((one) => one.bottom)) - Math.min(...under.map((one) => one.top)) : 0;
    const own = (one) => [...one.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    const sizes = visible("#stage *").filter(own).map((one) =>
        [parseFloat(getComputedStyle(one).fontSize) * one.currentCSSZoom, one.textContent]);
    const canvases = visible("#stage canvas");
    const drawn = canvases.map((one) => one.texts.map(({ text, xs, ys }) =>
        [text, Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)]));
    const inked = (one) => {
        const { left, top, right, bottom } = box(one), high = one.hasAttribute("transform") ? 0 : 0.2 * (bottom - top);
        return [one.textContent, left, top + high, right, bottom - high];
    };
    const textsOf = (svg) => [...svg.querySelectorAll("text")].filter((one) => one.checkVisibility()).map(inked);
    const framed = visible("#stage .panel svg:not(button svg)");
    const svgs = framed.map(textsOf);
    const outside = framed.flatMap((svg) => {
        const frame = box(svg);
        return textsOf(svg).filter(([, left, top, right, bottom]) => Math.max(
            frame.left - left, frame.top - top, right - frame.right, bottom - frame.bottom) > 0.5);
    });
    return {
        wide: pictures.length ? (most("right") - least("left")) / (innerWidth - 60) : 1,
        high: pictures.length ? (bottom - top) / (innerHeight - 15 - top - text) : 1,
        inside: !pictures.length || (most("right") <= innerWidth && bottom <= innerHeight),
        sizes: [...sizes, ...canvases.flatMap((one) => one.texts.map((text) => [text.size, text.text]))],
        texts: [...drawn, ...svgs],
        outside,
    };
"""  # noqa: E501


@pytest.fixture(scope="module")
def pages(finished_runs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    runs = [str(finished_runs[name]) for name in ("rnn", "transformer", "curve", "boxcar")]
    main([*runs, "--output", str(folder / "report.html")])
    table = ("--queries", "1,2;3,4", "--keys", "1,0;0,1;1,1", "--values", "10;20;30")
    attend(["model=gaussian", *table, "--output", str(folder / "attend.html")])
    return folder


@pytest.fixture
def panels(browser, pages):
    """The measures of each panel of a page on a screen."""
    script = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": RECORD})

    def measured(name, width, height):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get("about:blank")
        browser.get((pages / f"{name}.html").as_uri())
        count = browser.execute_script("return document.querySelectorAll('.panel').length")
        press(browser, "p")
        for _ in range(count):
            time.sleep(0.6)  # an answer is written symbol by symbol
            title = browser.execute_script(
                "return document.querySelector('#stage h3, #stage .panel h2').innerText"
            )
            yield title, browser.execute_script(MEASURE)
            press(browser, "ArrowRight")
        assert browser.get_log("browser") == []

    yield measured
    browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def press(browser, key):
    browser.execute_script(
        "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0],"
        " bubbles: true}))",
        key,
    )


def overlapping(texts):
    """The pairs of texts that lie over each other by more than a pixel."""
    return [
        (one[0], other[0])
        for i, one in enumerate(texts)
        for other in texts[:i]
        if all(min(one[k + 2], other[k + 2]) - max(one[k], other[k]) > 1 for k in (1, 2))
    ]


@pytest.mark.slow
@pytest.mark.parametrize("screen", SCREENS, ids=str)
@pytest.mark.parametrize("name", ["report", "attend"])
def test_each_panel_fills_the_screen_and_can_be_read(panels, name, screen):
    for title, found in panels(name, *screen):
        assert max(found["wide"], found["high"]) >= 0.9, (title, found["wide"], found["high"])
        assert found["inside"], title
        assert min(found["sizes"])[0] >= SMALLEST[screen], (title, min(found["sizes"]))
        assert [overlapping(texts) for texts in found["texts"]] == [[] for _ in found["texts"]]
        assert found["outside"] == [], title


ENDS = [
    (0.6, 1.0),
    (0.0, 100.0),
    (-2500.0, 10000.0),
    (0.0001, 0.0009),
    (1e-7, 3e6),
    (98765.0, 98766.0),
]


def drawn(ends):
    """A page with a chart and the dots of two rows between two numbers."""
    low, high = ends
    log = low > 0 and high > 1e3 * low
    chart = Chart("Chart", "x", "y", log, [Series("a", 0, ends, ends, seeds=1)], points=())
    rows = [DotRow(f"a longer name of row {n}", v, None, None, ()) for n, v in enumerate(ends)]
    result = Result("sine", "", Dots("mse", "lower", log, 0, rows), None)
    return Page("t", results=[result], data=[DataSection("sine", 0, [chart])])


@pytest.mark.slow
@pytest.mark.parametrize(
    "ends", [*ENDS[:2], *(pytest.param(each, marks=pytest.mark.slow) for each in ENDS[2:])], ids=str
)
def test_ticks_of_any_length_are_inside(panels, pages, ends):
    (pages / "ticks.html").write_text(page(drawn(ends)))
    for screen in ((1920, 1080), (1366, 768), (1024, 768)):
        for title, found in panels("ticks", *screen):
            assert found["outside"] == [], (title, screen)
            assert any(found["texts"]), title


@pytest.mark.slow
def test_names_of_cells_that_are_too_small_are_not_drawn(panels):
    drawn = []
    for height in (1080, 480):
        maps = [found for title, found in panels("report", 1280, height) if title == "Attention"]
        texts = [texts for found in maps for texts in found["texts"]]
        assert [overlapping(each) for each in texts] == [[] for _ in texts]
        drawn.append(sum(map(len, texts)))
    assert drawn[1] < drawn[0]


@pytest.mark.slow
def test_five_maps_use_the_height_of_a_slide_and_name_their_symbols(panels, pages, finished_runs):
    content = report_content("t", [load_run(finished_runs["rnn"])])
    (data,) = content.data
    assert data.attention is not None
    (one,) = data.attention.configurations
    five = [msgspec.structs.replace(one, label=f"row {n}") for n in range(5)]
    attention = msgspec.structs.replace(data.attention, configurations=five)
    data = msgspec.structs.replace(data, attention=attention, charts=[], computed=[])
    made = msgspec.structs.replace(content, data=[data], results=content.results[:1])
    (pages / "five.html").write_text(page(made))
    for screen in ((1280, 720), (1920, 1080)):
        found = dict(panels("five", *screen))["Attention"]
        assert found["high"] >= 0.8, screen
        assert found["wide"] >= 0.9, screen
        named = [{text for text, *_ in texts} for texts in found["texts"]]
        assert len(named) == 5
        assert all("<eos>" in each and len(each) > 4 for each in named)


@pytest.mark.slow
def test_the_slide_of_a_metric_has_its_verdict(browser, pages):
    verdicts = ["additive beats dot"]
    rows = [DotRow(name, mean, None, None, ()) for name, mean in (("additive", 1.0), ("dot", 0.5))]
    result = Result("sort", "", Dots("exact_match", "higher", False, 0, rows), None, None, verdicts)
    (pages / "verdict.html").write_text(page(Page("t", results=[result])))
    browser.get((pages / "verdict.html").as_uri())
    visible = "return document.querySelector('.slide-only').checkVisibility()"
    assert not browser.execute_script(visible)
    press(browser, "p")
    assert browser.execute_script(visible)
    text = browser.execute_script("return document.querySelector('#stage .verdict').innerText")
    assert text == "additive beats dot"


@pytest.mark.slow
def test_a_page_without_panels_is_not_presented(browser, tmp_path):
    path = tmp_path / "empty.html"
    path.write_text(page(Page("nothing yet")))
    browser.get(path.as_uri())
    press(browser, "p")
    assert browser.execute_script("return document.querySelector('#stage')") is None
    (button,) = [
        b
        for b in browser.find_elements("tag name", "button")
        if "Present" in b.get_attribute("textContent")
    ]
    assert not button.is_displayed()
    assert browser.get_log("browser") == []

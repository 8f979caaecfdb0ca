"""The page that computes, in a real browser: typed sources, laws, sliders, points and links."""

import random
import re
import time
from functools import partial

import pytest
import torch
from browser import needs_browser

from attnexp.architectures.seq2seq import Seq2Seq
from attnexp.cli.parser import run_verb
from attnexp.config.restore import restore
from attnexp.config.trust import Trust
from attnexp.core.batch import Seq2SeqSpec
from attnexp.runs.folder import load_run
from attnexp.tasks.decoding import ask
from attnexp.tracing.computed import ALONG

main = partial(run_verb, "report")

pytestmark = pytest.mark.check


@pytest.fixture(scope="module")
def page(finished_runs, tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "report.html"
    names = ("rnn", "transformer", "curve", "boxcar")
    main([*(str(finished_runs[name]) for name in names), "--output", str(file)])
    return file


@pytest.fixture
def opened(browser, page):
    browser.get("about:blank")
    browser.get(page.as_uri())
    yield browser
    assert browser.get_log("browser") == []


def answer(browser, before=""):
    """The answer of the page, when it has ended."""
    for _ in range(100):
        text = browser.execute_script("return document.querySelector('.answer').innerText")
        if text != before and text and not text.endswith("\u2026"):
            return text
        time.sleep(0.05)
    raise AssertionError(text)


SET = """
    const [name, value] = arguments;
    const input = document.querySelector(`[aria-label="${name}"]`);
    input.value = value;
    input.dispatchEvent(new Event(input.type === "range" ? "input" : "change"));
"""


def decoded(run, source):
    stored = load_run(run)
    built = restore(stored.summary, run, Trust())
    with torch.no_grad():
        for tensor in built.model.parameters():
            tensor.copy_(tensor.half())
    spec = built.dataset.spec
    assert isinstance(spec, Seq2SeqSpec)
    assert isinstance(built.model, Seq2Seq)
    width = max(spec.max_target, spec.test_max_target)
    writing, text = spec.target_writing, ask(built.model, spec, source).text
    return writing.join(writing.split(text)[:width])


@needs_browser
@pytest.mark.parametrize("name", ["rnn", "transformer"])
def test_a_typed_source_is_answered_as_by_decode(opened, finished_runs, name):
    answer(opened)
    label = opened.execute_script(
        "return [...document.querySelector('[aria-label=configuration]').options]"
        ".map((one) => one.value).find((one) => one.includes(arguments[0]))", name
    )  # fmt: skip
    opened.execute_script(SET, "configuration", label)
    for source in ("3 1 4 1 5", "7 7", "9, 2, 6, 5"):
        opened.execute_script("document.querySelector('.answer').innerText = ''")
        opened.execute_script(SET, "source", source)
        assert answer(opened) == f"\u2192 {decoded(finished_runs[name], source)}".rstrip()


@pytest.fixture
def chinese(tmp_path, succeeds):
    """A run on Chinese texts without spaces, and its page."""
    draw = random.Random(0)
    sources = {
        "".join(draw.choices("一二三四五六七八九", k=draw.randint(3, 6))) for _ in range(300)
    }
    pairs = "".join(f"{source}\t{source[::-1]}\n" for source in sorted(sources))
    (tmp_path / "pairs.txt").write_text(pairs)
    data = ("data=pairs", f"data.path={tmp_path / 'pairs.txt'}")
    trained = ("train.max_epochs=6", "optim.lr=0.01", f"hydra.run.dir={tmp_path / 'run'}")
    succeeds("model=additive", *data, *trained)
    main([str(tmp_path / "run"), "--output", str(tmp_path / "report.html")])
    return tmp_path


@pytest.mark.slow
@needs_browser
def test_chinese_is_read_and_written_without_spaces_as_by_decode(browser, chinese):
    browser.get((chinese / "report.html").as_uri())
    first = browser.execute_script("return document.querySelector('[aria-label=source]').value")
    assert re.fullmatch("[一二三四五六七八九]{3,6}", first)
    for source in (first, "七一五", "九 九八 一", "三,四。"):
        browser.execute_script("document.querySelector('.answer').innerText = ''")
        browser.execute_script(SET, "source", source)
        found = answer(browser)
        assert found == f"\u2192 {decoded(chinese / 'run', source)}".rstrip()
        assert len(found) > len("\u2192 ")
    assert browser.get_log("browser") == []


@needs_browser
def test_a_cell_of_the_first_example_says_its_key_and_the_gold(opened):
    answer(opened)
    read = """
        const canvas = document.querySelector(".computed-map canvas");
        const box = canvas.getBoundingClientRect();
        const said = new Set();
        for (let x = 0.02; x < 1; x += 0.02) {
            canvas.dispatchEvent(new PointerEvent("pointermove", {
                clientX: box.left + box.width * x, clientY: box.top + 5}));
            said.add(document.querySelector(".computed-map ~ .reading").innerText);
        }
        return [...said].filter((text) => text.startsWith("answer 1 "));
    """
    told = opened.execute_script(read)
    assert all("looks at source" in text and "with weight 0." in text for text in told)
    assert sum(text.endswith(", the gold position") for text in told) == 1


@needs_browser
def test_an_unknown_symbol_is_named(opened):
    answer(opened)
    opened.execute_script(SET, "source", "3 many 4")
    assert "\u201cmany\u201d is not a symbol: " in answer(opened)


LAWS = "return [...document.querySelectorAll('[aria-label=weights] option')].map((o) => o.value)"
WEIGHTS = "return document.querySelector('[aria-label=weights]').value"


@needs_browser
def test_a_law_and_a_link_show_the_same(opened):
    answer(opened)
    opened.execute_script("document.querySelector('.answer').innerText = ''")
    opened.execute_script(SET, "weights", "uniform")
    under = answer(opened)
    entropies = opened.execute_script(
        "return [...document.querySelectorAll('.entropy span')].map((one) => one.innerText)"
    )
    assert len(set(entropies)) == 1  # the same keys are open in each row
    address = opened.current_url
    assert "law=uniform" in address
    opened.get("about:blank")
    opened.get(address)
    assert answer(opened) == under
    assert opened.execute_script(WEIGHTS) == "uniform"
    assert "hard" in opened.execute_script(LAWS)


@needs_browser
def test_signed_weights_have_no_law_that_gives_all_to_one(browser, page, tmp_path):
    signed = tmp_path / "signed.html"
    signed.write_text(page.read_text().replace('"signed":false', '"signed":true'))
    browser.get(signed.as_uri())
    answer(browser)
    assert browser.execute_script(LAWS) == ["learned", "uniform", "shuffled", "off"]
    browser.execute_script("document.querySelector('.answer').innerText = ''")
    browser.execute_script(SET, "weights", "uniform")
    answer(browser)
    address = browser.current_url.replace("law=uniform", "law=hard")
    assert "law=hard" in address
    browser.get("about:blank")
    browser.get(address)
    answer(browser)
    assert browser.execute_script(WEIGHTS) == "learned"


def curve_of(browser):
    return browser.execute_script(
        "return document.querySelector('path.computed-line').getAttribute('d')"
    )


@needs_browser
def test_a_width_and_a_point_change_the_curve(opened):
    first = curve_of(opened)
    opened.execute_script(SET, "width", "190")
    narrow = curve_of(opened)
    assert narrow != first
    told = opened.execute_script(
        "return document.querySelector('path.computed-line').closest('section').innerText"
    )
    assert "Effective neighbours" in told
    assert "Leave-one-out error by width; dashed: that of the run." in told
    click = """
        const svg = document.querySelector("path.computed-line").closest("svg");
        const box = svg.getBoundingClientRect();
        svg.dispatchEvent(new MouseEvent("click", { bubbles: true,
            clientX: box.left + box.width / 2, clientY: box.top + 20 }));
        return document.querySelectorAll("circle.own").length;
    """
    assert opened.execute_script(click) == 1
    assert curve_of(opened) != narrow
    opened.execute_script(
        "[...document.querySelectorAll('button')]"
        ".find((one) => one.innerText === 'as it was').click()"
    )
    assert curve_of(opened) == first


@needs_browser
def test_the_legend_names_a_dashed_line_only_if_there_is_one(opened):
    read = """
        return [document.querySelectorAll(".learned-line").length,
                [...document.querySelectorAll(".errors p")].map((one) => one.innerText).join("")];
    """
    assert opened.execute_script(read) == [0, "Leave-one-out error by width."]
    opened.execute_script(SET, "width", "190")
    assert opened.execute_script(read)[0] == 1


@needs_browser
def test_a_curve_names_its_axes_and_shows_the_truth(opened):
    names = (
        "return [...document.querySelectorAll('.fits .axis-name')].map((one) => one.textContent)"
    )
    assert opened.execute_script(names) == ["x", "y", "width (log)", "error"]
    drawn = "return document.querySelector('.truth-line').getAttribute('d').split('L').length"
    assert opened.execute_script(drawn) == ALONG


@needs_browser
@pytest.mark.parametrize("style", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_axe_finds_nothing_on_a_page_that_computes(opened, style):
    axe = pytest.importorskip("axe_core_python.selenium").Axe()
    scheme = {"name": "prefers-color-scheme", "value": style}
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    faults = axe.run(opened)["violations"]
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert [(fault["id"], [node["target"] for node in fault["nodes"]]) for fault in faults] == []


SLIDERS = "return [...document.querySelectorAll('.computes input[type=range]')].length"


@needs_browser
def test_a_page_starts_with_a_model_that_has_a_slider(browser, regression_runs, tmp_path):
    main([*map(str, regression_runs("average", "gaussian")), "--output", str(tmp_path / "a.html")])
    browser.get((tmp_path / "a.html").as_uri())
    assert browser.execute_script(SLIDERS) == 1
    browser.execute_script(SET, "configuration", "average")
    assert browser.execute_script(SLIDERS) == 0
    address = browser.current_url
    browser.get("about:blank")
    browser.get(address)
    assert browser.execute_script(SLIDERS) == 0


@pytest.fixture
def regression_runs(tmp_path, succeeds):
    """What trains a model of each name on a curve, and returns the folders."""

    def trained(*models):
        for model in models:
            words = (f"model={model}", "train.max_epochs=1", f"hydra.run.dir={tmp_path / model}")
            succeeds(*words)
        return [tmp_path / model for model in models]

    return trained


@pytest.mark.slow
def test_a_static_page_has_no_programs(finished_runs, tmp_path):
    main([str(finished_runs["curve"]), "--static", "--output", str(tmp_path / "page.html")])
    text = (tmp_path / "page.html").read_text()
    assert '"computed":[]' in text
    assert '"programs":' not in text

"""The styles of a report: dark, on a phone, on paper, and as a presentation."""

from functools import partial

import numpy as np
import pytest
from browser import needs_browser
from matplotlib import colormaps

from attnexp.cli.parser import run_verb
from attnexp.runs import files

main = partial(run_verb, "report")

pytestmark = [needs_browser, pytest.mark.check]

LONG = "a_choice_whose_name_is_much_longer_than_the_screen_of_a_phone_is_wide"


@pytest.fixture
def opened(browser, regression_run, tmp_path):
    """What opens the report of two configurations at a width, light or dark."""
    for seed in (0, 1):
        for model in ("gaussian", LONG):
            choices = {"model": model, "data": "sine", "arch": "kernel_regression"}
            metrics = {"test_mse": 0.5 + seed + len(model)}
            settings = {"seed": seed}
            regression_run(f"{model}{seed}", choices=choices, settings=settings, metrics=metrics)
    file = tmp_path / "report.html"
    main([str(tmp_path), "--output", str(file)])

    def at(width, style="light"):
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": style}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        browser.get(file.as_uri())
        return browser

    yield at
    assert browser.get_log("browser") == []


def press(page, key):
    page.execute_script(
        "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0],"
        " bubbles: true}))",
        key,
    )


def seen(page, selector):
    """The texts of the elements that are visible."""
    script = """
        return [...document.querySelectorAll(arguments[0])]
            .filter((one) => one.checkVisibility()).map((one) => one.innerText);
    """
    return page.execute_script(script, selector)


def ground(page):
    return page.execute_script("return getComputedStyle(document.documentElement).backgroundColor")


@pytest.mark.first(3)
@pytest.mark.parametrize("presented", [False, True], ids=["page", "presentation"])
@pytest.mark.parametrize("style", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 375])
def test_axe_finds_nothing(opened, width, style, presented):
    axe = pytest.importorskip("axe_core_python.selenium").Axe()
    page = opened(width, style)
    page.execute_script("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    if presented:
        press(page, "p")
    faults = axe.run(page)["violations"]
    assert [(fault["id"], [node["target"] for node in fault["nodes"]]) for fault in faults] == []


@pytest.mark.first(1)
@pytest.mark.parametrize("width", [1280, 375])
def test_labels_break_between_words(opened, width):
    script = """
        const found = [];
        for (const label of document.querySelectorAll(".named td:first-child .label")) {
            const walker = document.createTreeWalker(label, NodeFilter.SHOW_TEXT);
            while (walker.nextNode()) {
                const range = document.createRange();
                range.selectNodeContents(walker.currentNode);
                const lines = new Set([...range.getClientRects()].map((one) => one.top));
                found.push([walker.currentNode.data, lines.size]);
            }
        }
        return found;
    """
    found = opened(width).execute_script(script)
    assert {"screen_", "gaussian"} <= {text for text, _ in found}
    assert {lines for _, lines in found} == {1}


def test_a_phone_shows_name_result_and_standing_without_scrolling(opened):
    page = opened(375)
    script = """
        const heads = [...document.querySelector("table").tHead.rows[0].cells].slice(0, 3);
        const whole = document.documentElement;
        return [heads.map((one) => one.innerText), heads[2].getBoundingClientRect().right,
                whole.scrollWidth - whole.clientWidth];
    """
    titles, right, over = page.execute_script(script)
    assert titles == ["model", "test_mse", "standing"]
    assert right <= 375
    assert over <= 0


def test_the_style_is_the_system_s_until_the_button_is_pressed(opened):
    light = ground(opened(1280))
    page = opened(1280, "dark")
    assert ground(page) != light
    button = page.find_element("css selector", ".tools button")
    assert button.text == "Light style"
    button.click()
    assert (ground(page), button.text) == (light, "Dark style")


def test_paper_is_light_with_open_folds_and_tables_that_fit(opened):
    page = opened(690, "dark")
    page.execute_script(
        """
        window.addEventListener("beforeprint", () => {
            const folds = [...document.querySelectorAll("details.printed")];
            const { style } = document.documentElement.dataset;
            window.printed = [style, folds.every((one) => one.open)];
        });
        """
    )
    assert page.execute_cdp_cmd("Page.printToPDF", {})["data"]
    assert page.execute_script("return window.printed") == ["light", True]
    closed = "return [...document.querySelectorAll('details')].filter((one) => one.open).length"
    assert page.execute_script(closed) == 0
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    wide = (
        "return Math.max(...[...document.querySelectorAll('table')].map((one) => one.scrollWidth))"
    )
    assert page.execute_script(wide) <= 690
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_on_paper_three_maps_are_in_a_row_and_what_computes_is_left_out(
    browser, regression_run, tmp_path
):
    """As wide as A4 between margins of 14 mm: 182 mm are 688 pixels."""
    for model in "abc":
        for seed in range(6):
            choices = {"model": model, "data": "sine", "arch": "kernel_regression"}
            metrics = {"test_mse": 0.5 + seed}
            regression_run(f"{model}{seed}", seed=seed, choices=choices, metrics=metrics)
    file = tmp_path / "report.html"
    main([str(tmp_path), "--output", str(file)])
    size = {"width": 688, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(file.as_uri())
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    maps = browser.execute_script(
        "return [...document.querySelectorAll('.maps canvas')]"
        ".map((one) => one.getBoundingClientRect().top)"
    )
    assert len(maps) == 3
    assert len(set(maps)) == 1
    added = "document.querySelector('main').insertAdjacentHTML('beforeend', arguments[0])"
    browser.execute_script(added, "<div class='panel computes'>type a source</div>")
    assert seen(browser, ".computes") == []
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_a_presentation_shows_one_panel_per_screen(opened):
    page = opened(1280)
    before = page.execute_script("return document.body.innerText")
    press(page, "p")
    shown = seen(page, "h2, h3")
    assert shown == ["Verdict"]
    press(page, "ArrowLeft")
    assert seen(page, ".bar span") == ["1 of 6"]
    found = []
    for _ in range(4):
        press(page, "ArrowRight")
        found += seen(page, "h3")
    assert found == ["test_mse", "Training loss", "Fit", "Attention"]
    press(page, "Escape")
    assert page.execute_script("return document.body.innerText") == before


NOTES = """
    return [...document.querySelectorAll(".verdicts .note")].filter((one) => one.checkVisibility())
        .map((one) => [one.innerText, parseFloat(getComputedStyle(one).fontSize)]);
"""


def test_notes_follow_the_verdicts_in_a_presentation_and_on_paper_too(opened):
    page = opened(1280)
    notes = [text for text, _ in page.execute_script(NOTES)]
    assert any("6 seeds" in note for note in notes)
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert [text for text, _ in page.execute_script(NOTES)] == notes
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    press(page, "p")
    assert [text for text, _ in page.execute_script(NOTES)] == notes
    type_of = (
        "return parseFloat(getComputedStyle(document.querySelector('#stage .verdict')).fontSize)"
    )
    largest = page.execute_script(type_of)
    assert all(16 <= size < largest for _, size in page.execute_script(NOTES))


def test_a_line_is_above_rows_on_other_data(browser, regression_run, tmp_path):
    for width, points in ((1, 5), (2, 5), (1, 6)):
        settings = {"model.width": width, "data.num_train": points}
        regression_run(
            f"w{width}-{points}", settings=settings, metrics={"test_mse": width + points}
        )
    main([str(tmp_path), "--output", str(tmp_path / "report.html")])
    browser.get((tmp_path / "report.html").as_uri())
    script = """
        return [...document.querySelectorAll(".dots > span")].map((one) =>
            [one.innerText, one.getBoundingClientRect().top, getComputedStyle(one).borderTopWidth]);
    """
    rows = [row for row in browser.execute_script(script) if row[0]]
    assert [row[0] for row in rows][2] == "not compared: other data"
    assert [row[1] for row in rows] == sorted(row[1] for row in rows)
    assert [row[2] for row in rows] == ["0px", "0px", "1px", "0px"]


PIXEL = """
    const canvas = document.querySelectorAll(".maps canvas")[arguments[0]];
    const at = [canvas.width, canvas.height].map((side) => Math.round(side * 0.6));
    return [...canvas.getContext("2d").getImageData(at[0], at[1], 1, 1).data].slice(0, 3);
"""


@pytest.mark.parametrize(
    ("small", "rooted"), [(0.02, True), (0.2, True), (0.24, True), (0.26, False), (0.6, False)]
)
def test_small_weights_have_the_colours_of_their_roots(
    browser, regression_run, tmp_path, small, rooted
):
    for model, weights in (("even", np.full((7, 5), small)), ("peaked", np.eye(7, 5))):
        choices = {"model": model, "data": "sine", "arch": "kernel_regression"}
        folder = regression_run(model, choices=choices)
        arrays, more = files.read_tensors(folder / files.ATTENTION)
        arrays["weights.pooling"] = weights[None, None, None]
        files.write_tensors(folder / files.ATTENTION, arrays, more)
    main([str(tmp_path), "--output", str(tmp_path / "report.html")])
    browser.get((tmp_path / "report.html").as_uri())
    shown = small**0.5 if rooted else small
    expected = 255 * np.array(colormaps["viridis"](shown)[:3])
    np.testing.assert_allclose(browser.execute_script(PIXEL, 0), expected, atol=4)
    (scale,) = seen(browser, ".scale")
    assert ("root scale: 0.25 in the middle" in scale) == rooted


def test_maps_of_symbols_have_no_root_scale(browser, sequence_run, tmp_path):
    sequence_run()
    main([str(tmp_path), "--output", str(tmp_path / "report.html")])
    browser.get((tmp_path / "report.html").as_uri())
    assert [" ".join(text.split()[:2]) for text in seen(browser, ".scale")] == ["weight 0"]
    assert "root" not in "".join(seen(browser, ".scale"))


def test_names_of_maps_are_hidden_until_the_button_is_pressed_again(opened):
    page = opened(1280)
    assert seen(page, ".quiz") == []
    press(page, "p")
    for _ in range(4):
        press(page, "ArrowRight")
    names = seen(page, "figcaption")
    assert set(names) == {"gaussian", LONG}
    for expected in (["A", "B"], names):
        page.find_element("css selector", "#stage .quiz").click()
        labels = page.execute_script(
            "return [...document.querySelectorAll('#stage canvas')].map((one) => one.ariaLabel)"
        )
        assert seen(page, "figcaption") == expected
        assert [label.partition(":")[0] for label in labels] == expected

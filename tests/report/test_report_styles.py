"""The styles of a report: dark, on a phone, on paper, and as a presentation."""

import pytest
from browser import needs_browser

from attnexp.cli.report import main

pytestmark = needs_browser

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

"""The page of `attnexp attend`: its program computes the steps that the command prints."""

import json
import re
from functools import partial

import pytest
import torch
from browser import needs_browser, started
from interpreted import interpreted, needs_node

from attnexp.cli.parser import run_verb

main = partial(run_verb, "attend")

TYPED = ("--queries", "1,2;3,4", "--keys", "1,0;0,1;1,1", "--values", "10;20;30")
CASES = {
    "gaussian": ("model=gaussian", "model.width=0.5", *TYPED),
    "additive": ("model=additive", "seed=3", *TYPED),
    "masked sparsemax": ("model=dot", "normalizer=sparsemax", *TYPED, "--valid-lens", "2"),
    "scores alone": ("normalizer=softmax", "--scores", "1,2,3;3,2,1"),
    "local linear": ("example=local_linear",),
    "local linear, two features": ("model=dot", "estimator=local_linear", *TYPED),
    "delta": ("example=delta",),
    "book": ("example=masked_softmax_per_query",),
}


def content_of(path):
    text = path.read_text()
    script = re.search(r'id="content">(.*?)</script>', text, re.DOTALL)
    assert script is not None
    (data,) = json.loads(script[1])["data"]
    return data["computed"][0]


def test_the_mask_of_a_causal_estimator_is_not_for_editing(tmp_path):
    for name, is_given in {"delta": False, "gaussian": True}.items():
        main([*CASES[name], "--output", str(tmp_path / f"{name}.html")])
        assert ("mask" in content_of(tmp_path / f"{name}.html")["given"]) == is_given


@pytest.mark.check
@needs_node
@pytest.mark.parametrize("words", CASES.values(), ids=CASES)
def test_the_steps_of_the_page_are_those_of_the_command(words, tmp_path, capsys):
    main([*words, "--format", "json", "--output", str(tmp_path / "page.html")])
    printed = json.loads(capsys.readouterr().out)
    computed = content_of(tmp_path / "page.html")
    program = computed["programs"]["steps"]
    names = list(program["outputs"])
    given = {"queries", "keys", "values", "mask", "valid_lens"}
    assert set(names) == set(printed["shapes"]) - given
    (found,) = interpreted([{"program": program, "inputs": computed["given"], "outputs": names}])
    for name in names:
        wanted = torch.tensor(printed[name]).flatten()
        torch.testing.assert_close(found[name], wanted, rtol=2e-3, atol=2e-3)


def test_a_page_of_many_numbers_is_refused(tmp_path):
    words = ["model=dot", "--queries", "normal:1x50x4", "--keys", "normal:1x50x4"]
    with pytest.raises(Exception, match="a page shows at most 2,000 numbers, and there are 7,900"):
        main([*words, "--output", str(tmp_path / "page.html")])
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("width", ["1e6", "1e30"])
def test_a_parameter_that_a_page_cannot_hold_is_one_sentence(tmp_path, width):
    words = ["model=gaussian", f"model.width={width}", *TYPED]
    with pytest.raises(
        Exception, match=r"^some of its parameters are NaN, infinite or above 65,504$"
    ):
        main([*words, "--output", str(tmp_path / "page.html")])


@pytest.mark.check
@needs_browser
def test_a_number_is_edited_and_a_key_hidden(tmp_path):
    main([*CASES["gaussian"], "--output", str(tmp_path / "page.html")])
    driver = started(tmp_path / "profile")
    try:
        driver.get((tmp_path / "page.html").as_uri())
        weights = (
            "return [...document.querySelectorAll('.matrix')].find((one) => "
            "one.innerText.startsWith('weights')).innerText"
        )
        before = driver.execute_script(weights)
        script = """
            const input = document.querySelector(`[aria-label="${arguments[0]}"]`);
            if (input.type === "checkbox") input.checked = false; else input.value = arguments[1];
            input.dispatchEvent(new Event("change"));
        """
        driver.execute_script(script, "keys 1, 1", "5")
        edited = driver.execute_script(weights)
        assert edited != before
        driver.execute_script(script, "query 1 may attend to key 2", "")
        assert "0.000" in driver.execute_script(weights)
        address = driver.current_url
        shown = driver.execute_script(weights)
        driver.get("about:blank")
        driver.get(address)
        assert driver.execute_script(weights) == shown
        assert driver.get_log("browser") == []
    finally:
        driver.quit()


@pytest.mark.first(1)
@pytest.mark.check
@needs_browser
@pytest.mark.parametrize("style", ["light", "dark"])
def test_columns_are_as_wide_as_each_other_and_texts_have_contrast(tmp_path, style):
    main([*CASES["gaussian"], "--output", str(tmp_path / "page.html")])
    axe = pytest.importorskip("axe_core_python.selenium").Axe()
    driver = started(tmp_path / "profile")
    try:
        scheme = {"name": "prefers-color-scheme", "value": style}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        driver.get((tmp_path / "page.html").as_uri())
        widths = driver.execute_script(
            "return [...document.querySelectorAll('.matrix tr')].map((row) =>"
            " [...row.cells].map((cell) => cell.getBoundingClientRect().width))"
        )
        assert len(widths) > 10
        assert all(max(row) < 1.3 * min(row) for row in widths)
        captions = driver.execute_script(
            "return [...document.querySelectorAll('.matrix figcaption')].map((c) => c.innerText)"
        )
        assert "weights (2 queries \u00d7 3 keys)" in captions
        assert "context (2 queries \u00d7 1 feature)" in captions
        faults = axe.run(driver)["violations"]
        assert [(fault["id"], len(fault["nodes"])) for fault in faults] == []
    finally:
        driver.quit()

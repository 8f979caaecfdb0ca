"""`attnexp report --live` writes the page again while runs go on."""

import shutil
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest
from browser import needs_browser, started
from pages import content_of
from stored_runs import change_summary

from attnexp.cli import report
from attnexp.cli.parser import run_verb
from attnexp.runs import files, lock
from attnexp.runs.plan_file import StoredPlan
from attnexp.select.overview import Progress

REFRESH = '<meta http-equiv="refresh" content="5">'


@pytest.fixture
def going(regression_run, tmp_path, monkeypatch):
    """A finished run and a running one; what holds the lock of the latter; and a sweep's plan."""
    monkeypatch.chdir(tmp_path)
    regression_run("outputs/done", metrics={"test_mse": 0.5})
    running = regression_run("outputs/going", seed=1, status="running", losses=())
    (running / files.ATTENTION).unlink()
    (running / files.METRICS).write_text("epoch,step,loss\n1,8,0.5\n2,16,0.25\n")
    held = ExitStack()
    held.enter_context(lock.hold(running))
    with held:
        yield running, held


def pages(monkeypatch, *steps) -> list[str]:
    """What was written before each look at the runs and at the end; a step per time asleep."""
    found, left = [], list(steps)

    def sleep(seconds):
        found.append(Path("report.html").read_text("utf-8"))
        left.pop(0)()

    monkeypatch.setattr(report, "time", SimpleNamespace(sleep=sleep))
    run_verb("report", ["--live"])
    return [*found, Path("report.html").read_text("utf-8")]


def live_of(text):
    return content_of(text)["live"]


def end(running, held):
    held.close()
    change_summary(running, lambda summary: summary.update(status="failed", error="no"))


def test_a_live_page_has_the_curves_so_far_until_all_runs_have_ended(going, monkeypatch):
    running, held = going

    def learn():
        with (running / files.METRICS).open("a") as file:
            file.write("3,24,0.125\n")

    first, second, last = pages(monkeypatch, learn, lambda: end(running, held))
    assert [REFRESH in page for page in (first, second, last)] == [True, True, False]
    assert live_of(first)["text"].startswith("1 of 2 runs")
    curves = [live_of(page)["charts"][0]["lines"][0] for page in (first, second)]
    assert [line["mean"] for line in curves] == [[0.5, 0.25], [0.5, 0.25, 0.125]]
    assert curves[0]["label"].endswith("seed 1")
    assert live_of(last) is None


def test_a_page_is_not_written_while_nothing_changes(going, monkeypatch, capsys):
    pages(monkeypatch, lambda: None, lambda: None, lambda: end(*going))
    assert capsys.readouterr().out.count("report.html") == 2


def test_ctrl_c_leaves_a_page_that_does_not_reload(going, monkeypatch):
    def interrupt():
        raise KeyboardInterrupt

    first, last = pages(monkeypatch, interrupt)
    assert [REFRESH in page for page in (first, last)] == [True, False]


def test_planned_runs_are_waited_for(regression_run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = regression_run("outputs/done")
    root = tmp_path / "outputs"
    plan = StoredPlan.of(root, [done, root / "next"])
    plan.write()
    (first, last) = pages(monkeypatch, lambda: regression_run("outputs/next", seed=1))
    assert live_of(first)["text"].startswith("1 of 2 runs")
    assert live_of(last) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "3 of 12 runs"),
        (130.2, "3 of 12 runs, about 2:10 left"),
        (3661, "3 of 12 runs, about 1:01:01 left"),
    ],
)
def test_the_time_left_is_said(seconds, text):
    counts = {"done": 3, "running": 1, "to do": 8}
    assert report.progress_text([Progress(counts, [], [], [], seconds, [], [], [])]).en == text


@pytest.mark.slow
@needs_browser
def test_a_page_that_reloads_goes_on_with_its_presentation_and_sliders(
    going, finished_runs, monkeypatch, tmp_path
):
    shutil.copytree(finished_runs["rnn"], "outputs/rnn")
    live, _ = pages(monkeypatch, lambda: end(*going))
    file = tmp_path / "report.html"
    file.write_text(live)
    browser = started(tmp_path / "profile")
    slide = """
        const slider = document.querySelector("input[type=range]");
        slider.value = slider.max;
        slider.dispatchEvent(new Event("input"));
        return slider.value;
    """
    slid = "return document.querySelector('input[type=range]').value"
    counted = "return document.querySelector('.bar span')?.textContent ?? null"
    try:
        browser.get(file.as_uri())
        browser.find_element("css selector", ".tools button:last-child").click()
        browser.find_element("css selector", "body").send_keys("\ue014")  # the right arrow
        place = browser.execute_script(slide)
        assert int(place) > 0
        shown = browser.execute_script(counted)
        assert shown.startswith("2 of ")
        browser.refresh()
        assert browser.execute_script(counted) == shown
        assert browser.execute_script(slid) == place
    finally:
        browser.quit()


@needs_browser
def test_a_page_that_reloads_keeps_its_place_and_style(going, monkeypatch, tmp_path):
    live, last = pages(monkeypatch, lambda: end(*going))
    file = tmp_path / "report.html"
    file.write_text(live)
    browser = started(tmp_path / "profile")
    try:
        browser.set_window_size(800, 500)
        browser.get(file.as_uri())
        assert "1 of 2 runs" in browser.find_element("css selector", ".live").text
        browser.find_element("css selector", ".tools button").click()
        style = browser.execute_script("return document.documentElement.dataset.style")
        browser.execute_script("window.scrollTo(0, 300)")
        file.write_text(last)
        script = """
            const done = arguments[0];
            requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() =>
                done([window.scrollY, document.documentElement.dataset.style,
                      document.querySelectorAll(".live").length]))));
        """
        browser.refresh()
        assert browser.execute_async_script(script) == [300, style, 0]
        assert browser.get_log("browser") == []
    finally:
        browser.quit()

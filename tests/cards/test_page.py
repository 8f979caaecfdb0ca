"""The page of a card, its table, and the table of several cards."""

import io
import re

import msgspec
import pytest
from browser import needs_browser, started
from cards.example import card, row, trial
from cards.test_judge import HIGH, LOW, MIDDLE
from rich.console import Console

from attnexp.cards.page import card_content, leaderboard, overview, summary_sentences
from attnexp.report.render import page
from attnexp.tables.grid import Report
from attnexp.tables.latex import as_latex
from attnexp.tables.screen import show

LENGTHS = [f"exact_match_by_length@{n}" for n in (16, 256, 4096)]


@pytest.fixture
def whole():
    learned, failed = row("mine", *HIGH), row("other", *LOW)
    for number, length in enumerate(LENGTHS):
        learned.numbers[length] = {1: 1.0 - number / 4, 2: 1.0 - number / 4}
    lost = row("third", lost=6, why="ValueError: <b>no</b>")
    return card(trial(learned, failed, lost, columns=LENGTHS))


def test_the_sentences_count_verdicts_and_name_the_largest_difference(whole):
    first, last = summary_sentences(whole)
    assert first == "mine next to other, over 1 trial: better in 1"
    assert last == (
        "The largest differences: reverse: mine is better than other "
        "(6 of 6 and 0 of 6 seeds learned, p = 0.0022)"
    )


def test_the_sentences_say_of_a_trial_without_a_verdict_why():
    few = card(trial(row("mine", *HIGH[:2]), row("other", *MIDDLE[:2])))
    assert summary_sentences(few) == [
        "mine next to other, over 1 trial: too few seeds for a verdict"
    ]
    lost = card(trial(row("mine", lost=6, why="ValueError: no"), row("other", *HIGH)))
    assert summary_sentences(lost) == ["Not measured: reverse: mine: ValueError: no"]
    solved = card(trial(row("mine", *HIGH), row("other", *HIGH[::-1])))
    assert summary_sentences(solved)[-1].startswith("Nothing is told by reverse: all rows are at")


def test_the_table_says_skip_for_what_was_not_measured(whole):
    (cells,) = overview(whole).rows
    assert [cell.text for cell in cells] == [
        "reverse",
        "exact_match",
        "0.9917 6/6",
        "0.006667 0/6 better",
        "skip",
    ]


@pytest.mark.parametrize("width", [80, 120])
def test_a_card_of_four_rows_fits_a_terminal(width):
    names = ["sparsemax", "scaled_dot", "additive", "asentmax"]
    rows = [row(name, *MIDDLE) for name in names]
    trials = [
        msgspec.structs.replace(trial(*rows), name=name)
        for name in ("reverse", "selective_copying")
    ]
    found = card(*trials, subject=names[0])
    for report in (Report([overview(found)]), leaderboard(trials)):
        text = io.StringIO()
        screen = Console(file=text, width=width, force_terminal=True, color_system=None)
        show(report, screen)
        lines = text.getvalue().splitlines()
        assert max(map(len, lines)) <= width
        assert any("selective_copying" in line and "0.5" in line for line in lines)


def test_latex_of_many_cards_names_no_option_that_card_lacks():
    rows = [row(f"a_score_with_a_long_name_{i}", *MIDDLE) for i in range(8)]
    text = as_latex(leaderboard([trial(*rows)]))
    assert r"a\_score\_with\_a\_long\_name\_7" in text
    assert "--columns" not in text


def test_the_content_is_that_of_a_page(whole):
    content = card_content(whole)
    (chart,) = content.data[0].charts
    (line,) = chart.lines
    assert (line.x, line.mean) == ([16.0, 256.0, 4096.0], [1.0, 0.75, 0.5])
    assert content.further[-1] == (
        "reverse: third has 6 runs without a result: ValueError: <b>no</b>"
    )
    written = page(content)
    assert "<b>no" not in re.sub(r"\\u003c", "", written)


@needs_browser
def test_the_page_opens_without_an_error(whole, tmp_path):
    (tmp_path / "card.html").write_text(page(card_content(whole)))
    browser = started(tmp_path / "profile")
    try:
        browser.get((tmp_path / "card.html").as_uri())
        shown = browser.find_element("css selector", "body").text
        assert "mine next to other, over 1 trial: better in 1" in shown
        assert "length (log)" in shown
        assert browser.get_log("browser") == []
    finally:
        browser.quit()


def test_a_table_of_cards_emphasises_the_best_and_what_is_not_told_apart():
    trials = [trial(row("mine", *HIGH), row("other", *LOW), row("third", *MIDDLE))]
    (grid,) = leaderboard(trials).grids
    assert [head.title for head in grid.columns] == ["trial", "metric", "mine", "other", "third"]
    assert [cell.strong for cell in grid.rows[0][2:]] == [True, False, False]
    assert [cell.text.endswith(" *") for cell in grid.rows[0][2:]] == [True, False, False]
    assert "Bold: rows that may be the best" in as_latex(leaderboard(trials))
    (first, *_) = leaderboard(trials).records
    assert first["reverse exact_match"] == pytest.approx(sum(HIGH) / 6)

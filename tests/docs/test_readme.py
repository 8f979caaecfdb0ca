"""The README is short, and its commands print what it shows."""

import re
import shlex

import pytest
from conftest import ROOT

from attnexp.cards.card_file import read_card
from attnexp.cards.page import overview

README = (ROOT / "README.md").read_text()
SHOWN = re.findall(r"```sh\n([^`]*?)```\n\n```text\n(.*?)```", README, flags=re.DOTALL)


def test_it_is_read_in_three_minutes():
    assert len(README.encode()) <= 9000


def test_the_first_command_is_on_the_first_screen():
    assert [line for line in README.splitlines()[:30] if re.match("attnexp( |$)", line)]


@pytest.mark.slow
@pytest.mark.parametrize(("lines", "shown"), SHOWN)
def test_what_it_shows_is_printed(lines, shown, succeeds):
    """Words to the letter, and numbers to a hundredth, as another processor rounds differently.

    A line `...` stands for lines that are left out.
    """
    for line in lines.splitlines():
        answer = succeeds(*shlex.split(line)[1:])
    printed = [line.rstrip() for line in answer.stdout.splitlines()]
    head, *rows = shown.splitlines()
    after = map(numbers_and_words, printed[printed.index(head) + 1 :])
    for row in rows:
        assert row == "..." or numbers_and_words(row) in after, row
    assert ("before training had converged" in shown) == (
        "before training had converged" in answer.stdout
    )


@pytest.mark.parametrize("page", ["README.zh.md", "docs/results.md", "docs/zh/results.md"])
def test_pages_that_show_its_comparison_have_the_same_numbers(page):
    (own,) = [shown for _, shown in SHOWN if "seeds 40" in shown]
    head, line, *rows = own.splitlines()[:5]
    text = (ROOT / page).read_text()
    assert f"{head}\n" in text
    assert "\n".join([line, *rows]) in text


def test_the_rows_of_its_card_are_those_of_the_card_that_ships():
    (path,) = (ROOT / "docs" / "cards").rglob("cosine-quick.json")
    rows = [[cell.text for cell in row] for row in overview(read_card(path)).rows]
    told = re.findall(r"^\| (\w+) \| (.+) \| (.+) \| (.+) \|$", README, re.MULTILINE)
    own = [row for row in told if row[0] not in ("trial", "command")]
    assert own
    for trial, *cells in own:
        (row,) = [row for row in rows if row[0] == trial]
        assert row[2:5] == cells


def numbers_and_words(line: str):
    return [number_or_word(each) for each in line.split()]


def number_or_word(text: str):
    try:
        return pytest.approx(float(text.strip("[],")), rel=0.01)
    except ValueError:
        return text

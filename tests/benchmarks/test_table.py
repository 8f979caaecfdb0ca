"""The table of `make bench`: what a row says, and which files join."""

import shutil
import sys
from dataclasses import replace

import pytest
import rows
import table
from rows import HEADS, Row, in_turns, ratios

ROW = Row(asks="a step", rival="theirs 1.0", ratios=[3.0, 1.0, 2.0], threads=1, wanted=2.0)


def test_a_row_has_the_median_and_the_ends():
    assert (ROW.ratio, ROW.low, ROW.high) == (2.0, 1.0, 3.0)
    many = replace(ROW, ratios=list(range(1, 21)))
    assert (many.low, many.high) == (3, 18)
    assert len(ROW.cells()) == len(HEADS)


@pytest.mark.parametrize(
    ("wanted", "more_is_better", "met"),
    [(2.0, False, True), (1.9, False, False), (2.0, True, True), (2.1, True, False)],
)
def test_a_bound_holds_for_the_median(wanted, more_is_better, met):
    row = replace(ROW, wanted=wanted, more_is_better=more_is_better)
    assert row.met is met
    assert row.cells()[-1] == ("yes" if met else "no")


def test_a_row_without_a_bound_breaks_none():
    row = replace(ROW, wanted=None)
    assert row.met
    assert row.cells()[-2:] == ("", "")


def test_ratios_are_of_pairs_and_the_first_pair_does_not_count():
    ours, theirs = iter([100.0, 2.0, 3.0]), iter([1.0, 1.0, 2.0])
    assert ratios(in_turns(lambda: next(ours), lambda: next(theirs), 2)) == [2.0, 1.5]


def test_a_file_with_rows_joins_and_one_that_fails_is_named(tmp_path, monkeypatch, capsys):
    for module in (table, rows):
        shutil.copy(str(module.__file__), tmp_path)
    (tmp_path / "broken.py").write_text("def helper(): ...\ndef rows(quick):\n    1 / 0\n")
    (tmp_path / "mine.py").write_text(
        "from rows import Row\n"
        "def rows(quick):\n"
        "    print('a word')\n"
        "    return [Row(asks='mine', rival='theirs', ratios=[2.0], threads=1, wanted=1.0)]\n"
    )
    (tmp_path / "other.py").write_text("def main(): ...\n")
    monkeypatch.setattr(table, "FOLDER", tmp_path)
    monkeypatch.setattr(sys, "argv", ["table.py"])
    assert table.names() == ["broken", "mine"]
    assert table.main() == 1
    answer = capsys.readouterr()
    assert "| mine | theirs | 2 (2 to 2, 1 runs) | 1 | at most 1 | no |" in answer.out
    assert answer.out.endswith(
        "\n\n1 of 1 bounds missed:\n- mine, against theirs: 2, at most 1\n"
        "broken.py failed: its bounds are unknown.\n"
    )
    monkeypatch.setattr(sys, "argv", ["table.py", "mine", "--quick"])
    assert table.main() == 0
    assert capsys.readouterr().out.endswith("\n\nNothing was held to a bound.\n")


def test_the_bounds_that_are_missed_are_listed():
    free, least = replace(ROW, wanted=None), replace(ROW, wanted=9.0, more_is_better=True)
    assert table.outcome([ROW, free], []) == ["None of 1 bounds missed."]
    assert table.outcome([ROW, least, free], []) == [
        "1 of 2 bounds missed:",
        "- a step, against theirs 1.0: 2, at least 9",
    ]


def test_every_benchmark_of_speed_is_in_the_table():
    named = {"normalizers", "replicas", "results_table", "startup", "step_time", "sweep"}
    assert named <= set(table.names())

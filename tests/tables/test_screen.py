"""A report on screens of several widths."""

import io
import unicodedata
from dataclasses import replace

import pytest
from english import report_of
from rich.cells import cell_len
from rich.console import Console

from attnexp.tables.entries import TableRequest
from attnexp.tables.grid import NOTHING, Grid, GridCell, Head, Line, Report
from attnexp.tables.screen import fitting, show


def printed(report: Report, width: int, terminal: bool = False) -> str:
    text = io.StringIO()
    screen = Console(
        file=text, width=width, highlight=False, color_system=None, force_terminal=terminal
    )
    show(report, screen)
    return text.getvalue()


def test_columns_without_room_are_named():
    columns = [Head("a"), Head("b", spare=True), Head("c"), Head("d", spare=True)]
    rows = [[GridCell("x" * 10)] * 4]
    assert fitting(columns, rows, 49) == [0, 1, 2, 3]
    assert fitting(columns, rows, 48) == [0, 1, 2]
    assert fitting(columns, rows, 30) == [0, 2]
    assert fitting(columns, rows, 1) == [0, 2]


@pytest.mark.parametrize("width", [44, 60, 80, 120])
def test_no_number_is_cut_and_a_row_is_one_line(sweep_of, width: int):
    values = [0.12345, 0.23456, 0.34567]
    runs = sweep_of({"gaussian_learned": values, "epanechnikov": [v + 5 for v in values]})
    report = report_of(runs, TableRequest())
    lines = printed(report, width).splitlines()
    (grid,) = report.grids
    title = lines.index("sine: 2 configurations, 6 runs; seeds 3")
    head, rule, *rows = lines[title + 1 : title + 5]
    assert set(rule) == {"─"}
    assert all(cell_len(line) <= width for line in (head, rule, *rows))
    shown = [i for i, column in enumerate(grid.columns[1:], 1) if column.title in head]
    assert {"test_mse", "standing"} <= {grid.columns[i].title for i in shown}
    for row, line in zip(grid.rows, rows, strict=True):
        assert all(row[i].text in line for i in shown)
    assert ("95% interval" in head) == (width > 60)


def ends(line: str) -> set[int]:
    """The columns of a screen behind which a blank follows a character."""
    at, found = 0, set[int]()
    for character, after in zip(line, f"{line[1:]} ", strict=True):
        at += 1 + (unicodedata.east_asian_width(character) in "WF")
        if character != " " == after:
            found.add(at)
    return found


@pytest.mark.parametrize("width", [60, 80, 120])
def test_columns_of_numbers_end_below_each_other_behind_wide_names(sweep_of, width: int):
    names = {"加性注意力": 0.1, "点积": 0.25, "缩放点积注意力-两个头": 12.5, "dot": 3.0}
    report = report_of(
        sweep_of({name: [x, 2 * x, 1.5 * x] for name, x in names.items()}), TableRequest()
    )
    lines = printed(report, width).splitlines()
    rule = next(i for i, line in enumerate(lines) if set(line) == {"─"})
    head, *rows = lines[rule - 1], *lines[rule + 1 : rule + 5]
    (grid,) = report.grids
    for column in (one for one in grid.columns if one.right and f" {one.title}" in head):
        before = head[: head.index(f" {column.title}") + 1 + len(column.title)]
        end = sum(1 + (unicodedata.east_asian_width(each) in "WF") for each in before)
        assert all(end in ends(row) for row in rows)
    assert {name for name in names for row in rows if row.startswith(name)} == set(names)
    assert max(map(cell_len, lines[rule - 1 : rule + 5])) <= width


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_table_takes_six_lines_more_than_its_rows(sweep_of, width: int):
    values = [0.1, 0.2, 0.15, 0.12, 0.18, 0.11]
    runs = sweep_of({f"score_{n}": [n + value for value in values] for n in range(10)})
    report = report_of(runs, TableRequest())
    text = printed(replace(report, verdicts=(), notes=()), width, terminal=True)
    assert len(text.splitlines()) <= 10 + 6
    assert max(map(cell_len, text.splitlines())) <= width


def test_sentences_break_between_words_on_a_terminal_alone():
    report = Report([], ["more seeds: attnexp -m model=dot seed=1"], ["the best is " * 5])
    assert printed(report, 30, terminal=True).splitlines() == [
        "the best is the best is the ",
        "best is the best is the best ",
        "is ",
        "note: more seeds:",
        "  attnexp -m model=dot seed=1",
    ]
    assert len(printed(report, 30).splitlines()) == 2


def test_labels_without_room_become_one_name_that_is_cut_in_its_middle():
    heads = [Head("model"), Head("optim.lr"), Head("test_mse", right=True)]
    rows = [
        [GridCell("gaussian_learned"), GridCell("0.001"), GridCell("0.5", strong=True)],
        [GridCell("dot"), GridCell(NOTHING), GridCell("0.25")],
    ]
    text = printed(Report([Grid(heads, [*map(Line, rows)], "sine", labels=2)]), 30)
    assert text.splitlines() == [
        "sine",
        "model, lr             test_mse",
        "─" * 30,
        "gaussian_…ed, 0.001        0.5",
        "dot, \N{EN DASH}                    0.25",
    ]
    assert len(printed(Report([Grid(heads, [*map(Line, rows)], labels=2)]), 40).splitlines()) == 4


@pytest.mark.parametrize(
    "name", ["데이터=한국어문장부호", "d=温度と湿度の測定値", "三" * 40, "ｱ" * 40]
)
@pytest.mark.parametrize("width", [20, 31, 32])
def test_wide_characters_are_cut_to_the_columns_of_the_screen(name: str, width: int):
    heads = [Head("model"), Head("data.path"), Head("test_mse", right=True)]
    rows = [[GridCell(name), GridCell(text), GridCell("0.5")] for text in ("1", name)]
    for line in printed(Report([Grid(heads, [*map(Line, rows)], labels=2)]), width).splitlines():
        wide = sum(1 + (unicodedata.east_asian_width(each) in "WF") for each in line)
        assert wide <= width
        assert "…" in line or name not in line


def test_settings_in_common_are_one_line():
    common = ("normalizer=softmax", "arch=kernel_regression", "optim=rprop")
    report = Report([Grid([Head("model")], [Line([GridCell("dot")])], "sine", common=common)])
    for width, line in (
        (200, "The same in every run: normalizer=softmax, arch=kernel_regression, optim=rprop."),
        (60, "The same in every run: normalizer=softmax and 2 more."),
        (30, "3 settings are the same in every run."),
    ):
        assert printed(report, width).splitlines()[-1] == line


def test_a_column_with_one_value_is_next_to_the_title():
    heads = [Head("model"), Head("seeds", folds=True), Head("mse"), Head("chance", folds=True)]
    rows = [
        [GridCell(name), GridCell("6"), GridCell("0.5"), GridCell(chance)]
        for name, chance in (("a", "1"), ("b", "2"))
    ]
    lines = printed(Report([Grid(heads, [*map(Line, rows)], "sine: 2 rows")]), 80).splitlines()
    assert lines[0] == "sine: 2 rows; seeds 6"
    assert lines[1].split() == ["model", "mse", "chance"]
    alone = printed(Report([Grid(heads, [*map(Line, rows[:1])], "sine: 1 row")]), 80).splitlines()
    assert alone[1].split() == ["model", "seeds", "mse", "chance"]


def test_ten_rows_of_a_sweep_with_their_notes_fit_on_a_screen(frame):
    """80 columns and 24 lines, the line with the command included."""
    runs = frame(
        *(
            (
                {"seed": s, "model.width": width, "data.num_train": 50},
                {"choices": {"model": model}, "metrics": {"test_mse": width + s / 10}},
            )
            for model in ("gaussian_learned", "boxcar")
            for width in (0.25, 0.5, 1, 2, 4)
            for s in range(3)
        )
    )
    text = printed(report_of(runs, TableRequest()), 80, terminal=True)
    assert len(text.splitlines()) < 24


@pytest.mark.parametrize("width", [30, 44, 60, 80])
def test_rows_are_told_apart_on_every_screen(width):
    heads = [Head("model"), Head("model.width"), Head("data.num_train"), Head("mse", right=True)]
    labels = [("gaussian_learned", w, n) for w in ("0.25", "0.5", "12") for n in ("50", "150")]
    rows = [[*map(GridCell, label), GridCell(str(i))] for i, label in enumerate(labels)]
    lines = printed(Report([Grid(heads, [*map(Line, rows)], labels=3)]), width).splitlines()[2:]
    assert len({line.rsplit(maxsplit=1)[0] for line in lines}) == len(labels)

"""A report on screens of several widths."""

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from attnexp.tables.entries import Request
from attnexp.tables.grid import Cell, Grid, Head, Report
from attnexp.tables.reports import configurations_report
from attnexp.tables.screen import fitting, show


def printed(report: Report, width: int) -> str:
    text = io.StringIO()
    show(report, 0, Console(file=text, width=width, highlight=False, color_system=None))
    return text.getvalue()


def test_columns_without_room_are_named():
    columns = [Head("a"), Head("b", spare=True), Head("c"), Head("d", spare=True)]
    rows = [[Cell("x" * 10)] * 4]
    assert fitting(columns, rows, 49) == [0, 1, 2, 3]
    assert fitting(columns, rows, 48) == [0, 1, 2]
    assert fitting(columns, rows, 30) == [0, 2]
    assert fitting(columns, rows, 1) == [0, 2]


@pytest.mark.parametrize("width", [40, 60, 80])
def test_no_number_is_cut(sweep_of, width: int):
    values = [0.12345, 0.23456, 0.34567]
    runs = sweep_of({"gaussian_learned": values, "epanechnikov": [v + 5 for v in values]})
    report = configurations_report(runs, Request())
    text = printed(report, width)
    for grid in report.grids:
        kept = fitting(grid.columns, grid.rows, width)
        for i in kept:
            assert grid.columns[i].title in text
            for row in grid.rows:
                assert row[i].text in text
    sentences = [*report.verdicts]
    for grid in report.grids:
        sentences += [grid.title, *grid.caption.splitlines()]
    lines = text.partition("note:")[0].splitlines()
    drawn = [line for line in lines if line not in sentences and "Too narrow for" not in line]
    assert all(cell_len(line) <= width for line in drawn)


def test_a_table_without_room_has_a_line_a_column():
    heads = [Head("model"), Head("test_mse", right=True), Head("95% interval", right=True)]
    rows = [[Cell("dot"), Cell("0.5", strong=True), Cell("[0.25, 0.75]")]]
    assert printed(Report([Grid(heads, rows, "sine")], []), 25) == (
        "sine\nmodel dot\n  test_mse       0.5\n  95% interval   [0.25, 0.75]\n"
    )
    assert len(printed(Report([Grid(heads, rows)], []), 40).splitlines()) == 3

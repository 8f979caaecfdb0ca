"""Cells and heads, and the columns that are asked for."""

import pytest

from attnexp.core.errors import RequestError
from attnexp.core.language import translate
from attnexp.tables.grid import (
    NOTHING,
    Grid,
    GridCell,
    Head,
    Line,
    Report,
    cell,
    numbers_cell,
    with_columns,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.123456, "0.1235"),
        (12, "12"),
        (True, "true"),
        ("a", "a"),
        (None, NOTHING),
        (float("nan"), NOTHING),
    ],
)
def test_a_value_is_a_cell(value, text):
    assert cell(value).text == text


def test_a_cell_knows_its_numbers():
    found = numbers_cell("{} [{}, {}] *", 0.123456, 0.1, 2.0, strong=True)
    assert (found.text, found.strong) == ("0.1235 [0.1, 2] *", True)
    assert found.numbers == (0.123456, 0.1, 2.0)


@pytest.fixture
def report() -> Report:
    """A table of results and one of costs."""
    heads = [
        Head("model"),
        Head("test_mse", word="mean", spare=1),
        Head("95% interval", word="interval"),
        Head("better on"),
    ]
    cells = [GridCell("a"), GridCell("0.5"), GridCell("[0, 1]"), GridCell("1 of 2")]
    results = Grid(heads, [Line(cells, [{"model": "a"}])])
    costs = Grid([Head("model"), Head("steps")], [Line([GridCell("a"), GridCell("100")])])
    return Report([results, costs])


def titles(report: Report) -> list[list[str]]:
    return [[translate(head.title) for head in grid.columns] for grid in report.grids]


@pytest.mark.parametrize(
    ("names", "kept"),
    [
        (["mean"], ["model", "test_mse"]),
        (["test_mse"], ["model", "test_mse"]),
        (["better on", "mean"], ["model", "better on", "test_mse"]),
        (["interval", "model", "95% interval"], ["model", "95% interval"]),
        (["model"], ["model"]),
    ],
)
def test_columns_are_named_by_head_or_word_and_the_labels_stay(report, names, kept):
    found = with_columns(report, names)
    assert titles(found)[0] == kept
    assert found.records == report.records


def test_a_table_without_any_of_the_columns_stays_whole(report):
    assert titles(with_columns(report, ["mean"]))[1] == ["model", "steps"]
    assert titles(with_columns(report, ["steps"]))[0] == titles(report)[0]


def test_a_column_that_was_asked_for_is_not_left_out(report):
    assert [head.spare for head in with_columns(report, ["mean"]).grids[0].columns] == [0, 0]


def test_a_wrong_name_has_the_nearest_and_all_heads_and_words(report):
    with pytest.raises(RequestError) as caught:
        with_columns(report, ["men"])
    assert str(caught.value) == (
        "--columns: no table has a column 'men'. Did you mean 'mean'? "
        "Choose 95% interval, better on, interval, mean, model, steps or test_mse."
    )

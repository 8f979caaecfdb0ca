"""A column is declared once, for the tables and for the formats that programs read."""

from attnexp.tables import tables
from attnexp.tables.columns import COLUMNS, Column
from attnexp.tables.comparison import Request


def test_one_entry_adds_a_column_everywhere(sweep_of, monkeypatch):
    own = Column(name="runs", title="runs", value=lambda entry: len(entry.row.index))
    monkeypatch.setattr(tables, "COLUMNS", (*COLUMNS, own))
    report = tables.configurations_report(sweep_of({"a": [1.0, 2.0], "b": [3.0]}), Request())
    results, costs = report.grids
    assert results.columns[-1].title == "runs"
    assert [row[-1].text for row in results.rows] == ["2", "1"]
    assert "runs" not in [head.title for head in costs.columns]
    assert [record["runs"] for record in report.records] == [2, 1]


def test_names_in_csv_and_json_are_unique():
    names = [column.name for column in COLUMNS if column.name]
    assert len(names) == len(set(names))

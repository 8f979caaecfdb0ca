"""Every format against text that was read by a person, and against hostile names."""

import csv
import io
import json
import unicodedata
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from attnexp.tables.formats import WRITERS, as_html, csv_text, markdown_text
from attnexp.tables.grid import NOTHING, Grid, GridCell, Head, Line, Report, numbers_cell

HOSTILE = (
    "plain",
    "a|b_c* <script>alert(1)</script>",
    r"50% & $x_1$ \{y} [bold] :bomb: ~^#",
)

NAN, INF = float("nan"), float("inf")

PRINTABLE = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=30)


@pytest.fixture
def report() -> Report:
    """Two tables with hostile names, a title, captions, a missing value; records; a note."""
    heads = [Head("model"), Head("test_mse", right=True), Head("sd", right=True, spare=True)]
    rows = [
        [
            GridCell(HOSTILE[0], unsure=True),
            numbers_cell("{} ± {} *", 0.1285, 0.00245, strong=True),
            numbers_cell("{}", 0.00245),
        ],
        [GridCell(HOSTILE[1]), numbers_cell("{} ± {}", 0.3155, 0.1), GridCell(NOTHING)],
        [GridCell(HOSTILE[2]), GridCell(NOTHING), GridCell(NOTHING)],
        [],
    ]
    means, deviations = (0.1285, 0.3155, None, 1e-9), (0.00245, NAN, None, INF)
    records: list[dict[str, object]] = [
        {"model": name, "n": 2, "mean": mean, "sd": sd, "tuning_run": False}
        for name, mean, sd in zip((*HOSTILE, "=1+1"), means, deviations, strict=True)
    ]
    lines = [Line(cells, [record]) for cells, record in zip(rows, records, strict=True)]
    return Report(
        [
            Grid(heads, lines, "sine: 3 configurations", "test_mse: lower is better, in [0, 1]."),
            Grid(
                [Head("data"), Head("seconds", right=True)],
                [Line([GridCell("a_b"), GridCell("1.5")])],
            ),
        ],
        ["means leave out 1 failed run: attnexp -m 'model=a_b,c' seed=<1>"],
    )


@pytest.mark.parametrize("form", WRITERS)
def test_formats_are_as_they_were_read(report: Report, form: str, snapshot):
    """`pytest --snapshot-update` writes the current text; read it before it is committed."""
    assert WRITERS[form](report) == snapshot


class Reader(HTMLParser):
    """Collects the texts of a page's cells, and the names of its tags."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.cells: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data


def cells(page: str) -> list[str]:
    reader = Reader()
    reader.feed(page)
    return [text.strip() for text in reader.cells]


def one_cell(text: str) -> Report:
    return Report([Grid([Head(text)], [Line([GridCell(text, strong=True)])])])


def test_html_shows_names_and_runs_none_of_them(report: Report):
    page = as_html(report)
    reader = Reader()
    reader.feed(page)
    assert "script" not in reader.tags
    assert set(HOSTILE) <= set(cells(page))


@given(PRINTABLE)
@settings(deadline=None, derandomize=True)
def test_html_gives_back_any_name(name: str):
    assert cells(as_html(one_cell(name))) == [name, name]


@given(PRINTABLE)
@settings(deadline=None, derandomize=True)
def test_markdown_gives_back_any_name(name: str):
    page = MarkdownIt("commonmark").enable("table").render(WRITERS["markdown"](one_cell(name)))
    assert cells(page) == [name, name]


def test_the_columns_of_markdown_are_aligned_as_they_are_read():
    heads = [Head("模型"), Head("n", right=True)]
    rows = [[GridCell(name), GridCell("1")] for name in ("dot", "三一四五", "한국어", "ｶﾅ")]
    lines = WRITERS["markdown"](Report([Grid(heads, [*map(Line, rows)])])).splitlines()
    bars = set()
    for line in lines:
        columns = [1 + (unicodedata.east_asian_width(each) in "WF") for each in line]
        bars.add(tuple(sum(columns[:i]) for i, each in enumerate(line) if each == "|"))
    assert bars == {(0, 11, 17)}


def test_markdown_leaves_underscores_inside_words():
    assert markdown_text("gaussian_learned") == "gaussian_learned"
    assert markdown_text("_x_") == r"\_x\_"


def test_csv_and_json_give_back_names_and_numbers(report: Report):
    rows = list(csv.DictReader(io.StringIO(WRITERS["csv"](report))))
    content = json.loads(WRITERS["json"](report))
    assert [row["model"] for row in content["rows"]] == [*HOSTILE, "=1+1"]
    assert [row["model"] for row in rows] == [*HOSTILE, "'=1+1"]
    assert [row["mean"] for row in content["rows"]] == [0.1285, 0.3155, None, 1e-9]
    assert [row["mean"] for row in rows] == ["0.1285", "0.3155", "", "1e-09"]
    assert [row["sd"] for row in content["rows"]] == [0.00245, None, None, None]
    assert [row["sd"] for row in rows] == ["0.00245", "", "", ""]


@pytest.mark.parametrize(("text", "written"), [("-", "-"), ("-1", "'-1"), ("--", "'--"), (-1, -1)])
def test_a_dash_alone_is_no_formula(text, written):
    assert csv_text(text) == written


def test_no_rows_are_no_error():
    for write in WRITERS.values():
        write(Report([]))

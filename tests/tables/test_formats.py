"""Every format against text that was read by a person, and against hostile names."""

import csv
import io
import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from attnexp.tables.comparison import Request
from attnexp.tables.formats import WRITERS, as_html, latex_text, markdown_text
from attnexp.tables.table import Cell, Grid, Head, Report
from attnexp.tables.tables import configurations_report, pivot_report, runs_report

HOSTILE = (
    "plain",
    "a|b_c* <script>alert(1)</script>",
    r"50% & $x_1$ \{y} [bold] :bomb: ~^#",
)

PRINTABLE = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=30)


@pytest.fixture
def reports(frame) -> dict[str, Report]:
    """A table a kind: hostile names, two data sets, a failed run, a seed and a cell missing."""
    runs = []
    for i, data, seeds in (
        (0, "sine", range(8)),
        (1, "sine", range(7)),
        (2, "sine", range(8)),
        (0, "sine_v1", (0, 1)),
        (1, "sine_v1", (0, 1)),
    ):
        for seed in seeds:
            state = "failed" if (i, data, seed) == (1, "sine_v1", 1) else "finished"
            value = 0.125 + 9 * (i == 2) + 0.0625 * i * seed + 0.001 * seed
            runs.append(
                (
                    {"seed": seed, "model._target_": HOSTILE[i], "data._target_": data},
                    {
                        "status": state,
                        "choices": {"model": HOSTILE[i], "data": data},
                        "metrics": {"test_mse": value if state == "finished" else None},
                        "parameters": 2**i,
                        "seconds": 0.5 + i,
                    },
                )
            )
    whole, one, few = frame(*runs), frame(*runs[:23]), frame(runs[0], runs[15], runs[-1])
    return {
        "configurations": configurations_report(whole, Request()),
        "metrics": configurations_report(one, Request(metrics=("test_mse", "neighbours"))),
        "pivot": pivot_report(whole, Request(("model", "data"), apart=("data",)), "model", "data"),
        "runs": runs_report(few, ()),
    }


@pytest.mark.parametrize("kind", ["configurations", "metrics", "pivot", "runs"])
@pytest.mark.parametrize("form", WRITERS)
def test_formats_are_as_they_were_read(reports: dict[str, Report], kind: str, form: str, snapshot):
    """`pytest --snapshot-update` writes what there is; read it before it is committed."""
    assert WRITERS[form](reports[kind]) == snapshot


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
    return Report([Grid([Head(text)], [[Cell(text, strong=True)]])], [])


def test_html_shows_names_and_runs_none_of_them(reports: dict[str, Report]):
    page = as_html(reports["configurations"])
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


def test_markdown_leaves_underscores_inside_words():
    assert markdown_text("gaussian_learned") == "gaussian_learned"
    assert markdown_text("_x_") == r"\_x\_"


@given(PRINTABLE)
@settings(deadline=None, derandomize=True)
def test_latex_has_no_special_character_left(name: str):
    left = re.sub(r"\\(text[a-z]+\{\}|[{}&%$#_])|\$\\pm\$|\{[\[\]*]\}", "", latex_text(name))
    assert not set(left) & set(r"\{}$&#^_%~[]*")


def test_latex_by_hand():
    assert latex_text(r"a_b & 50% [x] \y ±") == (r"a\_b \& 50\% {[}x{]} \textbackslash{}y $\pm$")


def test_csv_and_json_give_back_names_and_numbers(reports: dict[str, Report]):
    rows = list(csv.DictReader(io.StringIO(WRITERS["csv"](reports["configurations"]))))
    content = json.loads(WRITERS["json"](reports["configurations"]))
    assert {row["model"] for row in rows} == {row["model"] for row in content["rows"]}
    assert {row["model"] for row in rows} == set(HOSTILE)
    assert [float(row["mean"]) for row in rows] == [row["mean"] for row in content["rows"]]


def test_json_has_no_number_that_json_lacks():
    report = Report([], [{"a": float("nan"), "b": float("inf"), "c": None, "d": 1}])
    assert json.loads(WRITERS["json"](report))["rows"] == [
        {"a": None, "b": None, "c": None, "d": 1}
    ]
    assert WRITERS["csv"](report) == "a,b,c,d\n,,,1\n"


def test_no_rows_are_no_error():
    for write in WRITERS.values():
        write(Report([], []))

"""LaTeX: what is read by a person, what LaTeX needs of it, and LaTeX itself if it is there."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from english import report_of
from hypothesis import given, settings
from hypothesis import strategies as st

from attnexp.tables.entries import TableRequest
from attnexp.tables.grid import (
    NOTHING,
    Grid,
    GridCell,
    Head,
    Line,
    Report,
    numbers_cell,
    with_columns,
)
from attnexp.tables.latex import as_latex, latex_text
from attnexp.tables.paper import Paper

LOW = [1.0, 1.1, 0.9, 1.0, 1.05, 0.95, 1.0, 1.0]
NEAR = [0.9, 1.2, 1.0, 1.1, 1.0, 1.0, 0.95, 1.1]
HIGH = [2.0, 2.15, 1.9, 2.05, 2.1, 2.0, 1.95, 2.0]

PRINTABLE = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=30)

PROGRAMS = ("pdflatex", "lualatex", "tectonic")
KINDS = re.compile(r"S\[table-format=[-\de.]+\]|[lr]")


def uncommented(text: str) -> str:
    """The text without comments, and without characters that a backslash escapes."""
    return re.sub(r"%.*", "", re.sub(r"\\[{}%&$#_]", "", text))


def is_balanced(text: str) -> bool:
    """Whether braces, formulas and environments are closed in the order in which they open."""
    open_ones: list[str] = []
    for found in re.finditer(r"\\(begin|end)\{([a-z*]+)\}|[{}]", uncommented(text)):
        word, name = found[1], found[2]
        if word == "begin" or found[0] == "{":
            open_ones.append(name or "{")
        elif not open_ones or open_ones.pop() != (name or "{"):
            return False
    return not open_ones and uncommented(text).count("$") % 2 == 0


def kinds(text: str) -> list[str]:
    """The columns of the first table."""
    return KINDS.findall(re.search(r"\{tabular\}\{@\{\}(.*)@\{\}\}", text)[1])


def rows(text: str) -> list[list[str]]:
    """The cells of the first table, its heads first."""
    body = re.search(r"\\toprule(.*?)\\bottomrule", text, re.DOTALL)[1].replace(r"\midrule", "")
    lines = [line.strip().removesuffix(r" \\") for line in body.strip().splitlines()]
    return [re.split(r"(?<!\\) & ", line) for line in lines if line]


def of_numbers(*values: float, digits: int | None = None, strong: int = -1) -> str:
    cells = [
        [GridCell("a"), numbers_cell("{}", value, strong=i == strong)]
        for i, value in enumerate(values)
    ]
    grid = Grid([Head("model"), Head("mse", right=True, measured=True)], [*map(Line, cells)])
    return as_latex(Report([grid]), Paper(digits=digits))


@given(PRINTABLE)
@settings(deadline=None, derandomize=True)
def test_no_special_character_is_left(name: str):
    left = re.sub(r"\\(text[a-z]+\{\}|[{}&%$#_])|\$\\pm\$|\{[\[\]*]\}", "", latex_text(name))
    assert not set(left) & set(r"\{}$&#^_%~[]*")


@given(PRINTABLE)
@settings(deadline=None, derandomize=True)
def test_any_name_leaves_everything_closed(name: str):
    grid = Grid([Head(name)], [Line([GridCell(name, unsure=True)])], name, name, [name])
    text = as_latex(Report([grid], [f"{name}\n{name}"]))
    assert is_balanced(text)
    assert rows(text) == [[latex_text(name)], [latex_text(name) + r"$^\dagger$"]]


def test_a_setting_stays_readable():
    assert latex_text("model.width=1") == "model.width=1"


@pytest.mark.parametrize(
    ("values", "form", "cells"),
    [
        ((0.09279, 12.5), "2.5", ["0.09279", "12.5"]),
        ((-1.25, 3), "-1.2", ["-1.25", "3"]),
        ((6, 10), "2", ["6", "10"]),
        ((1.5e-7, 2.0), "1.1e-1", ["1.5e-7", "2"]),
        ((1.5e10, 2.0), "1.1e2", ["1.5e10", "2"]),
        ((float("inf"), 2.5), "1.1", ["{inf}", "2.5"]),
    ],
)
def test_the_format_of_a_column_is_that_of_its_numbers(values, form, cells):
    text = of_numbers(*values)
    assert kinds(text) == ["l", f"S[table-format={form}]"]
    assert [row[1] for row in rows(text)] == ["{mse}", *cells]


@pytest.mark.parametrize(
    ("digits", "cells"),
    [
        (None, ["0.09279", "-0.0001234", "123"]),
        (3, ["0.093", "0.000", "123.000"]),
        (0, ["0", "0", "123"]),
    ],
)
def test_digits_are_those_after_the_decimal_point(digits, cells):
    text = of_numbers(0.092789, -0.0001234, 123.0, digits=digits)
    assert [row[1] for row in rows(text)[1:]] == cells


def test_whole_numbers_and_columns_without_a_metric_keep_their_digits():
    heads = [Head("width", right=True), Head("mse", measured=True), Head("seconds")]
    cells = [[numbers_cell("{}", 0.25), numbers_cell("{}", 8), numbers_cell("{}", 1.5)]]
    text = as_latex(Report([Grid(heads, [*map(Line, cells)])]), Paper(digits=3))
    assert rows(text)[1] == ["0.25", "8", "1.5"]


def test_two_numbers_in_a_cell_are_mathematics():
    heads = [Head("model"), *(Head(name, right=True, measured=True) for name in "abc")]
    cells = [
        GridCell("x"),
        numbers_cell("[{}, {}]", -0.5, 1e-7),
        numbers_cell("{} [{}, {}]", 0.25, 0.125, 0.5),
        numbers_cell("{} ± {} *", 0.25, 0.125, strong=True),
    ]
    text = as_latex(Report([Grid(heads, [Line(cells)])]))
    assert rows(text)[1] == [
        "x",
        r"$[-0.5, 1 \times 10^{-7}]$",
        r"$0.25\ [0.125, 0.5]$",
        r"$\mathbf{0.25 \pm 0.125}$",
    ]


def test_a_missing_number_is_a_dash_in_braces():
    cells = [[GridCell("a"), numbers_cell("{}", 0.5)], [GridCell("b"), GridCell(NOTHING)]]
    text = as_latex(Report([Grid([Head("model"), Head("mse")], [*map(Line, cells)])]))
    assert [row[1] for row in rows(text)] == ["{mse}", "0.5", "{--}"]


def test_a_cell_of_a_column_of_numbers_is_a_number_or_braced(sweep_of):
    runs = sweep_of({"a": LOW, "b": NEAR, "c": HIGH, "d": [None] * 8})
    text = as_latex(report_of(runs, TableRequest(costs=True)))
    columns = list(zip(kinds(text), *rows(text), strict=True))
    numeric = [cells for kind, *cells in columns if kind.startswith("S")]
    assert {"{seeds}", r"{test\_mse}", "{sd}"} <= {cells[0] for cells in numeric}
    for cell in (cell for cells in numeric for cell in cells):
        if not re.fullmatch(r"\{[^{}]*\}", cell):
            float(cell.removeprefix(r"\bfseries "))


def test_the_best_and_what_is_tied_with_it_are_bold(sweep_of):
    report = report_of(sweep_of({"a": LOW, "b": NEAR, "c": HIGH}), TableRequest())
    means = [row[1] for row in rows(as_latex(report))[1:]]
    assert means == [r"\bfseries 1", r"\bfseries 1.031", "2.019"]
    assert "Bold: the best, or tied with it." in as_latex(report)


def test_rows_with_too_few_seeds_have_a_dagger_that_is_explained(sweep_of):
    report = report_of(sweep_of({"a": LOW[:3], "b": HIGH}), TableRequest(costs=True))
    text = as_latex(report)
    assert [row[0] for row in rows(text)[1:]] == [r"a$^\dagger$", "b"]
    assert [row[2] for row in rows(text)] == ["no result", "5 missing", "--"]
    assert r"$^\dagger$Too few seeds for a verdict." in text
    assert "dagger" not in as_latex(Report(report.grids[1:]))
    alone = as_latex(report_of(sweep_of({"a": LOW[:3]}), TableRequest()))
    enough = as_latex(report_of(sweep_of({"a": LOW, "b": HIGH}), TableRequest()))
    assert "dagger" not in alone + enough


def test_settings_in_common_are_a_comment_and_what_all_rows_share_is_told_once(sweep_of):
    text = as_latex(report_of(sweep_of({"a": LOW, "b": HIGH}), TableRequest()))
    assert "\n% The same in every run: arch=kernel_regression.\n\\begin{table" in text
    assert "{seeds}" not in text
    assert "In every row: seeds $8$." in text


def test_several_metrics_have_no_star(sweep_of):
    runs = sweep_of({"a": LOW, "b": HIGH}, metrics={"other": 2.0})
    report = report_of(runs, TableRequest(metrics=("test_mse", "other")))
    assert "*: the best, or not told apart from it." in report.grids[0].full_caption.en
    text = as_latex(report, Paper(digits=2))
    assert rows(text)[1] == ["a", r"$\mathbf{1.00 \pm 0.06}$", r"$2.00 \pm 0.00$"]
    assert "*: the best" not in text


def test_labels_are_unlike_and_the_caption_is_that_of_the_first_table(sweep_of):
    report = report_of(sweep_of({"a": LOW, "b": HIGH}), TableRequest(costs=True))
    text = as_latex(report, Paper("tab:dates", r"Errors $\epsilon$ of 50\% noise."))
    assert re.findall(r"\\label\{(.*)\}", text) == ["tab:dates", "tab:dates-2"]
    assert re.findall(r"% For the text: Table~\\ref\{(.*)\}", text) == ["tab:dates", "tab:dates-2"]
    captions = re.findall(r"\\caption\{(.*)\}", text)
    assert captions[0] == r"Errors $\epsilon$ of 50\% noise."
    assert captions[1].startswith("The costs of a run")
    assert r"\label{" not in as_latex(report)
    assert "--label" in as_latex(report)


def test_columns_are_all_or_those_that_are_chosen(sweep_of):
    report = report_of(sweep_of({"a": LOW, "b": HIGH}), TableRequest())
    assert {"{sd}", "better on", "diff. to the best"} <= {*rows(as_latex(report))[0]}
    narrow = as_latex(with_columns(report, ["mean", "95% interval"]))
    assert [row[1:] for row in rows(narrow)] == [
        [r"{test\_mse}", r"95\% CI"],
        [r"\bfseries 1", "$[0.95, 1.05]$"],
        ["2.019", "$[1.952, 2.086]$"],
    ]


def test_the_packages_are_named(sweep_of):
    text = as_latex(report_of(sweep_of({"a": LOW}), TableRequest()))
    assert text.startswith("% Packages: ")
    head = text.splitlines()[0]
    assert re.findall(r"\\usepackage\{(\w+)\}", head) == ["booktabs", "graphicx", "siunitx"]


def test_latex_compiles_it(sweep_of, tmp_path: Path):
    """A page of two columns, on which nothing is too wide."""
    program = next(filter(shutil.which, PROGRAMS), None)
    if program is None:
        pytest.skip(f"none of {', '.join(PROGRAMS)} is on the PATH")
    names = {r"model.width=1_%$#&~^\{}[*": LOW, "b": NEAR, "[c]": HIGH, "d": HIGH[:3]}
    report = report_of(sweep_of(names), TableRequest(costs=True))
    metrics = report_of(
        sweep_of({"a": LOW, "b": HIGH}, metrics={"other": 2.0}),
        TableRequest(metrics=("test_mse", "other")),
    )
    written = [
        as_latex(report, Paper("tab:all", digits=3)),
        as_latex(with_columns(report, ["mean", "interval"]), Paper("tab:some")),
        as_latex(metrics),
        of_numbers(1.5e-7, -2.0, strong=0),
    ]
    assert "Overfull" not in compiled(
        program, ["booktabs", "graphicx", "siunitx"], written, tmp_path
    )


def test_xelatex_compiles_chinese_with_ctex(sweep_of, tmp_path: Path):
    """No character is missing in the fonts of ctex."""
    if shutil.which("xelatex") is None:
        pytest.skip("xelatex is not on the PATH")
    report = report_of(sweep_of({"加性注意力": LOW, "点积": HIGH}), TableRequest())
    written = [as_latex(report, Paper("tab:all", caption="在 `反转` 上的比较, 三个种子。"))]
    said = compiled("xelatex", ["ctex", "booktabs", "graphicx", "siunitx"], written, tmp_path)
    assert "Missing character" not in said


def compiled(program: str, packages: list[str], written: list[str], folder: Path) -> str:
    """Compile tables on a page of two columns, and return what the program said."""
    loaded = "".join(rf"\usepackage{{{package}}}" for package in packages)
    page = rf"\documentclass[twocolumn]{{article}}{loaded}\begin{{document}}"
    (folder / "page.tex").write_text("\n".join([page, *written, r"\end{document}"]))
    options = [] if program == "tectonic" else ["-interaction=nonstopmode", "-halt-on-error"]
    answer = subprocess.run(
        [program, *options, "page.tex"], cwd=folder, capture_output=True, text=True, check=False
    )
    said = answer.stdout + answer.stderr
    if lacking := re.search(r"File `(.*)\.sty' not found", said):
        pytest.skip(f"{program} has no {lacking[1]}")
    assert answer.returncode == 0, said
    assert (folder / "page.pdf").exists()
    logs = [log.read_text() for log in folder.glob("page.log")]  # tectonic keeps none
    return "".join([said, *logs])


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("三一四五", "三一四五"),
        ("한국어", "한국어"),
        ("ｱｲ", "ｱｲ"),
        ("модель", "модель"),
        ("\u03b1=1", "\u03b1"),
        ("cafe\u0301", "\u0301"),
        ("Größe é ± \u2013 \u2026 \u201ca\u201d", ""),
        ("一丁丂七丄丅丆万丈三上下", "一丁丂七丄丅丆万..."),
    ],
)
@pytest.mark.parametrize("place", ["label", "head", "title", "caption"])
def test_text_beyond_latin_names_a_program_that_prints_it(text, named, place):
    head = Head(text if place == "head" else "model")
    grid = Grid([head], [Line([GridCell(text if place == "label" else "a")])])
    grid = replace(grid, title=text if place == "title" else "")
    written = as_latex(Report([grid]), Paper(caption=text if place == "caption" else ""))
    (*_, line) = ["", *(each for each in written.splitlines() if "xelatex" in each)]
    assert ("ctex" in written) == bool(named)
    assert line.startswith(f"% Text beyond Latin, {named}:") if named else not line


def test_comments_alone_need_no_other_program():
    grid = Grid([Head("model")], [Line([GridCell("a")])], common=["data.path=温度.csv"])
    assert "xelatex" not in as_latex(Report([grid]))

"""`attnexp docs` lists the documents and prints one of them."""

import io
import re
import tomllib
from pathlib import Path

import pytest
from conftest import ROOT

from attnexp.cli.docs import GROUPS, documents, summary
from attnexp.core import console
from attnexp.core.language import usual_language

PAGES = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/course/*.md")]

NAMED = re.compile(r"\battnexp docs ([a-z_]+)")


def test_every_document_is_listed_with_its_title(in_process):
    lines = in_process("docs").stdout.splitlines()[2:]
    named = [line.split()[0] for line in lines if line.strip()]
    assert sorted(name for name in named if name.islower()) == sorted(documents())
    assert [name for name in named if name.isupper()] == [group.en.upper() for group in GROUPS]
    for page in PAGES:
        title = page.read_text().splitlines()[0].removeprefix("# ")
        assert any(line.split()[0] == page.stem and title in line for line in lines), page


def test_no_two_documents_have_one_name():
    assert len(documents()) == len(PAGES)


@pytest.mark.parametrize("name", ["results", "results.md", "docs/results.md"])
def test_a_document_is_printed_as_it_is_in_a_pipe(in_process, name):
    assert in_process("docs", name).stdout == (ROOT / "docs" / "results.md").read_text()


def test_every_document_is_printed_whole(in_process):
    for page in PAGES:
        assert in_process("docs", page.stem).stdout == page.read_text()


def test_a_terminal_gets_it_laid_out(succeeds, monkeypatch):
    file = io.StringIO()
    screen = console.SafeConsole(file=file, force_terminal=True, width=80, color_system=None)
    monkeypatch.setattr(console.screen, "out", screen)
    succeeds("docs", "claims")
    assert "Is it true?" in file.getvalue()
    assert "# Is it true?" not in file.getvalue()
    assert "```" not in file.getvalue()
    assert max(map(len, file.getvalue().splitlines())) <= 80


def test_an_unknown_document_is_refused(refused):
    assert "page 'reslts' is not a choice. Did you mean 'results'" in refused("docs", "reslts")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Runs\n\nA run has\na [folder](a.md). More.\n", "Runs. A run has a folder."),
        ("# Is it?\n\n## Part\n\n```sh\nattnexp\n```\n\nOne: two.", "Is it? One."),
        ("# Tour\n\n**Fit a `curve`.** Fifty.", "Tour. Fit a curve."),
        ("# Data\n\nThe file 3.11 is read.", "Data. The file 3.11 is read."),
        ("# 运行\n\n一次运行\n有[文件夹](a.md)。还有。\n", "运行。一次运行有文件夹。"),
        ("# 导览\n\n**拟合`曲线`。** 五十个。", "导览。拟合曲线。"),
        (
            "# 是吗\N{FULLWIDTH QUESTION MARK}\n\n一\N{FULLWIDTH COLON}二。",
            "是吗\N{FULLWIDTH QUESTION MARK}一。",
        ),
    ],
)
def test_a_summary_is_the_title_and_the_first_sentence(text, expected):
    assert summary(text) == expected


def test_a_page_that_the_package_names_exists():
    for path in (ROOT / "attnexp").rglob("*.py"):
        text = path.read_text()
        assert not re.search(r"\bdocs/\w+\.md", text), path
        assert set(NAMED.findall(text)) <= {page.stem for page in PAGES}, path


CHINESE = [*ROOT.glob("docs/zh/*.md"), *ROOT.glob("docs/zh/course/*.md")]


@pytest.mark.parametrize(
    ("words", "locale"),
    [
        (("--lang", "zh", "pooling"), ""),
        (("--lang", "zh-CN", "docs/course/pooling.md"), ""),
        (("--lang=zh_CN", "pooling"), "en_US.UTF-8"),
        (("zh/course/pooling",), ""),
        (("docs/zh/course/pooling.md",), ""),
        (("pooling",), "zh_CN.UTF-8"),
    ],
)
def test_a_document_is_printed_in_chinese(in_process, monkeypatch, words, locale):
    monkeypatch.setenv("LC_ALL", locale)
    printed = in_process("docs", *words).stdout
    assert printed == (ROOT / "docs" / "zh" / "course" / "pooling.md").read_text()


def test_every_chinese_document_is_printed_and_listed(in_process, monkeypatch):
    lines = in_process("docs", "--lang", "zh").stdout
    for page in CHINESE:
        assert in_process("docs", "--lang", "zh", page.stem).stdout == page.read_text()
        assert page.read_text().splitlines()[0].removeprefix("# ") in lines


def test_a_document_in_english_alone(in_process, refused, monkeypatch):
    assert "page 'performance' is in English alone" in refused(
        "docs", "--lang", "zh", "performance"
    )
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    printed = in_process("docs", "performance").stdout
    assert printed == (ROOT / "docs" / "performance.md").read_text()


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_TW"}, "zh"),
        ({"LANG": "fr_FR.UTF-8"}, "en"),
        ({"LC_ALL": "", "LANG": "zh"}, "zh"),
    ],
)
def test_the_language_of_a_locale(environment, language):
    assert usual_language(environment) == language


def test_the_menu_of_the_site_has_the_same_groups_of_documents():
    menu = tomllib.loads((ROOT / "docs" / "zensical.toml").read_text())["project"]["nav"]
    groups = {group.en for group in GROUPS}
    parts = {title: pages for part in menu for title, pages in part.items() if title in groups}
    own = {
        title: [Path(file).stem for page in pages for file in page.values()]
        for title, pages in parts.items()
    }
    expected = {group.en: names.split() for group, names in GROUPS.items()}
    expected["Appendix"].remove("glossary")  # which is in Chinese alone
    assert own == expected


def test_the_groups_have_at_most_20_documents_besides_the_chapters():
    chapters = {path.stem for path in ROOT.glob("docs/course/*.md")}
    read = {
        name for group, names in GROUPS.items() if group.en != "Appendix" for name in names.split()
    }
    assert len(read - chapters) <= 20

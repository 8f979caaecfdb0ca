"""The Chinese pages say what the English ones say, by the terms of the glossary.

A page and its translation have the same blocks in the same order. Code, figures, formulas and links
are the same, and a difference names the line of both. Comments of commands are translated, too.
"""

import os
import re
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from conftest import ROOT
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from attnexp.core.language import said, table
from attnexp.course import exercise_file as exercise

PAIRS = {
    "README.md": "README.zh.md",
    **{
        f"docs/{name}.md": f"docs/zh/{name}.md"
        for name in (
            "course",
            "course/pooling",
            "course/scoring",
            "course/bahdanau",
            "course/heads",
            "course/transformer",
            "exercises",
            "attend",
            "tour",
            "install",
            "results",
            "metrics",
            "data",
            "claims",
            "card",
        )
    },
    **{
        f"attnexp/course/exercises/{name}/{file}.md": (
            f"attnexp/course/exercises/{name}/{file}.zh.md"
        )
        for name in exercise.names()
        for file in ("README", "hint", "solution")
    },
}
"""The Chinese page of each English one."""

FIELDS = "\n## 要填写的内容\n"
"""Opens what the question of an exercise has in Chinese alone: the comments of its files."""

GLOSSARY = ROOT / "docs" / "zh" / "glossary.md"

CODE = r"`+.+?`+"
FORMULA = r"\$\$.*?\$\$|\$[^$]+\$"
LINK = r"\]\(([^)\s]+)[^)]*\)"
FIGURE = r"(?<![A-Za-z_\d.])\d(?:[\d.,]*\d)?%?"
COMMENT = r" {2,}# (.*)"
PRINTED = re.compile(r"^\|([^|\n]+)\| `--lang zh` \|.*\n\|.*\n(?:\|.*\n)+", re.MULTILINE)
"""A table whose second column, on the Chinese page alone, has a word as the program prints it."""


class Block(NamedTuple):
    """A heading, text, list, table or block of code, and what its translation has as well."""

    line: int
    kept: dict[str, Any]


def figures_alone(comment: re.Match) -> str:
    """Return a comment of a command without its words."""
    return "  # " + " ".join(sorted(re.findall(FIGURE, comment[1])))


def blocks(page: str, text: str) -> Iterator[Block]:
    for node in SyntaxTreeNode(MarkdownIt().enable("table").parse(text)).walk():
        kept: dict[str, Any]
        match node.type:
            case "heading":
                kept = {"kind": node.tag}
            case "fence" | "code_block":
                kept = {"kind": node.type, "code": f"{node.info}\n{node.content}"}
                if node.info == "sh":
                    kept["code"] = re.sub(COMMENT, figures_alone, kept["code"])
            case "html_block":
                kept = {"kind": node.type, "tags": re.findall("<[^>]*>", node.content)}
            case "bullet_list" | "ordered_list":
                kept = {"kind": f"{node.tag} of {len(node.children)} items"}
            case "table":
                rows = [row for part in node.children for row in part.children]
                kept = {"kind": f"table of {len(rows)} x {len(rows[0].children)}"}
            case "inline":
                content = node.content.replace("\n", " ")
                words = re.sub(CODE, "", content)
                plain = re.sub(FORMULA, "", re.sub(LINK, "]", words))
                links = (target(page, link) for link in re.findall(LINK, words))
                kept = {
                    "kind": f"text of {node.parent.tag}",
                    "code": sorted(re.findall(CODE, content)),
                    "formulas": sorted(re.findall(FORMULA, words)),
                    "links": sorted(links, key=str),
                    "figures": sorted(re.findall(FIGURE, plain)),
                    "bold": sum(child.type == "strong" for child in node.children),
                }
            case _:
                continue
        assert node.map is not None
        yield Block(node.map[0] + 1, kept)


def without_printed(table: re.Match) -> str:
    """Return a table without its second column."""
    return re.sub(r"^(\|[^|\n]+\|)[^|\n]+\|", r"\1", table[0], flags=re.MULTILINE)


def anchors(page: str) -> list[str]:
    """The anchors of the headings of a page, as a forge and the site make them."""
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]


def target(page: str, link: str) -> tuple:
    """Return the Chinese page where a link should lead, if there is one, and the heading there.

    A link to the page in the other language is the same on both. A page of the book leads to that
    of its own language, whose chapters have other names.
    """
    path, _, anchor = link.partition("#")
    if re.match(r"[a-z]+:", path):
        book = "https://d2l.ai/" if page in PAIRS else "https://zh.d2l.ai/"
        return (re.sub(rf"^{re.escape(book)}.*/", "the book's ", link),)
    there = os.path.normpath(Path(page).parent / path) if path else page
    if {page, there} in [set(pair) for pair in PAIRS.items()]:
        return ("the other language",)
    if there not in {*PAIRS, *PAIRS.values()}:
        return there, anchor
    shown = there if page in PAIRS.values() else PAIRS.get(there, there)
    headings = anchors(there)
    return shown, headings.index(anchor) if anchor in headings else anchor


def differences(english: str, chinese: str, texts: dict[str, str]) -> list[str]:
    """Return the differences of two pages, up to the first block that is another kind."""
    found = []
    both = (blocks(page, texts[page]) for page in (english, chinese))
    for one, two in zip_longest(*both, fillvalue=Block(0, {"kind": "end of the page"})):
        if one.kept["kind"] != two.kept["kind"]:
            fields = ["kind"]
        else:
            fields = [field for field, value in one.kept.items() if value != two.kept[field]]
        found += [
            f"{english}:{one.line} has {field} {one.kept[field]!r}, "
            f"{chinese}:{two.line} has {two.kept[field]!r}"
            for field in fields
        ]
        if fields == ["kind"]:
            break
    return found


def test_every_page_is_translated():
    chinese = (*(ROOT / "docs/zh").rglob("*.md"), *exercise.FOLDER.rglob("*.zh.md"))
    there = {path.relative_to(ROOT).as_posix() for path in chinese}
    assert there == {*PAIRS.values(), "docs/zh/glossary.md"} - {"README.zh.md"}


@pytest.mark.parametrize("english", PAIRS)
def test_a_page_and_its_translation_have_the_same_blocks(english):
    pages = (english, PAIRS[english])
    texts = {page: (ROOT / page).read_text().partition(FIELDS)[0] for page in pages}
    texts[pages[1]] = PRINTED.sub(without_printed, texts[pages[1]])
    found = differences(*pages, texts)
    assert not found, "\n".join(found)


def test_the_words_of_a_table_are_those_that_are_printed():
    text = (ROOT / "docs/zh/results.md").read_text()
    tables = "".join(found[0] for found in PRINTED.finditer(text))
    told = re.findall(r"^\| `?([^|`]+)`? \| ([^|`]+) \|", tables, re.MULTILINE)
    assert len(told) >= 15
    composed = (
        said("difference to {reference}", reference=said("the best")),
        said("worse on {worse} of {pairs} {units}", worse=3, pairs=3, units=said("seeds")),
    )
    printed = {**table(), **{text.en: text.zh() for text in composed}}
    assert told == [(english, printed.get(english, english)) for english, _ in told]


@pytest.mark.parametrize("name", exercise.names())
def test_a_chinese_question_explains_each_field_as_its_comment_does(name):
    folder = exercise.FOLDER / name
    said = (folder / "README.zh.md").read_text().partition(FIELDS)[2]
    rows = re.findall(r"^\| `(\S+)` \| `(\w+)` \| .+ \|$", said, re.MULTILINE)
    assert len(rows) == said.count("\n| `")
    answer = (folder / "answer.yaml").read_text()
    asked = re.findall(r"^(\w+): null", answer, re.MULTILINE)
    assert [field for file, field in rows if file == "answer.yaml"] == asked
    for file, field in rows:
        assert re.search(rf"^ *(def )?{field}\b", (folder / file).read_text(), re.MULTILINE)
    comments = " ".join(re.findall("# .*", answer))
    words = re.findall(r"`.+?`|\{.+?\}|\d+%|[\w.=]*[_=.]\w+", comments)
    for choices in re.findall(r"^(?:better|verdict): null +# (.*)$", answer, re.MULTILINE):
        words += [f"`{word}`" for word in re.split(", | or ", choices)]
    assert not [word for word in words if word not in said]


ENGLISH = """# Heads

**Two heads** of 8 features, `W_q` and $w_i$: [one attention](../attend.md).
More is in [tables](../tables.md#one-word).

- one
- two

| head | loss |
|---|---|
| 1 | 0.5 |

```sh
attnexp model=dot  # two of 8
```
"""
CHINESE = """# 头

**两个头**每个有 8 个特征、`W_q` 和 $w_i$、[一次注意力](../attend.md)。
更多内容见[表格](../../tables.md#one-word)。

- 一
- 二

| 头 | 损失 |
|---|---|
| 1 | 0.5 |

```sh
attnexp model=dot  # 8 个中的两个
```
"""


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("# 头", "## 头", ":1 has kind 'h1', {}:1 has 'h2'"),
        ("有 8 个", "有 9 个", ":3 has figures ['8'], {}:3 has ['9']"),
        ("W_q", "W_k", ":3 has code ['`W_q`'], {}:3 has ['`W_k`']"),
        ("$w_i$", "$w$", ":3 has formulas ['$w_i$'], {}:3 has ['$w$']"),
        ("**两个头**", "两个头", ":3 has bold 1, {}:3 has 0"),
        ("](../attend.md)", "]", ":3 has links [('docs/tables.md', 'one-word'), ('docs/zh/"),
        ("- 二\n", "", ":6 has kind 'ul of 2 items', {}:6 has 'ul of 1 items'"),
        ("| 1 | 0.5 |\n", "", ":9 has kind 'table of 2 x 2', {}:9 has 'table of 1 x 2'"),
        ("| 0.5 |", "| 0.6 |", ":11 has figures ['0.5'], {}:11 has ['0.6']"),
        ("=dot", "=mean", ":13 has code 'sh\\nattnexp model=dot  # 8\\n', {}:13 has 'sh"),
        ("# 8 个", "# 9 个", ":13 has code 'sh\\nattnexp model=dot  # 8\\n', {}:13 has 'sh"),
        ("  # 8 个中的两个", "", ":13 has code 'sh\\nattnexp model=dot  # 8\\n', {}:13 has 'sh"),
        ("```\n", "```\n\n## 多\n", ":0 has kind 'end of the page', {}:17 has 'h2'"),
    ],
)
def test_a_change_of_one_alone_is_named_with_both_lines(before, after, said):
    names = ("docs/course/heads.md", "docs/zh/course/heads.md")
    assert not differences(*names, dict(zip(names, (ENGLISH, CHINESE), strict=True)))
    changed = after.join(CHINESE.rsplit(before, 1))
    (first, *_) = differences(*names, dict(zip(names, (ENGLISH, changed), strict=True)))
    assert first.startswith(names[0] + said.replace("{}", names[1])), first


@pytest.mark.parametrize(
    ("page", "link", "there"),
    [
        ("docs/recipes.md", "attend.md", ("docs/zh/attend.md", "")),
        ("docs/attend.md", "tour.md", ("docs/zh/tour.md", "")),
        ("docs/zh/attend.md", "tour.md", ("docs/zh/tour.md", "")),
        ("docs/zh/attend.md", "../tour.md", ("docs/tour.md", "")),
        ("docs/attend.md", "tables.md#one-word", ("docs/tables.md", "one-word")),
        ("docs/zh/attend.md", "../tables.md#one-word", ("docs/tables.md", "one-word")),
        ("docs/tour.md", "attend.md#your-own", ("docs/zh/attend.md", 3)),
        ("docs/zh/tour.md", "attend.md#自己的张量", ("docs/zh/attend.md", 3)),
        ("docs/zh/tour.md", "attend.md#没有", ("docs/zh/attend.md", "没有")),
        ("README.md", "README.zh.md", ("the other language",)),
        ("README.zh.md", "README.md", ("the other language",)),
        ("docs/tour.md", "https://hydra.cc", ("https://hydra.cc",)),
        ("docs/attend.md", "https://d2l.ai/chapter_a/b.html", ("the book's b.html",)),
        ("docs/zh/attend.md", "https://zh.d2l.ai/chapter_c/b.html", ("the book's b.html",)),
        ("docs/zh/attend.md", "https://d2l.ai/c/b.html", ("https://d2l.ai/c/b.html",)),
    ],
)
def test_a_link_should_lead_to_the_chinese_page_if_there_is_one(page, link, there):
    assert target(page, link) == there


@pytest.mark.parametrize("page", PAIRS.values())
def test_the_comments_of_commands_are_chinese(page):
    tokens = MarkdownIt().parse((ROOT / page).read_text())
    commands = "".join(token.content for token in tokens if token.info == "sh")
    comments = re.findall(COMMENT, commands)
    assert not [comment for comment in comments if not re.search("[\u4e00-\u9fff]", comment)]


def terms() -> list[tuple[str, str, list[str]]]:
    """The terms of the glossary: English, Chinese, and translations that are not used."""
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (.*?) ?\|$", GLOSSARY.read_text(), flags=re.MULTILINE)
    return [(one, two, re.findall(r"[^、]+", others)) for one, two, others in rows[1:]]


def prose(page: str) -> str:
    """The text of a page without code, on the same lines."""
    code = rf"^```.*?^```$|{CODE}"
    return re.sub(
        code,
        lambda found: "\n" * found[0].count("\n"),
        (ROOT / page).read_text(),
        flags=re.DOTALL | re.MULTILINE,
    )


def test_a_term_has_one_translation_which_no_other_term_has():
    english, chinese, unused = zip(*terms(), strict=True)
    assert len(english) == len(set(english)) >= 80
    assert len(chinese) == len(set(chinese))
    refused = [word for words in unused for word in words]
    assert len(refused) == len(set(refused))
    assert not [word for word in refused for term in chinese if word in term]


@pytest.mark.parametrize("page", PAIRS.values())
def test_a_page_has_no_other_translation_of_a_term(page):
    refused = {word: chinese for _, chinese, words in terms() for word in words}
    assert not [
        f"{page}:{line} has {word}, which the glossary calls {chinese}"
        for line, text in enumerate(prose(page).splitlines(), start=1)
        for word, chinese in refused.items()
        if word in text
    ]


@pytest.mark.parametrize("english", PAIRS)
def test_a_term_of_a_page_is_in_its_translation(english):
    text, translation = prose(english), prose(PAIRS[english])
    text = re.sub(LINK, "]", text).replace("Windows", "")  # the system
    assert not [
        f"{english} has {term}, {PAIRS[english]} lacks {chinese}"
        for term, chinese, _ in terms()
        if re.search(rf"(?<![\w-]){term}s?(?![\w-])", re.sub(r"\s+", " ", text), re.IGNORECASE)
        and chinese not in translation
    ]

"""The table of fixed texts is complete, its texts agree, and Chinese is told where it is asked."""

import ast
import re
from collections import Counter
from pathlib import Path
from string import Formatter

import pytest
import yaml

from attnexp.core.language import (
    TABLE,
    Text,
    capitalized,
    counted,
    joined,
    numbered,
    said,
    say,
    speaking,
    stored,
    translate,
)

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "attnexp"
TEXTS = yaml.safe_load(TABLE.read_text())
IN_SCRIPTS = re.compile(r"""\b(?:say|counted)\((?:\w+ (?:>|===) [^?]+\? )?"((?:[^"\\]|\\.)*)\"""")
"""A call of a script with the text that it says."""


def forms(node):
    """Yield the literal texts that an argument can be."""
    if isinstance(node, ast.IfExp):
        yield from forms(node.body)
        yield from forms(node.orelse)
    else:
        yield ast.literal_eval(node)


def said_in_python():
    """Yield the texts that the package says, with their files."""
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text())
        imported = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "attnexp.core.language"
            for alias in node.names
        }
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            if node.func.id in imported & {"said", "say", "counted"}:
                yield from ((form, path.name) for form in forms(node.args[0]))


def said_in_scripts():
    for path in (PACKAGE / "report" / "template").glob("*.js"):
        yield from ((form, path.name) for form in IN_SCRIPTS.findall(path.read_text()))


def places(text):
    return Counter(name for _, name, _, _ in Formatter().parse(text) if name is not None)


def test_every_text_that_is_said_is_in_the_table_and_no_other():
    used = dict([*said_in_python(), *said_in_scripts()])
    assert {form: file for form, file in used.items() if form not in TEXTS} == {}
    assert [form for form in TEXTS if form not in used] == []


def test_the_table_has_at_most_420_texts():
    assert len(TEXTS) <= 420


@pytest.mark.parametrize("form", TEXTS)
def test_a_text_has_the_same_values_in_both_languages(form):
    assert places(TEXTS[form]) == places(form)
    without = re.sub(r"\{\w+\}|JavaScript", "", TEXTS[form])
    assert not re.search("[A-Za-z]{2,}", without)


@pytest.mark.parametrize("form", TEXTS)
def test_a_text_has_no_translation_that_the_glossary_refuses(form):
    glossary = (ROOT / "docs" / "zh" / "glossary.md").read_text()
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (.*?) ?\|$", glossary, flags=re.MULTILINE)
    assert len(rows) > 80
    refused = [word for _, _, words in rows[1:] for word in words.split("、") if word]
    assert [word for word in refused if word in TEXTS[form]] == []
    assert TEXTS[form] == {one: two for one, two, _ in rows[1:]}.get(form, TEXTS[form])


def test_a_text_is_english_and_knows_its_chinese():
    lowest = said("the lowest {metric}", metric="mse")
    text = said("{rows} has {extreme}, {value}", rows="dot", extreme=lowest, value=1)
    assert text.en == "dot has the lowest mse, 1"
    assert text.zh() == "dot 的 mse 最低，为 1"


@pytest.mark.parametrize(
    ("note", "chinese"),
    [
        (
            "nothing was trained: model=gaussian has no parameters here",
            "没有训练：model=gaussian 在这里没有参数",
        ),
        ("a sentence that no form of the table fits", None),
        ("7 of 50 test queries have no training point in reach: they are answered as x says", None),
    ],
)
def test_a_stored_sentence_is_chinese_by_the_form_that_it_fits(note, chinese):
    assert stored(note).en == note
    if chinese is not None:
        assert stored(note).zh() == chinese
    elif note[0].isdigit():
        assert {*re.findall(r"\w+", stored(note).zh(), re.ASCII)} == {"50", "7", "x"}
    else:
        assert stored(note).zh() == note


def test_texts_are_joined_in_both_languages():
    text = joined(said("; "), [said("loss"), "lr", numbered(said("layer"), 2)])
    assert (text.en, text.zh()) == ("loss; lr; layer 2", "损失；lr；层 2")


def test_a_count_has_a_plural_in_english_alone():
    one, two = counted("{count} run", 1), counted("{count} run", 2)
    assert (one.en, one.zh(), two.en, two.zh()) == ("1 run", "1 次运行", "2 runs", "2 次运行")


def test_a_capital_is_english():
    text = capitalized(said("exact match"))
    assert isinstance(text, Text)
    assert (text.en, text.zh()) == ("Exact match", "完全匹配")
    assert capitalized("val_BLEU") == "Val_BLEU"
    assert capitalized("") == ""


def test_a_text_is_told_in_the_language_of_the_block():
    assert say("epoch") == "epoch"
    with speaking("zh"):
        assert say("epoch") == translate(said("epoch")) == "迭代周期"
        assert translate("epoch") == "epoch"  # a name that somebody gave
        with speaking("en"):
            assert say("epoch") == "epoch"
    assert type(say("epoch")) is str


def test_a_value_is_never_read_as_a_form():
    text = said("{what}: {text}", what="{x}", text=said("{count} more", count="{0}"))
    assert (text.en, text.zh()) == ("{x}: {0} more", "{x}：另外 {0} 项")


def test_a_text_that_the_table_lacks_has_no_chinese():
    with pytest.raises(KeyError, match="unheard"):
        _ = said("unheard").zh()
    assert isinstance(said("unheard"), Text)


@pytest.mark.parametrize("use", [str, "{}".format, "a %s".__mod__, ", ".join, "a ".__add__, print])
def test_a_text_of_two_languages_is_no_string(use):
    """Whatever would keep its English alone is refused."""
    with pytest.raises(TypeError):
        use(said("epoch"))


def test_an_f_string_refuses_a_text_and_names_the_remedy():
    with pytest.raises(TypeError, match=r"^Text\('epoch'\) .*`translate` gives it in one$"):
        _ = f"{said('epoch')}"  # type: ignore[misc]

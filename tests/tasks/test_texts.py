"""Metrics of what a model writes, held against cases worked out by hand."""

import sys
from typing import Any

import pytest
from sacrebleu import corpus_bleu, corpus_chrf

from attnexp.tasks.texts import Texts, error_rate
from attnexp.tasks.translation import Translation, tokenizer_of


def test_edits_are_counted_to_the_nearest_reference():
    assert error_rate(["abc"], [["abd"]]) == 1 / 3
    assert error_rate(["", "ab"], [["ab"], ["ab"]]) == 2 / 4
    assert error_rate(["abc"], [["xyz", "abcd"]]) == 1 / 4
    assert error_rate([["A", "BB"]], [[["A"], ["A", "B", "C"]]]) == 1


def test_a_text_that_is_right_has_the_best_of_everything():
    right = Texts(["the cat is black ."], [("the cat is black .",)])
    assert Translation().measure_texts(right) == pytest.approx(
        {"bleu": 100, "chrf": 100, "character_error_rate": 0}
    )


def test_references_of_different_number_are_those_of_each_answer():
    answers = ["the cat is very black", "a dog runs in the garden"]
    first = ["the cat is black", "the dog runs in the garden"]
    second: list[Any] = ["the cat is very dark", None]
    measured = Translation().measure_texts(
        Texts(answers, [tuple(filter(None, own)) for own in zip(first, second, strict=True)])
    )
    assert measured["bleu"] == corpus_bleu(answers, [first, second]).score
    assert measured["chrf"] == corpus_chrf(answers, [first, second]).score
    assert 0 < measured["bleu"] < 100


def test_chance_of_bleu_is_that_of_right_answers_to_other_sources():
    references = ["the cat is very black", "the cat is very white", "we see the sea again"]
    texts = Texts(["a", "b", "c"], [(each, "unlike") for each in references])
    moved = [references[1], references[2], references[0]]
    expected = corpus_bleu(moved, [references, ["unlike"] * 3]).score
    assert Translation().measure_texts(texts)["bleu_chance"] == expected
    assert 0 < expected < 100


def test_bleu_of_text_without_spaces_needs_its_own_words():
    chinese = Texts(["我喜欢黑猫"], [("我喜欢白猫",)])
    assert Translation(tokenize="13a").measure_texts(chinese)["bleu"] == 0
    assert Translation(tokenize="zh").measure_texts(chinese)["bleu"] > 0


@pytest.mark.parametrize(
    ("text", "tokenize"),
    [
        ("Elle a un grand bateau blanc.", "13a"),
        ("Она видит белую лодку.", "13a"),
        ("나는 검은 고양이를 좋아한다.", "13a"),
        ("我喜欢用 Python 写的黑猫程序和你也喜欢的白狗。", "zh"),
        ("Python 3.14 我 喜 Zürich", "13a"),
        ("私は黒い猫が好きです。", "char"),
        ("ฉันชอบแมวดำ", "char"),
        ("ຂ້ອຍມັກແມວດໍາ", "char"),
        ("ខ្ញុំចូលចិត្តឆ្មាខ្មៅ", "char"),
        ("ကျွန်တော်ကြောင်အမည်းကိုကြိုက်တယ်", "char"),
        ("ང་བྱི་ལ་ནག་པོ་ལ་དགའ།", "char"),
        ("1 2 3", "13a"),
    ],
)
def test_the_words_of_bleu_follow_the_script_of_the_targets(text, tokenize):
    assert tokenizer_of([text]) == tokenize
    texts = Texts([text[:-1]], [(text,)])
    assert Translation().measure_texts(texts) == Translation(tokenize=tokenize).measure_texts(texts)
    named = f"task.tokenize={tokenize}"
    assert [named in note for note in Translation().text_notes(texts)] == [True] * (
        tokenize != "13a"
    )


@pytest.mark.parametrize("tokenize", ["intl", "zh", "char", "none"])
def test_words_that_were_asked_for_are_used_and_named(tokenize):
    task, texts = Translation(tokenize=tokenize), Texts(["a, b c d"], [("a , b c d",)])
    expected = corpus_bleu(["a, b c d"], [["a , b c d"]], tokenize=tokenize).score
    assert task.measure_texts(texts)["bleu"] == expected
    (note,) = task.text_notes(texts)
    assert note == f"bleu uses task.tokenize={tokenize}: compare it only with bleu that does too"


def test_chinese_that_is_nearly_right_has_nearly_all_of_bleu():
    right = ["我喜欢黑猫和白狗。", "他昨天在城里买了一本新书。", "我们明天去看大海。"]
    written = [*right[:2], "我们明天去看大山。"]
    texts = Texts(written, [(each,) for each in right])
    assert Translation().measure_texts(texts)["bleu"] > 85
    (note,) = Translation(tokenize="13a").text_notes(texts)
    assert "task.tokenize=zh suits it" in note


@pytest.mark.parametrize("package", ["sacrebleu", "rapidfuzz", "regex"])
def test_without_a_package_one_sentence_says_how_to_get_it(refused, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    assert refused("data=reverse", "task=translation") == (
        f"attnexp: task=translation needs the package {package}: pip install 'attnexp[text]'\n"
    )

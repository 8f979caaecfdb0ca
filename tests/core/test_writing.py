"""How texts are made of symbols."""

import pytest

from attnexp.core.writing import SEPARATED, Characters, Spaced, Words, plain


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        ("Don't panic, it's 3.14!", ["Don't", "panic", ",", "it's", "3.14", "!"]),
        ("Où est-il…", ["Où", "est-il", "…"]),
        ("«Bonjour» (hi)", ["«", "Bonjour", "»", "(", "hi", ")"]),
        ("我喜欢猫。", ["我", "喜", "欢", "猫", "。"]),
        ("मैं घर जाता हूँ।", ["मैं", "घर", "जाता", "हूँ", "।"]),
        ("مرحبا، كيف؟", ["مرحبا", "،", "كيف", "؟"]),
        ("안녕하세요 세계.", ["안녕하세요", "세계", "."]),
    ],
)
def test_words_of_any_script_stand_apart_from_punctuation_and_are_joined_again(text, symbols):
    assert Words().split(text) == symbols
    assert Words().join(symbols) == text


def test_characters_keep_spaces_and_symbols_between_spaces_keep_punctuation():
    assert Characters().split("a b,") == ["a", " ", "b", ","]
    assert Characters().join(["a", " ", "b"]) == "a b"
    assert Spaced().split(" a,b  c. ") == ["a,b", "c."]
    assert Spaced().join(["a,b", "c."]) == "a,b c."
    assert SEPARATED.split("3,1, 4") == ["3", "1", "4"]


@pytest.mark.parametrize("writing", [Characters(), Words(), Spaced()])
def test_two_encodings_of_a_letter_are_one_symbol(writing):
    assert writing.split("e\u0301") == writing.split("\u00e9") == ["\u00e9"]


def test_white_space_of_every_kind_is_one_space():
    assert plain(" a\t\u00a0\u3000b ") == "a b"

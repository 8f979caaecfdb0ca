"""The page takes texts apart and puts them together as Python does."""

import random
import unicodedata

import pytest
from interpreted import TEMPLATE, in_node, needs_node

from attnexp.core.writing import SEPARATED, Characters, Spaced, Words

WRITINGS = {
    "separated": SEPARATED,
    "spaced": Spaced(),
    "characters": Characters(),
    "words": Words(),
}

TEXTS = (
    "Don't panic, it's 3.14!",
    "Où est-il… aujourd'hui ? «Là-bas», l\u2019été",
    "五一一一一",
    "我喜欢猫。《红楼梦》\uff0c第3回\uff1a“好”\uff01",
    "カタカナとひらがな、漢字を「書く」。ラーメン・寿司 〇々",
    "안녕하세요 세계. 서울에서 3시",
    "한글(漢字) mixed中文and英文 in一起 v2.0",
    "3,1, 4 1,000.50 -7 10% 5° ½ ٣٤ \uff11\uff12\uff13",
    "¿Qué? ¡Sí! (a) [b] {c} snake_case a--b 'q'",
    "मैं घर जाता हूँ। مرحبا، كيف؟ שלום ไทย",
    "e\u0301a\u0308 \u00c5\u212b \u1112\u1161\u11ab \uac00\u11a8",
    "a\tb\u00a0c\u3000d\u2009e\x1cf\x85g\ufeffh\u200bi\u200dj\r\nk",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    " \U0001f44d\U0001f3fd\U0001f1eb\U0001f1f7\U0001f1ef\U0001f1f5"
    " \u2764\ufe0f \U00020000\U0001d538",
    " \u0301 a \u0301. \u0301",
    "",
    "  ",
)  # fmt: skip

UNUSED = {"Cn", "Cs"}
"""The categories of places without a character, and of halves of pairs."""

RUN = """
    const Writings = require(process.argv[1]);
    const jobs = JSON.parse(require("fs").readFileSync(0, "utf8"));
    const found = jobs.map(([name, way, given]) => Writings[name][way](given));
    process.stdout.write(JSON.stringify(found));
"""


def mixed(count):
    """Texts of pieces of the others in any order."""
    draw = random.Random(0)
    pieces = [text[i : i + 3] for text in TEXTS for i in range(len(text))]
    return ["".join(draw.choices(pieces, k=draw.randint(1, 12))) for _ in range(count)]


def by_page(jobs):
    return in_node(jobs, "-e", RUN, TEMPLATE / "writings.js")


@pytest.mark.check
@needs_node
@pytest.mark.parametrize("name", WRITINGS)
def test_a_text_has_the_same_symbols_and_these_the_same_text(name):
    writing, texts = WRITINGS[name], [*TEXTS, *mixed(2000)]
    found = by_page([[name, "split", text] for text in texts])
    expected = [writing.split(text) for text in texts]
    assert [*zip(texts, found, strict=True)] == [*zip(texts, expected, strict=True)]
    joined = by_page([[name, "join", symbols] for symbols in expected])
    assert joined == [writing.join(symbols) for symbols in expected]


@pytest.mark.slow
@pytest.mark.check
@needs_node
def test_each_character_is_put_next_to_others_as_by_python():
    # Characters that are newer than this Python may be newer than Node's Unicode too.
    characters = [c for c in map(chr, range(0x30000)) if unicodedata.category(c) not in UNUSED]
    for others in (("猫", "猫"), ("a", "b")):
        lists = [[others[0], character, others[1]] for character in characters]
        found = by_page([["words", "join", symbols] for symbols in lists])
        wrong = [
            symbols
            for symbols, text in zip(lists, found, strict=True)
            if text != WRITINGS["words"].join(symbols)
        ]
        assert wrong == []

"""Any text is a value, what Hydra reads by itself stays as it is, and slips are told from it."""

import random

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, QuotedString
from hydra.errors import HydraException

from attnexp.config.words import check_forms, readable
from attnexp.core.errors import RequestError

REFUSED = object()

TEXTS = [
    "温度.csv",
    "données d'été.csv",
    "נתונים לחודש",
    "e\N{COMBINING ACUTE ACCENT}te\N{COMBINING ACUTE ACCENT}",
    "\N{GRINNING FACE}",
    "a\N{IDEOGRAPHIC SPACE}b",
    "my file.csv",
    "a (1).csv",
    "speed (m/s)",
    "map[1].csv",
    "~/a#b&c.csv",
    "C:\\数据\\b",
    "${oc.env:HOME}/数据",
]

WITHOUT_MEANING = [
    "x=[1,é",
    "x=é]",
    "x='é",
    "x='é'b",
    "x=(é)",
    "x=[é=1]",
    "x=é,b=c",
    "x=é seed=2",
    "x=choise(é)",
    "x=speed(m/s)",
    "x=range(1,é)",
    "x=é,,b",
    "x={a: é}",
    "x=[[é],b]",
    "x=choice(é,b)",
    "é=1",
    "é",
    "[é]",
]


def value_of(word):
    """Return the value that Hydra alone reads, plain, or REFUSED."""
    try:
        return plain(OverridesParser.create().parse_override(word).value())
    except HydraException:
        return REFUSED


def plain(value):
    """Return a value with text in place of quoted text, and the list of a sweep."""
    if isinstance(value, QuotedString):
        return value.text
    if isinstance(value, ChoiceSweep):
        return ("sweep", value.simple_form, sorted(value.tags), plain(value.list))
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return value if isinstance(value, str | int | float | bool | None) else vars(value)


@pytest.mark.parametrize("text", TEXTS)
def test_any_text_is_a_value_an_entry_and_a_value_of_a_sweep(text):
    assert value_of(readable(f"data.path={text}")) == text
    assert value_of(readable(f"+a={text} ")) == text
    assert value_of(readable(f"a=[{text}, b,'{{']")) == [text, "b", "{"]
    assert value_of(readable(f"a={text},b")) == ("sweep", True, [], [text, "b"])


def test_a_backslash_at_the_end_is_text():
    assert value_of(readable("a=C:\\é\\")) == "C:\\é\\"


@pytest.mark.parametrize("text", ["runs/lr=0.1", "a=b=c", "été=1", "runs/lr=${optim.lr}"])
def test_an_equals_sign_is_part_of_a_single_value(text):
    assert value_of(readable(f"output_dir={text}")) == text


@pytest.mark.parametrize("word", WITHOUT_MEANING)
def test_a_word_with_several_meanings_or_none_is_left_to_be_refused(word):
    assert readable(word) == word
    assert value_of(word) is REFUSED


@pytest.mark.parametrize("seed", range(20))
def test_what_hydra_reads_stays_as_it_is(seed):
    draw = random.Random(seed)
    pieces = [
        *"ab01.-+/\\:$%*@?|_ ,,=[](){}'\"",
        "\t",
        "\\,",
        "${a}",
        "choice(",
        "null",
        "1e3",
        "é",
    ]
    words = ["a=" + "".join(draw.choices(pieces, k=draw.randrange(9))) for _ in range(60)]
    words += [f"{draw.choice(['', '+', '++', '~'])}a.b={drawn(draw, 3)}" for _ in range(40)]
    read = [word for word in words if value_of(word) is not REFUSED]
    assert len(read) > 40
    assert [readable(word) for word in read] == read


@pytest.mark.parametrize("seed", range(20))
def test_a_letter_beyond_ascii_is_read_as_another_letter_is(seed):
    """Hydra alone reads a word with Q, and the same word has é in its place."""
    draw = random.Random(seed)
    for _ in range(30):
        parts = ",".join(drawn(draw, 0) for _ in range(draw.randrange(1, 3)))
        word = f"a={draw.choice(['[{}]', '{}']).format(parts)}"
        expected = value_of(word)
        assert expected is not REFUSED, word
        assert repr(value_of(readable(word.replace("Q", "é")))) == repr(expected).replace("Q", "é")


def drawn(draw, depth):
    """Return a value of Hydra's grammar, in which Q is a letter of text."""
    kind = draw.randrange(4 + 3 * (depth > 0))
    blank = draw.choice(["", "", " "])
    if kind == 4:
        return f"[{blank}{','.join(drawn(draw, depth - 1) for _ in range(draw.randrange(3)))}]"
    if kind == 5:
        return f"{{{blank}k:{drawn(draw, depth - 1)},l{blank}:{blank}{drawn(draw, depth - 1)}}}"
    if kind == 6:
        return f"str({text(draw)}{blank})"
    return blank + (draw.choice(["'Q,\\'['", '"a\\\\"', "1", "null"]) if kind == 0 else text(draw))


def text(draw):
    """Return text without quotes, in which no character has a meaning but by its backslash."""
    middle = [*"abQQ/.-+*|?@%:", "\\b", " ", "\\,", "\\=", "\\(", "\\]", "\\:", "\\\\", "${a:Q}"]
    return "x" + "".join(draw.choices(middle, k=draw.randrange(6))) + draw.choice("Qz")


FINE = [
    ["model=dot", "seed=0"],
    ["model=dot,cosine", "seed=range(5)", "data_seed=0,1"],
    ["model=glob(*)", "model=glob([d*,c*])"],
    ["experiment=[mine,yours]", "optim.betas=[0.9,0.98]"],
    ["output_dir=2020-2021", "data.path=a:b", "data.path='C:x'"],
    ["tracker.name=", "seed=1"],
    ["tracker.name=", "~optim.lr"],
    ["arch@other:here=rnn"],
    ["~optim.lr", "+a.b=c==d"],
    ["train", "model=dot"],
    ["seed=" + "1" * 5000 + "-" + "2" * 5000],
]


@pytest.mark.parametrize("words", FINE, ids=str)
def test_what_hydra_reads_or_refuses_itself_is_left_to_it(words):
    check_forms(words)


def test_a_long_value_is_shortened():
    with pytest.raises(RequestError) as refused:
        check_forms(["model==" + "x" * 5000])
    assert len(str(refused.value)) < 200

"""Files of two columns: what is read of them, and what is said of those that cannot be read."""

import hashlib

import pytest

from attnexp.data.pair_files import read_pairs


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Reads a file of this content."""
    monkeypatch.chdir(tmp_path)

    def pairs(content, name="my.tsv", source=1, target=2):
        content = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).write_bytes(content)
        return read_pairs(name, hashlib.sha256(content).hexdigest(), source, target)

    return pairs


def test_lines_of_two_texts_with_a_tab_between(read):
    pairs = [('hi "x', "salut"), ("你好 , b", "안녕")]
    assert read('\ufeffhi "x\tsalut\r\n 你好 , b\t안녕 \n') == pairs


def test_csv_has_quotes_and_names_of_columns(read):
    content = 'id,en,fr\n1,"hi, you","salut, toi"\n2,a,b\n'
    expected = [("salut, toi", "hi, you"), ("b", "a")]
    assert read(content, "my.csv", source="fr", target="en") == expected
    assert read(content[9:], "my.csv", source=3, target=2) == expected
    tabs = "en\tfr\nhi\tsalut\n"
    assert read(tabs, source="fr", target="en") == [("salut", "hi")]


def test_empty_lines_and_further_columns_are_passed_over(read):
    assert read("a\tb\tc\n\n\t\nd\te\n") == [("a", "b"), ("d", "e")]


@pytest.mark.parametrize(
    ("content", "settings", "sentence"),
    [
        ("", {}, "my.tsv holds no pair of texts"),
        ("\n\n", {}, "my.tsv holds no pair of texts"),
        (
            b"a\tb\nc\t\xe9\n",
            {},
            "my.tsv, line 2: it is not UTF-8, perhaps it is Latin-1 or Windows-1252: save the file "
            "as UTF-8",
        ),
        (
            "a\tb\nc, d\n",
            {},
            "my.tsv, line 2: tabs separate columns, and there is no column 2: 'c, d'",
        ),
        ("a\tb\n\td\n", {}, "my.tsv, line 2: the source is empty"),
        ("a\tb\nc\t \n", {}, "my.tsv, line 2: the target is empty"),
        (
            "a\tb\nc\x00\td\n",
            {},
            "my.tsv, line 2: not a text file, it holds a byte of value 0",
        ),
        (
            "a\tb\n" + "x" * 10**6 + "\td\n",
            {},
            "my.tsv, line 2: it cannot be read: field larger than field limit (131072)",
        ),
        (
            "en,fr\na,b\n",
            {"name": "my.csv", "source": "en", "target": "de"},
            "my.csv has no column 'de'. Its first line names en, fr",
        ),
        (
            'a,"b\n',
            {"name": "my.csv"},
            "my.csv, line 1: it cannot be read: unexpected end of data",
        ),
        (
            "a\tb\n",
            {"source": "en"},
            "source and target must both be names of columns or both be numbers, got 'en' and 2",
        ),
        ("a\tb\n", {"source": 0}, "the columns of a file are numbered from 1, got 0"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str | bytes) else "",
)
def test_what_cannot_be_read_is_said_with_its_line(read, content, settings, sentence):
    with pytest.raises(ValueError) as raised:
        read(content, **settings)
    assert str(raised.value) == sentence

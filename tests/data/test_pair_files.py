"""Files of two columns: what is read of them, and what is said of those that cannot be read."""

import hashlib
import re

import pytest

from attnexp.data.pair_files import read_pairs


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Reads the pairs of a file of this content."""
    monkeypatch.chdir(tmp_path)

    def pairs(content, name="my.tsv", source=1, target=2):
        content = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).write_bytes(content)
        return read_pairs(name, hashlib.sha256(content).hexdigest(), source, target)[0]

    return pairs


def test_lines_of_two_texts_with_a_tab_between(read):
    pairs = [('hi "x', "salut"), ("你好 , b", "안녕")]
    assert read('\ufeffhi "x\tsalut\r\n 你好 , b\t안녕 \n') == pairs


def test_csv_has_quotes_and_names_of_columns(read):
    content = 'id,en,fr\n1,"hi, you","salut, toi"\n2,a,b\n'
    expected = [("salut, toi", "hi, you"), ("b", "a")]
    assert read(content, "my.csv", source="fr", target="en") == expected
    tabs = "en\tfr\nhi\tsalut\n"
    assert read(tabs, source="fr", target="en") == [("salut", "hi")]


def test_empty_lines_and_further_columns_are_passed_over(read):
    content = "a\tb\tc\n\n  \nd\te\tf\n\ng\th\ti"
    filled = [line.split("\t") for line in content.splitlines() if line.strip()]
    assert read(content) == [(first, second) for first, second, _ in filled]
    assert read(content, source=3, target=1) == [(third, first) for first, _, third in filled]


def test_a_side_may_be_empty_and_of_any_length(read):
    content = "a\tb\n\td\nc\t \n\t\n" + "x " * 10**6 + "\td\n"
    lines = [line.split("\t") for line in content.splitlines()]
    assert read(content) == [(a.strip(), b.strip()) for a, b in lines]
    assert read("a,b\n" + "x" * 10**6 + ",d\n", "my.csv")[1] == ("x" * 10**6, "d")


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        ("Yes {}, I know,Oui {} je sais", 3),
        ("yes {},oui {},", 3),
        (" {}, yes, oui,{}", 4),
        ('"Yes {}, I know",Oui, {}', 3),
    ],
)
@pytest.mark.parametrize("columns", [{}, {"source": 2, "target": 3}, {"source": 2, "target": 1}])
def test_more_than_two_columns_between_commas_have_names(read, line, cells, columns):
    content = "".join(line.format(i, i) + "\n" for i in range(60))
    with pytest.raises(ValueError) as raised:
        read(content, "my.csv", **columns)
    assert str(raised.value) == (
        f"my.csv: its first line has {cells} cells, separated by commas: put quotes around texts "
        "that hold commas, or names of columns into the first line and into data.source and "
        "data.target"
    )
    assert len(read(content.replace(",", "\t").replace('"', ""), "my.tsv", **columns)) == 60


@pytest.mark.parametrize("line", [1, 2, 30])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("opens", "closes"),
    [
        ('"x,mot x', 'y","z"'),
        ('x,"mot x', 'y,z"'),
        ('"x,mot x', 'y",z,"z"'),
        ('"x","mot x', '"'),
        ('"x', 'y",z'),
    ],
)
@pytest.mark.parametrize("head", ["", "\n\n", "en,fr\n"])
def test_a_cell_of_several_lines_is_refused_with_its_first(read, line, end, opens, closes, head):
    """One open quote would make a pair of all lines up to the next quote."""
    lines = [*head.splitlines(), *(f"yes {i},oui {i}" for i in range(40))]
    line += len(head.splitlines())
    lines[line - 1], lines[line + 8] = opens, closes
    columns = {"source": "en", "target": "fr"} if head.strip() else {}
    with pytest.raises(ValueError) as raised:
        read(end.join(lines), "my.csv", **columns)
    assert str(raised.value).startswith(f"my.csv, line {line}: a quote that opens here closes on")


@pytest.mark.parametrize("line", [2, 3, 30, 60])
@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(
    ("separator", "name", "stray"),
    [
        (",", "my.csv", "Yes 1, I know word1.,Oui 1 je sais mot1."),
        (",", "my.csv", "yes"),
        (",", "my.csv", "yes,oui,"),
        ("\t", "my.tsv", "Yes\tI know\tOui"),
        ("\t", "my.tsv", "Yes, oui"),
        ("\t", "my.tsv", "Yes\toui\t"),
    ],
)
def test_a_line_of_other_cells_is_refused_with_its_line(read, line, named, separator, name, stray):
    lines = [f"yes {i}{separator}oui {i}" for i in range(1, 61)]
    lines[line - 1] = stray
    columns = {"source": "en", "target": "fr"} if named else {}
    lines = [f"en{separator}fr", *lines] if named else lines
    first, counts = len(lines[0].split(separator)), [len(each.split(separator)) for each in lines]
    other, *also = [i + 1 for i, count in enumerate(counts) if count != first]
    told = " (also 3, 4, 5 and 56 more)" if len(also) == 59 else ""
    assert bool(also) == bool(told)
    with pytest.raises(ValueError) as raised:
        read("\n".join(lines), name, **columns)
    assert str(raised.value) == (
        f"{name}, line {other}{told}: it has {counts[other - 1]} cells, and the first line "
        f"{first}; cells are separated by {'commas' if separator == ',' else 'tabs'}"
    )


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ([7], "line 7: it has"),
        ([7, 30], "line 7 (also 30): it has"),
        ([7, 30, 31, 40], "line 7 (also 30, 31 and 40): it has"),
        (range(7, 20), "line 7 (also 8, 9, 10 and 9 more): it has"),
    ],
)
def test_all_lines_of_other_cells_are_told_at_once(read, bad, told):
    lines = ["a\tb\tc" if line in bad else "a\tb" for line in range(1, 51)]
    with pytest.raises(ValueError, match=re.escape(f"my.tsv, {told}")):
        read("\n".join(lines), "my.tsv")


def test_all_quotes_that_close_on_later_lines_are_told_at_once(read):
    with pytest.raises(ValueError, match=r"my\.csv, line 2 \(also 5\): a quote that opens here"):
        read('a,b\na,"b\nc"\na,b\n"a\nb",c\na,b\n', "my.csv")


def test_every_line_in_which_the_comma_is_not_quoted_is_no_pair(read):
    lines = [f"Yes {i}, I know word{i}.,Oui {i} je sais mot{i}." for i in range(60)]
    with pytest.raises(
        ValueError, match=r"^my\.csv, line 2 \(also .*\): it has 3 cells, and the first line 2"
    ):
        read("en,fr\n" + "\n".join(lines), "my.csv", source="en", target="fr")


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
            "my.tsv, line 2: it has 1 cells, and the first line 2; cells are separated by tabs",
        ),
        (
            "a\nc\n",
            {},
            "my.tsv has no column 2: its first line has 1 cells, separated by tabs",
        ),
        (
            "a\tb\nc\td\n",
            {"target": 3},
            "my.tsv has no column 3: its first line has 2 cells, separated by tabs",
        ),
        (
            "a,b\nc,d\n",
            {},
            "my.tsv: its columns seem to be separated by commas: save it with tabs, or let its "
            "name end in .csv",
        ),
        (
            '"a, b";b\nc;"d, e"\n',
            {"name": "my.csv"},
            "my.csv: its columns seem to be separated by semicolons: save it with commas",
        ),
        (
            "en\tfr\nc\td\n",
            {"name": "my.csv", "source": "en", "target": "fr"},
            "my.csv: its columns seem to be separated by tabs: save it with commas",
        ),
        (
            "a\tb\nc\x00\td\n",
            {},
            "my.tsv, line 2: not a text file, it holds a byte of value 0",
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
        (
            "a\tb\n",
            {"source": 0},
            "my.tsv has no column 0: its first line has 2 cells, separated by tabs",
        ),
    ],
    ids=lambda value: value[:20] if isinstance(value, str | bytes) else "",
)
def test_what_cannot_be_read_is_said_with_its_line(read, content, settings, sentence):
    with pytest.raises(ValueError) as raised:
        read(content, **settings)
    assert str(raised.value) == sentence


SENTENCES = (
    ["Guten Tag", "", 'a\tb, "c', "x\u2028y\x85z", "e\rf", " viel "],
    [
        "Good day",
        "empty",
        "",
        "one",
        "two",
        "much",
    ],
)


@pytest.fixture
def parallel(tmp_path, monkeypatch):
    """Reads two files of these lines."""
    monkeypatch.chdir(tmp_path)

    def pairs(*texts, source=1, target=2):
        for name, text in zip(("a.de", "a.en"), texts, strict=True):
            (tmp_path / name).write_bytes(text.encode())
        digests = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
        return read_pairs(["a.de", "a.en"], digests, source, target)[0]

    return pairs


@pytest.mark.parametrize(("end", "last"), [("\n", ""), ("\n", "\n"), ("\r\n", "\r\n")])
def test_lines_of_two_files_are_pairs_whatever_they_hold(parallel, end, last):
    expected = [(one.strip(), other) for one, other in zip(*SENTENCES, strict=True)]
    first, second = (end.join(lines) + last for lines in SENTENCES)
    assert parallel(first, second) == expected
    assert parallel(first, second, source=2, target=1) == [pair[::-1] for pair in expected]


@pytest.mark.parametrize(
    ("texts", "columns", "sentence"),
    [
        (
            ("a\nb\nc\n", "a\nb\n"),
            {},
            "a.de has 3 lines, and a.en 2: each line of one must be the translation of the same "
            "line of the other",
        ),
        (
            ("a\n", "a\n\n"),
            {},
            "a.de has 1 lines, and a.en 2: each line of one must be the translation of the same "
            "line of the other",
        ),
        (("", ""), {}, "[a.de,a.en] holds no pair of texts"),
        (
            ("a\n", "b\n"),
            {"target": 3},
            "[a.de,a.en] has no column 3: 1 is a.de, and 2 is a.en",
        ),
        (
            ("a\n", "b\n"),
            {"source": "de", "target": "en"},
            "[a.de,a.en] has no column 'de': 1 is a.de, and 2 is a.en",
        ),
        (("a\n", "\0\n"), {}, "a.en, line 1: not a text file, it holds a byte of value 0"),
    ],
)
def test_two_files_that_are_not_parallel_are_refused(parallel, texts, columns, sentence):
    with pytest.raises(ValueError) as raised:
        parallel(*texts, **columns)
    assert str(raised.value) == sentence


def test_one_path_has_one_digest_and_two_have_two(parallel, read):
    parallel("a\n", "b\n")
    for path, sha256, sentence in (
        (["a.de"], ["0"], "path must be a file, or two files of parallel lines, got 1"),
        (3 * ["a.de"], 3 * ["0"], "path must be a file, or two files of parallel lines, got 3"),
        ("a.de", ["0", "0"], "path must be a file, or two files of parallel lines, got 1"),
        (["a.de", "a.en"], "0", "sha256 must be a digest of each file in [a.de,a.en], got '0'"),
        (["a.de", "a.en"], ["0"], "sha256 must be a digest of each file in [a.de,a.en], got ['0']"),
    ):
        with pytest.raises(ValueError) as raised:
            read_pairs(path, sha256, 1, 2)
        assert str(raised.value) == sentence
    with pytest.raises(ValueError, match=r"^a\.de is not the file that was asked for"):
        read_pairs(["a.de", "a.en"], ["0", "0"], 1, 2)
    with pytest.raises(ValueError, match=r"of parallel lines are data\.path=\[a\.de,a\.en\]$"):
        read("I\tje\n", source="a.de", target="a.en")

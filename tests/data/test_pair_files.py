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
    content = "a\tb\tc\n\n  \nd\te\tf\n\ng\th\ti"
    filled = [line.split("\t") for line in content.splitlines() if line.strip()]
    assert read(content) == [(first, second) for first, second, _ in filled]
    assert read(content, source=3, target=1) == [(third, first) for first, _, third in filled]


def test_a_side_may_be_empty_and_of_any_length(read):
    content = "a\tb\n\td\nc\t \n\t\n" + "x " * 10**6 + "\td\n"
    lines = [line.split("\t") for line in content.splitlines()]
    assert read(content) == [(a.strip(), b.strip()) for a, b in lines]
    assert read("a,b\n" + "x" * 10**6 + ",d\n", "my.csv")[1] == ("x" * 10**6, "d")


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
    other = next(i for i, count in enumerate(counts) if count != first)
    with pytest.raises(ValueError) as raised:
        read("\n".join(lines), name, **columns)
    assert str(raised.value) == (
        f"{name}, line {other + 1}: it has {counts[other]} cells, and the first line {first}; "
        f"cells are separated by {'commas' if separator == ',' else 'tabs'}"
    )


def test_every_line_in_which_the_comma_is_not_quoted_is_no_pair(read):
    lines = [f"Yes {i}, I know word{i}.,Oui {i} je sais mot{i}." for i in range(60)]
    with pytest.raises(ValueError, match=r"^my\.csv, line 2: it has 3 cells, and the first line 2"):
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
            "my.tsv, line 1: tabs separate columns, and there is no column 2: 'a'",
        ),
        (
            "a\tb\nc\td\n",
            {"target": 3},
            "my.tsv, line 1: tabs separate columns, and there is no column 3: 'a'",
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
        ("a\tb\n", {"source": 0}, "the columns of a file are numbered from 1, got 0"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str | bytes) else "",
)
def test_what_cannot_be_read_is_said_with_its_line(read, content, settings, sentence):
    with pytest.raises(ValueError) as raised:
        read(content, **settings)
    assert str(raised.value) == sentence

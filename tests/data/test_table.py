import re

import numpy as np
import pandas as pd
import pytest
import torch

from attnexp.core.batch import in_units
from attnexp.data import memory
from attnexp.data.table import Table
from attnexp.runs.sources import digest

GOOD = "".join(f"{i},{i * i}\n" for i in range(10))


@pytest.fixture
def table(tmp_path, generator):
    """Makes a table from the content of a file."""

    def make(content, x=("a",), y="b", seed=0, **settings):
        path = tmp_path / "my.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return Table(generator(seed), str(path), str(digest(str(path))), list(x), y, **settings)

    return make


def test_columns_are_found_by_name_and_split_at_random(table):
    content = 'b,what,"c, d (€)",a\n' + "".join(f"{i},x,{2 * i},{i}\n" for i in range(10))
    data = table(content, x=["a", "c, d (€)"], test=0.3)
    assert (data.train.keys.shape, data.test.queries.shape) == ((1, 7, 2), (1, 3, 2))
    rows = torch.cat(
        [
            torch.cat([in_units(x, data.spec.x), in_units(y, data.spec.y)], dim=-1)[0]
            for x, y in (
                (data.train.keys, data.train.values),
                (data.test.queries, data.test.targets),
            )
        ]
    )
    assert rows[:, 0].sort().values.round().tolist() == list(range(10))
    torch.testing.assert_close(rows[:, 1], 2 * rows[:, 0], atol=1e-5, rtol=0)
    torch.testing.assert_close(rows[:, 2], rows[:, 0], atol=1e-5, rtol=0)


def test_a_fifth_of_the_rows_is_held_out_by_the_seed(table):
    first, same, other = (
        in_units(data.test.queries, data.spec.x).flatten().round().tolist()
        for data in (table("a,b\n" + GOOD, seed=seed) for seed in (0, 0, 1))
    )
    assert len(first) == 2
    assert first == same != other


def test_columns_are_standardised_by_the_training_rows(table):
    data = table("a,b\n" + GOOD)
    for numbers, (column,) in ((data.train.keys, data.spec.x), (data.train.values, data.spec.y)):
        assert numbers.mean().item() == pytest.approx(0, abs=1e-6)
        assert numbers.std(correction=0).item() == pytest.approx(1, abs=1e-6)
        whole = np.arange(10.0) if column.name == "a" else np.arange(10.0) ** 2
        assert (column.low, column.median, column.high) == (
            whole.min(),
            np.median(whole),
            whole.max(),
        )
        assert column.rounded(0.1 + 1e-9) == 0.1


def test_training_hides_each_row_from_itself_and_keys_ascend(table):
    data = table("a,b\n" + GOOD)
    count = len(data.train)
    assert data.train.mask.matrix.equal(~torch.eye(count, dtype=torch.bool))
    assert (data.train.keys[0, :, 0].diff() > 0).all()
    assert data.train.queries.equal(data.train.keys)
    assert data.test.keys.equal(data.train.keys)
    assert (data.validation, data.test.mask) == (None, None)


def test_the_same_table_whatever_stands_around_its_numbers(table):
    plain = table("a,b\n" + GOOD)
    for content in (
        "\ufeffa,b\r\n" + GOOD.replace("\n", "\r\n"),
        "a,b\n\n" + GOOD + "\n\n",
        '"a",b,note\n' + GOOD.replace("\n", ',"two\nlines"\n'),
    ):
        assert table(content).train.keys.equal(plain.train.keys)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", " is empty: its first line should name its columns"),
        ("a,b\n", ": a table must have at least 4 rows, got 0"),
        ("a,b\n1,2\n3,4\n5,6\n", ": a table must have at least 4 rows, got 3"),
        (f"a,B\n{GOOD}", " has no column 'b'. Its first line names a, B"),
        (f"a,bb,c\n{GOOD}", " has no column 'b'. Did you mean 'bb'? Its first line names a, bb, c"),
        *(
            (
                content,
                f": its columns seem to be separated by {word}s: save it with commas, or add data"
                f".separator={word}",
            )
            for content, word in (
                ("a;b\n1,5;2,5\n", "semicolon"),
                ('"a";"b"\n1;2\n', "semicolon"),
                ('"a, (m)";"b"\n1;2\n', "semicolon"),
                ("\n\na\tb\n\n1\t2\n", "tab"),
                ("a|b\n1|2\n", "bar"),
                ("\ufeffa;b", "semicolon"),
            )
        ),
        *(
            (
                f'a,b\n{GOOD}1,"{cell}"\n',
                f", line 12: column 'b' is '{cell}', which is not a finite "
                "number: write 0.5 for 0,5",
            )
            for cell in ("1,5", "-0,25")
        ),
        (f"a,b,a\n{GOOD}", ", line 1: 2 columns are named 'a'"),
        *(
            (f"a,b\n{GOOD}1,{cell}\n", f", line 12: column 'b' is '{cell}', which is not a finite")
            for cell in ("two", "", "nan", "1_0", "-inf", "1e999")
        ),
        (f"a,b\n1,?\n{GOOD}?,?\n1,\n", ", line 2 (also 13 and 14): column 'b' is '?', which is"),
        (f"a,b\n{GOOD}nan,1\n", ", line 12: column 'a' is 'nan', which is not a finite number"),
        *(
            (f"a,b\n{GOOD}{row}\n", f", line 12: it has {count} cells, and the first line 2; cells")
            for row, count in (("1", 1), ("1,2,3", 3))
        ),
        (
            "a,b,c\n" + GOOD.replace("\n", ',"x\ny"\n') + "1,?,\n",
            ", line 22: column 'b' is '?', which is not a finite number",
        ),
        (
            "a,b\n1,2\n1,3\n1,5\n1,7\n",
            ": column 'a' has one value, 1, in all 3 training rows: it says nothing",
        ),
        (
            "a,b\n1,2\n1e200,3\n-1e200,5\n1e300,7\n",
            ": column 'a' goes from ",
        ),
    ],
)
def test_what_is_not_a_table_of_numbers_is_refused_with_its_line(
    table, tmp_path, content, sentence
):
    with pytest.raises(ValueError) as raised:
        table(content)
    assert str(raised.value).startswith(f"{tmp_path}/my.csv{sentence}")
    assert len(str(raised.value)) < 300 + len(str(tmp_path))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"x": []}, "x must name at least one column, got []"),
        ({"x": ["a", "a"]}, "column 'a' is named twice in x and y: name each once"),
        ({"x": ["b"]}, "column 'b' is named twice in x and y: name each once"),
        ({"test": 0.0}, "{path}: test must be a share of the rows between 0 and 1, got 0.0"),
        ({"test": 1.0}, "{path}: test must be a share of the rows between 0 and 1, got 1.0"),
        (
            {"test": 0.9},
            "{path}: test=0.9 leaves 1 of 10 rows to train on: at least 2 are needed",
        ),
    ],
)
def test_settings_that_cannot_work_are_refused(table, tmp_path, settings, sentence):
    wanted = sentence.format(path=tmp_path / "my.csv")
    with pytest.raises(ValueError, match=f"^{re.escape(wanted)}$"):
        table("a,b\n" + GOOD, **settings)


def numbers_of(inputs, outputs, spec):
    """Rows of a data set in the units of the table."""
    both = [in_units(inputs, spec.x), in_units(outputs, spec.y)]
    return torch.cat(both, dim=-1)[0].double().numpy()


SERIES = [(4, 1), (9, 2), (1, 3), (7, 4), (9, 5), (2, 6), (8, 7), (3, 8), (-5, 9), (6, 0)]


@pytest.mark.parametrize(
    ("share", "tested"), [(0.1, [(9, 2), (9, 5)]), (None, [(9, 2), (9, 5)]), (0.3, SERIES[6:7])]
)
def test_the_last_rows_are_those_with_the_largest_first_x(table, share, tested):
    tested = sorted([*tested, *([(9, 2), (9, 5)] if share == 0.3 else [])])
    content = "b,a\n" + "".join(f"{b},{a}\n" for a, b in SERIES)
    first, other = (table(content, seed=s, split="last", test=share) for s in (0, 1))
    held_out = numbers_of(first.test.queries, first.test.targets, first.spec)
    kept = numbers_of(first.train.keys, first.train.values, first.spec)
    np.testing.assert_allclose(held_out, tested, atol=1e-5)
    np.testing.assert_allclose(kept, sorted(set(SERIES) - set(tested)), atol=1e-5)
    assert kept[:, 0].max() < held_out[:, 0].min()
    assert first.train.keys.mean().item() == pytest.approx(0, abs=1e-6)
    assert first.train.keys.std(correction=0).item() == pytest.approx(1, abs=1e-6)
    assert other.test.queries.equal(first.test.queries)
    assert other.train.values.equal(first.train.values)
    assert first.overlap == 0
    assert f"the {len(tested)} of 10 rows with a={tested[0][0]} or more" in first.notes[0]


@pytest.fixture
def tested_on(table, tmp_path):
    """Makes a table whose test rows are those of a file of its own."""

    def make(content, **settings):
        path = tmp_path / "later.csv"
        path.write_text(content)
        given = {"test_path": str(path), "test_sha256": digest(str(path))} | settings
        return table("a,b\n" + GOOD, **given)

    return make


def test_a_file_of_its_own_is_the_test_and_all_other_rows_train(tested_on, tmp_path):
    data = tested_on("note,b,a\nx,7,20\ny,-3,15\n,16,4\n", seed=0)
    held_out = numbers_of(data.test.queries, data.test.targets, data.spec)
    kept = numbers_of(data.train.keys, data.train.values, data.spec)
    np.testing.assert_allclose(held_out, [(20, 7), (15, -3), (4, 16)], atol=1e-4)
    np.testing.assert_allclose(kept, [(i, i * i) for i in range(10)], atol=1e-4)
    (x,), (y,) = data.spec.x, data.spec.y
    assert (x.mean, y.mean) == pytest.approx((4.5, 28.5))  # of the training rows alone
    assert data.overlap == 0
    assert data.notes[1] == (
        f"1 of the 3 rows of {tmp_path}/later.csv are rows of {tmp_path}/my.csv too, which train"
    )


@pytest.mark.parametrize(
    ("content", "settings", "sentence"),
    [
        ("a,b\n20,1\n", {"test": 0.2}, "data.test=0.2 has no effect with data.test_path="),
        ("a,b\n20,1\n", {"split": "last"}, "data.split=last has no effect with data.test_path="),
        ("a,b\n20,1\n", {"test_sha256": None}, "{later} is read only with the SHA-256 of its"),
        ("a,b\n20,1\n", {"test_sha256": "0" * 64}, "{later} is not the file that was asked for"),
        ("a,b\n20,1\n", {"test_path": None}, "data.test_sha256 has no effect without"),
        ("a,c\n20,1\n", {}, "{later} has no column 'b'. Its first line names a, c"),
        ("a,b\n20,x\n", {}, "{later}, line 2: column 'b' is 'x', which is not a finite number"),
        ("a;b\n20;1\n", {}, "{later}: its columns seem to be separated by semicolons"),
        ("a,b\n", {}, "{later} has no rows below the names of its columns"),
        ("b,a\n25,5\n4,2\n", {}, "every row of {later} is a row of {mine} too"),
    ],
)
def test_a_file_for_the_test_that_cannot_be_it_is_refused(
    tested_on, tmp_path, content, settings, sentence
):
    with pytest.raises(ValueError) as raised:
        tested_on(content, **settings)
    names = {"later": tmp_path / "later.csv", "mine": tmp_path / "my.csv"}
    assert str(raised.value).startswith(sentence.format(**names))


@pytest.mark.parametrize(
    ("content", "share", "sentence"),
    [
        ("3,1\n3,2\n3,3\n3,4\n", 0.5, "all rows with a=3 or more and leaves 0 of 4 to train on"),
        ("1,1\n2,2\n2,3\n3,4\n", 0.5, "all rows with a=2 or more and leaves 1 of 4 to train on"),
        (GOOD, 0.95, "test=0.95 leaves 0 of 10 rows to train on"),
        (GOOD, 1.5, "test must be a share of the rows between 0 and 1, got 1.5"),
        (GOOD + "nan,1\n", 0.2, "column 'a' is 'nan', which is not a finite number"),
        (GOOD + "May,1\n", 0.2, "column 'a' is 'May', which is not a finite number"),
    ],
)
def test_last_rows_that_cannot_be_held_out_are_refused(table, content, share, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        table("a,b\n" + content, split="last", test=share)


@pytest.mark.parametrize("separator", ["semicolon", "tab", "bar"])
def test_cells_are_separated_by_what_the_setting_names(table, tmp_path, separator):
    character = {"semicolon": ";", "tab": "\t", "bar": "|"}[separator]
    content = ("a,note,b\n" + GOOD.replace(",", ",some text,")).replace(",", character)
    data = table(content, separator=separator)
    frame = pd.read_csv(tmp_path / "my.csv", sep=character)
    found = [
        in_units(torch.cat([getattr(data.train, x), getattr(data.test, y)], dim=1), column)
        for x, y, column in (
            ("keys", "queries", data.spec.x),
            ("values", "targets", data.spec.y),
        )
    ]
    rows = torch.cat(found, dim=-1)[0].sort(dim=0).values.double()
    torch.testing.assert_close(rows.numpy(), frame[["a", "b"]].to_numpy(float), atol=1e-4, rtol=0)
    assert data.train.keys.equal(table("a,b\n" + GOOD).train.keys)


@pytest.mark.parametrize(
    ("header", "quote", "separator"),
    [
        ('"a", "b"', '"', None),
        ("a, b", "", None),
        ('" a", " b "', "", None),
        ('"a"; "b"', '"', "semicolon"),
        ("a\t b", "", "tab"),
        (' a |"b"', '"', "bar"),
    ],
)
def test_blanks_around_names_and_before_cells_do_not_count(table, header, quote, separator):
    between = {None: ",", "semicolon": ";", "tab": "\t", "bar": "|"}[separator]
    content = re.sub(r",(\S+)", rf"{between} {quote}\1{quote}", GOOD)
    data, plain = table(f"{header}\n{content}", separator=separator), table("a,b\n" + GOOD)
    assert (
        data.spec
        == plain.spec
        == table(f"{header}\n{content}", ["a "], " b", separator=separator).spec
    )
    for name in ("keys", "values"):
        assert getattr(data.train, name).equal(getattr(plain.train, name))
    with pytest.raises(ValueError, match="2 columns are named 'b'"):
        table("a,b, b\n1,2,3\n")


def test_a_separator_that_the_file_does_not_have_is_refused(table, tmp_path):
    with pytest.raises(ValueError) as raised:
        table("a,b\n" + GOOD, separator="tab")
    assert str(raised.value) == (
        f"{tmp_path}/my.csv: its columns seem to be separated by commas: save it with tabs, or "
        "leave out data.separator"
    )


def test_more_rows_than_the_memory_has_room_for_are_refused(table, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 100_000)
    with pytest.raises(ValueError) as raised:
        table("a,b\n" + 1000 * "1,2\n")
    assert str(raised.value) == (
        f"about 1,001 rows of {tmp_path}/my.csv need about 0.0 GB of memory, and 0.0 GB are "
        "available"
    )


@pytest.mark.parametrize(
    "cells", [("1e54", "5"), ("5", "-1e54"), ("1e40", "5"), ("1e150", "1e150")]
)
def test_a_row_of_the_test_that_32_bit_floats_cannot_hold_is_refused(table, cells):
    content = "a,b\n" + GOOD + ",".join(cells) + "\n"
    refused = 0
    for seed in range(20):
        try:
            data = table(content, seed=seed)
        except ValueError as error:
            refused += 1
            assert re.search(r"column '[ab]' has -?1e\+\d+ in a test row", str(error))  # noqa: PT017
        else:
            numbers = (data.train.keys, data.train.values, data.test.queries, data.test.targets)
            assert all(each.isfinite().all() for each in numbers)
    assert 0 < refused < 20

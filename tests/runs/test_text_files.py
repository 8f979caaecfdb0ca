"""The text of files, and what is said of bytes that are none: files of other programs."""

import bz2
import gzip
import io
import lzma
import sqlite3
import zipfile

import numpy as np
import pytest

from attnexp.runs.text_files import as_text

TABLE = "name,größe\n" + "".join(f"été {i},{i}\n" for i in range(30))
CHINESE = "甲,乙\n" + "".join(f"第{i}行的文字,好\n" for i in range(30))
UNPACK = "is compressed: unpack it"
SAVE = "save its table as CSV in UTF-8"
SPREADSHEET = f"is a workbook of a spreadsheet: {SAVE}"


def zipped(*names):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, TABLE)
    return file.getvalue()


def database(folder):
    with sqlite3.connect(folder / "a.db") as connection:
        connection.execute("create table runs (a, b)")
    connection.close()
    return (folder / "a.db").read_bytes()


def saved():
    file = io.BytesIO()
    np.save(file, np.arange(3))
    return file.getvalue()


FILES = {
    "gzip": (gzip.compress(TABLE.encode()), UNPACK),
    "bzip2": (bz2.compress(TABLE.encode()), UNPACK),
    "xz": (lzma.compress(TABLE.encode()), UNPACK),
    "zip": (zipped("runs.csv"), UNPACK),
    "xlsx": (zipped("[Content_Types].xml", "xl/workbook.xml"), SPREADSHEET),
    "ods": (zipped("application/vnd.oasis.opendocument.spreadsheet"), SPREADSHEET),
    "xls": (bytes.fromhex("d0cf11e0a1b11ae1") + bytes(500), SPREADSHEET),
    "parquet": (b"PAR1\x15\x04\nPAR1", f"is in the format Parquet: {SAVE}"),
    "npy": (saved(), f"is a file of arrays: {SAVE}"),
    "pdf": (b"%PDF-1.7\n", f"is a PDF: {SAVE}"),
    "page": (b"\n<!DOCTYPE html>\n<title>a", "is a web page: download the file itself"),
    "UTF-16": (TABLE.encode("utf-16"), "is UTF-16: save the file as UTF-8"),
    "UTF-16 of the other order": (
        b"\xfe\xff" + TABLE.encode("utf-16-be"),
        "is UTF-16: save the file as UTF-8",
    ),
    "UTF-32": (TABLE.encode("utf-32"), "is UTF-32: save the file as UTF-8"),
}


@pytest.mark.parametrize(("content", "sentence"), FILES.values(), ids=FILES)
def test_a_file_of_another_format_is_refused_by_what_it_is(content, sentence):
    with pytest.raises(ValueError) as raised:
        as_text("my.csv", content)
    assert str(raised.value) == f"my.csv {sentence}"


def test_a_database_is_refused_by_what_it_is(tmp_path):
    with pytest.raises(ValueError, match=rf"^my\.csv is a database of SQLite: {SAVE}$"):
        as_text("my.csv", database(tmp_path))


@pytest.mark.parametrize(
    ("text", "encoding", "likely", "line"),
    [
        (TABLE, "latin-1", "Latin-1 or Windows-1252", 1),
        ("a,b\n" + TABLE, "cp1252", "Latin-1 or Windows-1252", 2),
        (CHINESE, "gbk", "GBK or another encoding of East Asia", 1),
        ("\n\n" + CHINESE, "gb18030", "GBK or another encoding of East Asia", 3),
    ],
)
def test_another_encoding_is_refused_with_its_line(text, encoding, likely, line):
    with pytest.raises(ValueError) as raised:
        as_text("my.csv", text.encode(encoding))
    assert str(raised.value) == (
        f"my.csv, line {line}: it is not UTF-8, perhaps it is {likely}: save the file as UTF-8"
    )


def test_utf_16_without_a_mark_is_not_text():
    with pytest.raises(ValueError, match=r"^my\.csv, line 1: not a text file, it holds a byte of"):
        as_text("my.csv", b"a,b\n1,2\n".decode().encode("utf-16-le"))
    with pytest.raises(ValueError, match=r"^my\.csv, line 2: not a text file"):
        as_text("my.csv", b"a,b\n1,\0\n")


@pytest.mark.parametrize("text", ["", TABLE, CHINESE, "PAR1,PAR2\n1,2\n", "BZh9,b\n", "PK,b\n"])
def test_text_in_utf_8_is_read_with_and_without_a_mark(text):
    assert as_text("my.csv", text.encode()) == text
    assert as_text("my.csv", text.encode("utf-8-sig")) == text

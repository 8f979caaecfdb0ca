"""The text of a file that somebody brings: UTF-8, or a sentence on its format."""

import re
from pathlib import Path

PACKED = "compressed: unpack it"
CSV = "save its table as CSV in UTF-8"
SPREADSHEET = f"a workbook of a spreadsheet: {CSV}"
ARRAYS = f"a file of arrays: {CSV}"
UTF_8 = "save the file as UTF-8"

FORMATS = (
    (rb"\x1f\x8b|BZh[1-9]1AY&SY|\xfd7zXZ\0|\x28\xb5\x2f\xfd|7z\xbc\xaf\x27\x1c", PACKED),
    (rb"PK\x03\x04(?=.*(xl/workbook|opendocument\.spreadsheet))", SPREADSHEET),
    (rb"\xd0\xcf\x11\xe0", SPREADSHEET),
    (rb"PK\x03\x04", PACKED),
    (rb"PAR1.*PAR1\Z", f"in the format Parquet: {CSV}"),
    (rb"ARROW1\0", f"in the format Arrow: {CSV}"),
    (rb"SQLite format 3\0", f"a database of SQLite: {CSV}"),
    (rb"\x93NUMPY|\x89HDF", ARRAYS),
    (rb"%PDF-", f"a PDF: {CSV}"),
    (rb"\s*(?i:<!doctype html|<html)", "a web page: download the file itself"),
    (rb"version https://git-lfs", "a pointer of Git LFS: get the file itself by git lfs pull"),
    (rb"\xff\xfe\0\0|\0\0\xfe\xff", f"UTF-32: {UTF_8}"),
    (rb"\xff\xfe|\xfe\xff", f"UTF-16: {UTF_8}"),
)
"""The beginnings of content of other formats, as patterns, each with the end of a message on it."""


def as_text(path: Path | str, content: bytes) -> str:
    """Return the text of a UTF-8 file, without a byte order mark.

    Raises ValueError for a file of another format, as its first bytes tell, and, with the line, for
    another encoding and for a byte of value 0.
    """
    for pattern, what in FORMATS:
        if re.match(pattern, content, re.DOTALL):
            raise ValueError(f"{path} is {what}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path}, line {line}: it is not UTF-8, perhaps it is {_likely(content)}: {UTF_8}"
        ) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise ValueError(f"{path}, line {line}: not a text file, it holds a byte of value 0")
    return text


def _likely(content: bytes) -> str:
    """Return the encoding that a file may have that is not UTF-8, in words.

    Content that is valid in GB 18030 is taken for East Asian: long text in Latin-1 is rarely valid.
    """
    try:
        content.decode("gb18030")
    except UnicodeDecodeError:
        return "Latin-1 or Windows-1252"
    return "GBK or another encoding of East Asia"

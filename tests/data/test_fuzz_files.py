"""Drawn files: data sets hold the numbers and texts that were drawn, or the file is refused.

What is expected is known from what was drawn. No test asks attnexp what a file means.
"""

import csv
import hashlib
import io
import random
import re
import unicodedata
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import torch

from attnexp.core.batch import in_units
from attnexp.data.pair_files import read_pairs
from attnexp.data.pairs import Pairs
from attnexp.data.table import Table, read_columns
from attnexp.data.text import source_text, target_text

INPUTS = 2000

TEXTS = (
    *(
        "a",
        "the cat",
        "a, b",
        'say "x"',
        '"',
        "'",
        "  blanks  ",
        "naïve café",
        "cafe\N{COMBINING ACUTE ACCENT}",
    ),
    *(
        "模型",
        "\N{GRINNING FACE}",
        "007",
        "1e5",
        "a;b",
        "a|b",
        "x\N{NO-BREAK SPACE}y",
        "\N{LINE SEPARATOR}",
        "#",
    ),
    *(
        "",
        " ",
        "a" * 300,
        "w " * 60,
        "vertical\vtab",
        "next\x85line",
        "\N{ZERO WIDTH SPACE}",
        "<b>",
    ),
)
NO_NUMBERS = (
    "",
    " ",
    "low",
    "1_000",
    "0,5",
    "inf",
    "-nan",
    "1e400",
    "0x10",
    "1 2",
    "--",
    "1e",
    "½",
)


@pytest.fixture
def place():
    """A folder in memory if there is one."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


def drawn(seed, inputs=INPUTS):
    for number in range(inputs):
        yield number, random.Random(f"{seed} {number}")


def put(path, content):
    """Write a file anew, and return its digest."""
    path.unlink(missing_ok=True)
    path.write_bytes(content)
    return hashlib.sha256(content).hexdigest()


def encoded(rng, text):
    """Return text as bytes, and whether they are that text in UTF-8."""
    encoding = rng.choice(["utf-8"] * 8 + ["utf-8-sig", "utf-16", "utf-16-le", "gbk", "latin-1"])
    try:
        content = text.encode(encoding)
    except UnicodeEncodeError:
        content = text.encode()
    try:
        found = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content, False
    if b"\0" in content:
        return content, False
    return content if found == text else text.encode(), True  # GBK may be UTF-8 of another text


def joined(rng, lines, delimiter=",", quoted=True):
    """Return lines of cells as text with some end of line, and some empty lines."""
    end = rng.choice(["\n", "\r\n", "\r"])
    text = ""
    for cells in lines:
        if quoted:
            line = io.StringIO(newline="")
            minimal = csv.QUOTE_ALL if any("\n" in cell for cell in cells) else csv.QUOTE_MINIMAL
            quoting = rng.choice([minimal, csv.QUOTE_ALL])
            csv.writer(line, delimiter=delimiter, lineterminator="", quoting=quoting).writerow(
                cells
            )
            text += line.getvalue() + end
        else:
            text += delimiter.join(cells) + end
        text += end * (rng.random() < 0.05)
    return text if rng.random() < 0.8 else text.removesuffix(end)


def refuses(make):
    with pytest.raises(ValueError, match=r"\A[^\n]+\Z"):
        make()


# ---- data=table -------------------------------------------------------------------------------


def number(rng):
    value = rng.choice(
        [rng.uniform(-9, 9), float(rng.randrange(1000)), 10 ** rng.uniform(-300, 300)]
    )
    cells = [repr(value), f" {value!r} ", f"{value:+.17e}", f"0{value!r}", f"{value!r}\t"]
    if value.is_integer() and value < 1e300:
        cells += [str(int(value)), f"{int(value)}.", f"{int(value)}E0"]
    return value, rng.choice(cells if value >= 0 else [repr(value), f"\t{value!r}"])


@pytest.mark.check
def test_tables(place):
    read, path = 0, place / "my.csv"
    for place_of, rng in drawn("table"):
        columns = rng.sample(["a", "b", "größe", "c, d (€)", "x y", 'q"'], rng.randrange(2, 5))
        named = rng.sample(columns, 2)
        separator = rng.choice([None, None, "semicolon", "tab", "bar"])
        delimiter = {None: ",", "semicolon": ";", "tab": "\t", "bar": "|"}[separator]
        rows = [{name: number(rng) for name in columns} for _ in range(rng.randrange(4, 12))]
        if separator == "tab":  # quotes have no meaning there
            rows = [{n: (v, cell.strip()) for n, (v, cell) in row.items()} for row in rows]
        lines = [[cell for _, cell in row.values()] for row in rows]
        faulty = rng.choice(["cell", "width", "twice", "name"]) if rng.random() < 0.15 else None
        header = [*columns]
        if faulty == "cell":
            rng.choice(lines)[columns.index(named[0])] = rng.choice(NO_NUMBERS)
        if faulty == "width":
            line = rng.choice(lines)
            line[:] = [*line, "1"] if rng.random() < 0.5 or len(line) < 3 else line[1:]
        if faulty == "twice":
            header[columns.index(named[0])] = header[columns.index(named[1])]
        asked = ["absent", named[1]] if faulty == "name" else named
        text = joined(rng, [header, *lines], delimiter, quoted=separator != "tab")
        content, is_table = encoded(rng, text)
        if faulty or not is_table:
            refuses(partial(read_columns, "my.csv", content, asked, separator))
            continue
        read += 1
        found = read_columns("my.csv", content, asked, separator)
        assert found.tolist() == [[row[name][0] for name in asked] for row in rows]
        if place_of % 10 == 0:
            is_moderate = all(1e-18 < abs(v) < 1e18 for row in rows for v, _ in row.values())
            generator, sha256 = torch.Generator().manual_seed(0), put(path, content)
            try:
                data = Table(
                    generator, str(path), sha256, [named[0]], named[1], separator=separator
                )
            except ValueError as error:
                if is_moderate or "\n" in str(error):
                    raise
                continue
            sets = ((data.train.keys, data.train.values), (data.test.queries, data.test.targets))
            assert all(side.isfinite().all() for each in sets for side in each)
            if not is_moderate:
                continue
            got = [
                pair
                for x, y in sets
                for pair in zip(
                    in_units(x, data.spec.x).flatten().tolist(),
                    in_units(y, data.spec.y).flatten().tolist(),
                    strict=True,
                )
            ]
            due = sorted((row[named[0]][0], row[named[1]][0]) for row in rows)
            ours, theirs = zip(*sorted(got), strict=True), zip(*due, strict=True)
            for own, other, column in zip(ours, theirs, data.spec.x + data.spec.y, strict=True):
                assert own == pytest.approx(other, rel=1e-4, abs=1e-5 * column.deviation)
    assert read > INPUTS / 2


# ---- data=pairs -------------------------------------------------------------------------------


def nfc(text):
    return " ".join(unicodedata.normalize("NFC", text).split())


@pytest.mark.check
def test_pairs(place):
    read = 0
    for place_of, rng in drawn("pairs"):
        form = rng.choice(["tsv", "csv", "parallel"])
        pairs = [(rng.choice(TEXTS), rng.choice(TEXTS)) for _ in range(rng.randrange(3, 15))]
        pairs += [rng.choice(pairs) for _ in range(rng.randrange(3))]
        pairs += [(rng.choice(pairs)[0], rng.choice(TEXTS)) for _ in range(rng.randrange(3))]
        rng.shuffle(pairs)
        further = rng.choice(TEXTS)
        lines = [[a, b, *[further] * (form != "parallel")] for a, b in pairs]
        faulty = form != "parallel" and rng.random() < 0.1
        named = form == "csv" or (form == "tsv" and rng.random() < 0.3)
        columns = ("from", "to") if named else (1, 2)
        paths: Any
        sha256: Any
        if faulty:
            line = lines[rng.randrange(1, len(lines))]
            line[:] = [*line, "more"] if rng.random() < 0.5 else line[:2]
        elif form == "csv" and rng.random() < 0.1:
            rng.choice(lines)[rng.randrange(3)], faulty = "line\nbreak", True
        header = [["from", " to", "rest"]] if named else []
        if form == "parallel":
            sides = ["".join(f"{line[side]}\n" for line in lines) for side in (0, 1)]
            if rng.random() < 0.2:
                sides = [side.replace("\n", "\r\n") for side in sides]
            if rng.random() < 0.1:
                sides[0], faulty = sides[0] + "one more\n", True
            contents, are_text = zip(*(encoded(rng, side) for side in sides), strict=True)
            paths = [str(place / name) for name in ("my.de", "my.en")]
            sha256 = [put(Path(p), c) for p, c in zip(paths, contents, strict=True)]
            is_text = all(are_text)
        else:
            text = joined(rng, [*header, *lines], "," if form == "csv" else "\t", form == "csv")
            content, is_text = encoded(rng, text)
            paths = str(place / f"my.{form}")
            sha256 = put(place / f"my.{form}", content)
        if faulty or not is_text:
            refuses(partial(read_pairs, paths, sha256, *columns))
            continue
        read += 1
        found, _ = read_pairs(paths, sha256, *columns)
        assert found == [(a.strip(), b.strip()) for a, b in pairs]
        if place_of % 10 == 0:
            settings: dict[str, Any] = {
                "source": columns[0],
                "target": columns[1],
                "level": "whitespace",
            }
            hold_pairs(pairs, partial(Pairs, torch.Generator(), paths, sha256, **settings))
    assert read > INPUTS / 2


def hold_pairs(pairs, make):
    """Hold the sets, and the numbers in the notes, against the pairs that were drawn."""
    whole = [(nfc(a), nfc(b)) for a, b in pairs]
    filled = [pair for pair in whole if all(pair)]
    short = [pair for pair in filled if max(len(text.split()) for text in pair) <= 50]
    if len({source for source, _ in short}) < 3:
        refuses(make)
        return
    data = make()
    known = {*data.spec.source_vocab}, {*data.spec.target_vocab}

    def seen(text, side):
        return " ".join(word if word in known[side] else "<unk>" for word in text.split())

    sets = {
        name: [
            (source_text(source, data.spec), target_text(target, data.spec))
            for source, target in zip(batch.keys, batch.targets, strict=True)
        ]
        for name, batch in (("train", data.train), ("held", data.validation), ("test", data.test))
    }
    targets = {}
    for a, b in dict.fromkeys(short):
        targets.setdefault(a, []).append(b)
    trained = {a for a, _ in sets["train"]}
    assert sorted(sets["train"]) == sorted((a, b) for a in trained for b in targets[a])
    others = {a: own for a, own in targets.items() if a not in trained}
    expected = sorted((seen(a, 0), seen(own[0], 1)) for a, own in others.items())
    assert sorted(sets["held"] + sets["test"]) == expected
    assert {*data.references} <= {tuple(own) for own in others.values()}
    counts = {
        "have an empty side": len(whole) - len(filled),
        "have a side of more than": len(filled) - len(short),
        "repeat another one": len(short) - len({*short}),
    }
    for words, count in counts.items():
        notes = [re.match(r"[\d,]+", note)[0] for note in data.notes if words in note]
        assert notes == [str(count)] * bool(count)

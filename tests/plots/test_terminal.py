import io
import unicodedata

import numpy as np
import pytest
from rich.console import Console

from attnexp.plots.terminal import Terminal, draw_curve, draw_map
from attnexp.runs.attention import Map, MapAxis

PLAIN = Terminal(colour=False, unicode=False, width=24)
UNICODE = Terminal(colour=False, unicode=True, width=24)
COLOURS = Terminal(colour=True, unicode=True, width=20)


def symbols(name, text):
    return MapAxis(name, np.arange(len(text)), symbols=tuple(text))


def numbers(name, values):
    return MapAxis(name, np.arange(len(values)), numbers=np.array(values, dtype=float))


def test_a_straight_line_is_drawn_as_one():
    lines = draw_curve(np.array([1.0, 3.0]), np.array([0.0, 2.0]), 5, PLAIN)
    assert [line[:3] for line in lines] == ["2 |", "  |", "  |", "  |", "0 |", "   "]
    picture = np.array([list(line[3:].ljust(21)) for line in lines[:-1]]) == "*"
    assert picture.any(axis=0).all()
    assert picture[0].nonzero()[0].min() > picture[4].nonzero()[0].max()
    assert lines[-1].split() == ["1", "3"]


@pytest.mark.parametrize("terminal", [PLAIN, UNICODE], ids=["plain", "unicode"])
def test_a_curve_stays_within_its_columns(terminal):
    y = np.exp(-np.linspace(0, 9, 500))
    lines = draw_curve(np.arange(500.0), y, 6, terminal)
    assert len(lines) == 8
    assert max(map(len, lines)) <= terminal.width
    assert lines[-1].strip() == "log scale"


def test_a_curve_leaves_out_what_is_not_finite_and_takes_one_point():
    lines = draw_curve(np.array([1.0, 2.0]), np.array([5.0, np.nan]), 4, PLAIN)
    assert any("*" in line for line in lines)
    assert draw_curve(np.array([1.0]), np.array([np.inf]), 4, PLAIN) == ["(no finite value)"]


def test_symbols_have_a_cell_each_and_the_gold_position_has_brackets():
    one = Map(
        np.array([[0.0, 1.0], [0.5, 0.5]]),
        symbols("target", "ba"),
        symbols("source", "ab"),
        np.array([1, -1]),
    )
    lines = [line.plain.rstrip() for line in draw_map(one, PLAIN)]
    assert lines[:3] == ["   a  b", "b    [@]", "a ======"]
    assert lines[3] == "weight 0  .:-=+*#%@ 1, gold position in [ ]"


def test_long_symbols_stand_upright_and_many_have_one_letter():
    one = Map(np.eye(12), symbols("target", "abcdefghijkl"), symbols("source", ["<e>"] * 12))
    lines = [line.plain for line in draw_map(one, PLAIN)]
    assert [line.strip() for line in lines[:3]] == ["<" * 12, "e" * 12, ">" * 12]
    assert lines[3].rstrip() == "a @"
    assert max(map(len, lines[:-1])) <= PLAIN.width


def test_numbers_go_upwards_and_are_reduced_to_what_fits():
    x = np.linspace(0, 5, 50)
    one = Map(np.eye(50), numbers("test x", x), numbers("training x", x))
    lines = [line.plain for line in draw_map(one, PLAIN)]
    cells = [line[6:] for line in lines[:-2]]
    assert lines[0].split()[0] == "5"
    assert lines[-3].split()[0] == "0"
    assert cells[0].rstrip().endswith("@")
    assert cells[-1].startswith("@")
    assert all(len(line) <= PLAIN.width for line in lines[:-1])
    assert len(cells) == 9


@pytest.mark.parametrize("low", [5.408e-08, -1.5e-12, 0.25, -123456.0, 1e300])
@pytest.mark.parametrize("terminal", [PLAIN, UNICODE, COLOURS], ids=["plain", "unicode", "colour"])
def test_a_number_at_an_axis_is_whole(low, terminal):
    one = Map(np.eye(12), numbers("test x", [low, *range(1, 12)]), numbers("x", range(12)))
    lines = [line.plain for line in draw_map(one, terminal)]
    assert float(lines[-3].split()[0]) == pytest.approx(low, rel=1e-3)
    assert max(map(len, lines[:-1])) <= terminal.width
    assert lines[-2].split() == ["0", "11"]


def test_colours_put_two_rows_in_a_line():
    one = Map(np.eye(4), numbers("test x", range(4)), numbers("training x", range(4)))
    lines = draw_map(one, COLOURS)
    assert [line.plain[6:] for line in lines[:2]] == ["\N{UPPER HALF BLOCK}" * 4] * 2
    top = lines[0].spans[-1].style
    assert top.color.triplet.hex == "#fde725"
    assert top.bgcolor.triplet.hex == "#440154"


def test_the_colours_are_those_of_the_other_pictures():
    import matplotlib

    from attnexp.plots.colours import viridis

    theirs = matplotlib.colormaps["viridis"]
    for share in np.linspace(0, 1, 101):
        assert np.allclose(viridis(share), 255 * np.array(theirs(share)[:3]), atol=5)
    assert viridis(-1) == viridis(0)
    assert viridis(2) == viridis(1)


def columns_of(line):
    """Return the display columns of each character, from Unicode's own table of widths."""
    columns, at = [], 0
    for character in line:
        wide = 1 + (unicodedata.east_asian_width(character) in "WF")
        taken = 0 if unicodedata.combining(character) else wide
        columns.append((character, range(at, at + taken)))
        at = columns[-1][1].stop
    return columns


def within(line, cells):
    """Return the characters of a line that begin in the columns of cells."""
    return "".join(c for c, own in columns_of(line) if own.start in cells and c.strip())


def cells_of(line, shade="@"):
    """Return the columns of the first full cell of a line."""
    columns = [own.start for character, own in columns_of(line) if character == shade]
    assert columns == list(range(columns[0], columns[-1] + 1))
    return range(columns[0], columns[-1] + 1)


KOREAN = "가나다라마바사아자차카타파하거너더러머버서어저처커터퍼허고노"
KANA = "ｱｲｳｴｵｶｷｸｹｺｻｼｽｾｿﾀﾁﾂﾃﾄﾅﾆﾇﾈﾉﾊﾋﾌﾍﾎ"
DIGITS = "\uff10\uff11\uff12"
MANY = "".join(chr(0x4E00 + i) for i in range(70))


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize(
    "text",
    [
        "三一四五",
        KOREAN[:9],
        KANA[:14],
        KOREAN,
        KANA,
        MANY,
        "a三bｱ가z",
        "abcd",
        "\uff10\uff11\uff12",
    ],
)
def test_every_cell_is_below_its_symbol(text, width):
    size = len(text)
    one = Map(np.eye(size), symbols("target", text), symbols("source", text))
    widest = Terminal.of(Console(file=io.StringIO(), width=width)).width
    lines = [line.plain for line in draw_map(one, Terminal(False, False, widest))][:-1]
    assert max(columns_of(line)[-1][1].stop for line in lines) <= min(width, 80)
    labels = {columns_of(f"{line.split()[0]}")[-1][1].stop for line in lines[1 : size + 1]}
    found = []
    for top in range(0, len(lines), size + 1):
        head, rows = lines[top], lines[top + 1 : top + 1 + size]
        assert len({columns_of(row)[-1][1].stop for row in rows}) == 1
        for i, row in enumerate(rows):
            label, own = columns_of(row.rstrip())[len(row) - len(row.lstrip())]
            assert (label, own.stop) == (text[i], max(labels))
            if "@" in row:
                found.append(within(head, cells_of(row)))
    assert "".join(found) == text


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("long", ["春夏秋冬", "안녕하세요", "ﾊﾝｶｸ", "<eos>", "cafe\u0301"])
def test_symbols_of_several_characters_are_upright_above_their_cells(long, width):
    columns = ["三", long, "ｱ", "가"]
    one = Map(np.eye(4), symbols("target", columns), symbols("source", columns))
    lines = [line.plain for line in draw_map(one, Terminal(False, False, width))][:-1]
    heads, rows = lines[:-4], lines[-4:]
    for j, symbol in enumerate(columns):
        cells = cells_of(rows[j])
        assert len(cells) == 3
        assert "".join(within(line, cells) for line in heads) == symbol
    assert len({columns_of(row)[-1][1].stop for row in rows}) == 1


def test_the_gold_position_is_explained_only_if_it_has_brackets():
    text = symbols("source", "ab" * 20)
    one = Map(np.eye(40), text, text, np.arange(40))
    assert "gold" not in draw_map(one, Terminal(False, False, 60))[-1].plain
    assert "gold" in draw_map(one, Terminal(False, False, 123))[-1].plain


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "gbk", "euc-kr", "utf-8"])
def test_a_console_that_lacks_characters_keeps_the_columns(encoding, monkeypatch):
    from attnexp.core import console
    from attnexp.plots.terminal import print_encodable

    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(console.screen, "out", Console(file=file, width=80))
    text = symbols("source", "三一가나")
    one = Map(np.eye(4), text, text)
    terminal = Terminal.of(console.screen.out)
    for line in draw_map(one, terminal):
        print_encodable(terminal, line)
    file.flush()
    lines = file.buffer.getvalue().decode(encoding).splitlines()
    assert [cells_of(row, "@") for row in lines[1:5]] == [
        range(3 + 3 * i, 6 + 3 * i) for i in range(4)
    ]
    assert {columns_of(line)[-1][1].stop for line in lines[:5]} == {15}

import numpy as np
import pytest

from attnexp.plots.terminal import Terminal, draw_curve, draw_map
from attnexp.runs.attention import Axis, Map

PLAIN = Terminal(colour=False, unicode=False, width=24)
UNICODE = Terminal(colour=False, unicode=True, width=24)
COLOURS = Terminal(colour=True, unicode=True, width=20)


def symbols(name, text):
    return Axis(name, np.arange(len(text)), symbols=tuple(text))


def numbers(name, values):
    return Axis(name, np.arange(len(values)), numbers=np.array(values, dtype=float))


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

"""Curves and heat maps as text, for a terminal.

On a terminal with colours they are those of the other pictures; elsewhere denser characters mean
more weight.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len, set_cell_size
from rich.color import Color
from rich.console import Console
from rich.style import Style
from rich.text import Text

from attnexp.core import console
from attnexp.core.console import aligned, number_text
from attnexp.core.language import translate
from attnexp.plots.colours import diverging, viridis
from attnexp.plots.lines import spans_powers
from attnexp.runs.attention import SPACE, Map, MapAxis, StoredAttention, View, has_signs, scale_end

DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""The bits of the dots of a Braille character, which is two dots wide and four high."""

HALF = "\N{UPPER HALF BLOCK}"
PLAIN = " .:-=+*#%@"
"""The characters for weights from 0 to the largest, without colours."""

BELOW = " nN"
"""The characters for weights from 0 to the most negative, without colours."""

BRACKETED = 3
"""The width, in columns, of cells that show the gold position in brackets."""

BRIGHT = 0.6
"""The share of the scale above which text on a colour is black, or white if weights are signed."""

WIDEST = 80
"""The most columns of a terminal that are used."""


@dataclass(frozen=True)
class Terminal:
    """The abilities of a terminal: colour, Unicode, and the number of columns.

    `signed` says that the weights of a map may be negative.
    """

    colour: bool
    unicode: bool
    width: int
    signed: bool = False

    @classmethod
    def of(cls, console: Console) -> "Terminal":
        """Return the abilities of a console; its width is used up to WIDEST columns."""
        unicode = console.encoding.lower().startswith("utf")
        colour = console.is_terminal and console.color_system is not None and not console.no_color
        return cls(colour, unicode, min(console.width, WIDEST))


def draw_curve(
    x: NDArray[np.float64], y: NDArray[np.float64], height: int, terminal: Terminal
) -> list[str]:
    """Return the lines of a curve through points whose x ascends, with the ends of both axes.

    Points whose y is not finite are left out.
    """
    finite = np.isfinite(y)
    x, y = x[finite], y[finite]
    if not len(y):
        return ["(no finite value)"]
    log = spans_powers(y)
    shown = np.log10(y) if log else y
    names = [number_text(float(y.max())), number_text(float(y.min()))]
    margin = max(map(len, names))
    width = max(terminal.width - margin - 2, 10)
    fine, high = (2 * width, 4 * height) if terminal.unicode else (width, height)
    lines = (_braille if terminal.unicode else _stars)(_dots(x, shown, fine, high))
    bar = "\N{BOX DRAWINGS LIGHT VERTICAL}" if terminal.unicode else "|"
    sides = [names[0], *[""] * (height - 2), names[1]]
    first, last = f"{x[0]:g}", f"{x[-1]:g}"
    empty = "\N{BRAILLE PATTERN BLANK}"
    lines = [line.replace(empty, " ") for line in lines]
    return [
        *(f"{side:>{margin}} {bar}{line}" for side, line in zip(sides, lines, strict=True)),
        " " * (margin + 2) + first + last.rjust(width - len(first)),
        *([" " * (margin + 2) + "log scale"] if log else []),
    ]


def draw_map(one: Map, terminal: Terminal) -> list[Text]:
    """Return the lines of a map: a cell for each weight of symbols, a reduced map for numbers."""
    end, beyond = scale_end(one.weights, one.weights.shape[1])
    signed = has_signs(one.weights)
    terminal = replace(terminal, signed=signed)
    one = replace(one, weights=np.nan_to_num(one.weights, nan=0.0))
    gold = False
    if one.rows.symbols and one.columns.symbols:
        cell = _cell_width(one, terminal)
        gold = one.gold is not None and cell == BRACKETED
        lines = _symbols(one, end, terminal, cell)
    else:
        lines = _numbers(one, end, terminal)
    top = f"{number_text(end)} and more" if beyond else number_text(end)
    return [*lines, _scale(top, gold, terminal)]


def draw_attention(attention: StoredAttention, view: View, terminal: Terminal) -> list[Text]:
    """Return the lines of one map, below its title.

    Raises RequestError for a view that is not stored.
    """
    resolved = attention.resolve(view, 1)
    example = resolved.examples[0]
    one = attention.map(str(resolved.attention), example, resolved.layer or 0, resolved.head)
    which = f", example {example + 1}" if len(attention.batch["keys"]) > 1 else ""
    down = f"{translate(one.rows.name)} {'downwards' if one.rows.symbols else 'upwards'}"
    return [
        Text(f"\n{attention.words(resolved).en}{which}", style="bold"),
        Text(f"{down}, {translate(one.columns.name)} across"),
        *draw_map(one, terminal),
    ]


def print_encodable(terminal: Terminal, text: Text) -> None:
    """Print a line, with `?` for each column of characters that the console cannot encode."""
    plain = text.plain.replace(SPACE, "_")
    shown = text if terminal.unicode else Text("".join(map(_encodable, plain)))
    console.screen.out.print(shown, soft_wrap=True)


def _encodable(character: str) -> str:
    try:
        character.encode(console.screen.out.encoding)
    except UnicodeEncodeError:
        return "?" * cell_len(character)
    return character


def _dots(
    x: NDArray[np.float64], y: NDArray[np.float64], fine: int, high: int
) -> NDArray[np.bool_]:
    """Return a curve as dots, (rows from the top, columns), with neighbouring columns joined."""
    at = np.interp(np.linspace(x[0], x[-1], fine), x, y)
    span = y.max() - y.min()
    rows = np.round((y.max() - at) / span * (high - 1)) if span else np.full(fine, high // 2)
    places = rows.astype(int)
    before = np.concatenate([places[:1], places[:-1]])
    low, top = np.minimum(places, before), np.maximum(places, before)
    row = np.arange(high)[:, None]
    return (row >= low) & (row <= top)


def _braille(dots: NDArray[np.bool_]) -> list[str]:
    cells = dots.reshape(dots.shape[0] // 4, 4, dots.shape[1] // 2, 2)
    codes = 0x2800 + np.einsum("rdcs,ds->rc", cells.astype(int), np.array(DOTS))
    return ["".join(map(chr, row)) for row in codes]


def _stars(dots: NDArray[np.bool_]) -> list[str]:
    return ["".join("*" if dot else " " for dot in row) for row in dots]


def _cell_width(one: Map, terminal: Terminal) -> int:
    """Return the columns of a cell: three, or those of the widest character if three do not fit."""
    if BRACKETED * len(one.columns) <= _room(one, terminal):
        return BRACKETED
    return max(map(cell_len, ["-", *"".join(one.columns.symbols)]))


def _margin(one: Map) -> int:
    """Return the columns to the left of the cells: the width of the longest symbol, and a blank."""
    return max(map(cell_len, one.rows.symbols)) + 1


def _room(one: Map, terminal: Terminal) -> int:
    return terminal.width - _margin(one)


def _symbols(one: Map, end: float, terminal: Terminal, cell: int) -> list[Text]:
    """Return the lines of a map of symbols with `cell` columns per cell.

    Keys that do not fit in a line follow below. Cells of three columns show the gold position in
    brackets.
    """
    margin, most = _margin(one), max(_room(one, terminal) // cell, 1)
    lines = []
    for first in range(0, len(one.columns), most):
        part = range(first, min(first + most, len(one.columns)))
        heads = _head([one.columns.symbols[j] for j in part], cell)
        lines += [Text(" " * margin + line) for line in heads]
        for i, symbol in enumerate(one.rows.symbols):
            line = Text(aligned(symbol, "right", margin - 1) + " ")
            for j in part:
                character, style = _cell(one.weights[i, j] / end, terminal)
                gold = one.gold is not None and one.gold[i] == j
                line.append(_bracketed(character * cell) if gold else character * cell, style)
            lines.append(line)
    return lines


def _bracketed(cell: str) -> str:
    return f"[{cell[1:-1]}]" if len(cell) == BRACKETED else cell


def _head(symbols: Sequence[str], cell: int) -> list[str]:
    """Return the lines with the symbols above the cells: across if all fit, else downwards."""
    if all(cell_len(symbol) < cell for symbol in symbols):
        return ["".join(aligned(symbol, "center", cell) for symbol in symbols)]
    upright = [_characters(symbol) for symbol in symbols]
    tall = max(map(len, upright))
    padded = [[""] * (tall - len(symbol)) + symbol for symbol in upright]
    return [
        "".join(aligned(one, "center", cell) for one in row) for row in zip(*padded, strict=True)
    ]


def _characters(symbol: str) -> list[str]:
    """Return the characters of a symbol, each together with marks behind it that take no column."""
    characters: list[str] = []
    for each in symbol:
        if characters and not cell_len(each):
            characters[-1] += each
        else:
            characters.append(each)
    return characters


def _numbers(one: Map, end: float, terminal: Terminal) -> list[Text]:
    """Return the lines of a map of numbers, reduced to fit, with rows upwards.

    In colour a line holds two rows, as a character is about twice as high as wide.
    """
    (low, high), (first, last) = _ends(one.rows), _ends(one.columns)
    whole = [] if one.rows.numbers is None else [cell_len(low), cell_len(high)]  # never cut
    margin = 1 + max([5, *whole])
    columns = min(len(one.columns), terminal.width - margin)
    step = 2 if terminal.colour and terminal.unicode else 1
    rows = min(len(one.rows), columns * step // 2)
    shown = _reduced(one.weights, rows, columns)[::-1] / end
    lines = []
    for i in range(0, rows, step):
        side = high if i == 0 else low if i + step >= rows else ""
        cut = set_cell_size(side, min(cell_len(side), margin - 1))
        line = Text(aligned(cut, "right", margin - 1) + " ")
        for j in range(columns):
            if step == 2:
                below = shown[i + 1, j] if i + 1 < rows else None
                colours = (_colour(each, terminal) for each in (shown[i, j], below))
                line.append(HALF, Style(color=next(colours), bgcolor=next(colours)))
            else:
                line.append(*_cell(shown[i, j], terminal))
        lines.append(line)
    lines.append(Text(" " * margin + first + aligned(last, "right", columns - cell_len(first))))
    return lines


def _ends(side: MapAxis) -> tuple[str, str]:
    if side.numbers is None:
        return side.symbols[0], side.symbols[-1]
    return number_text(float(side.numbers[0])), number_text(float(side.numbers[-1]))


def _reduced(weights: NDArray[np.float64], rows: int, columns: int) -> NDArray[np.float64]:
    """Return a smaller map. Each cell is the weight farthest from 0 of the block in its place."""
    row_ends = np.linspace(0, weights.shape[0], rows + 1).astype(int)[:-1]
    column_ends = np.linspace(0, weights.shape[1], columns + 1).astype(int)[:-1]
    high, low = (
        each.reduceat(each.reduceat(weights, row_ends), column_ends, axis=1)
        for each in (np.maximum, np.minimum)
    )
    return np.where(-low > high, low, high)


def _scale(end: str, gold: bool, terminal: Terminal) -> Text:
    line = Text(f"weight -{end} " if terminal.signed else "weight 0 ")
    for share in np.linspace(-1 if terminal.signed else 0, 1, 11 if terminal.signed else 10):
        line.append(*_cell(float(share), terminal))
    line.append(f" {end}" + (", gold position in [ ]" if gold else ""))
    return line


def _cell(share: float, terminal: Terminal) -> tuple[str, Style]:
    if terminal.colour:
        dark = abs(share) > BRIGHT if terminal.signed else share <= BRIGHT
        readable = (255, 255, 255) if dark else (0, 0, 0)
        return " ", Style(bgcolor=_colour(share, terminal), color=Color.from_rgb(*readable))
    if share < 0:
        return BELOW[round(min(-share, 1.0) * (len(BELOW) - 1))], Style()
    return PLAIN[round(min(share, 1.0) * (len(PLAIN) - 1))], Style()


def _colour(share: float | None, terminal: Terminal) -> Color | None:
    scale = diverging if terminal.signed else viridis
    return None if share is None else Color.from_rgb(*scale(float(share)))

"""Decoded answers next to the targets of a map."""

import pytest
from matplotlib.colors import to_hex

from attnexp.plots.answers import NOTHING, decoded_symbols
from attnexp.plots.base import Options
from attnexp.plots.maps import draw_attention
from attnexp.plots.style import WRONG
from attnexp.runs import files
from attnexp.runs.folder import load_run

DIGITS = ["<eos>", "1", "2", "12", "-"]


@pytest.mark.parametrize(
    ("target", "target_text", "decoded_text", "decoded"),
    [
        (["1", "2", "<eos>"], "1 2", "12 2", ["12", "2", "<eos>"]),
        (["1", "2", "<eos>"], "12", "2-", ["2", "-", "<eos>"]),
        (["1", "2", "<eos>"], "1 2", "1 2 1", ["1", "2", "1"]),
        (["1", "2", "<eos>"], "1 2", "12", ["12", "<eos>", NOTHING]),
        (["1", "2", "<eos>"], "12", "", ["<eos>", NOTHING, NOTHING]),
        (["1", "2"], "1 2", "2 1", ["2", "1"]),
        (["1", "2"], "1 2", "2", ["2", NOTHING]),
        (["1", "2", "<eos>"], "2 1", "2 1", []),
        (["1", "2", "<eos>"], "1 2", "1 3", []),
        (["1", "2", "<eos>"], None, None, []),
    ],
)
def test_texts_tell_the_symbols(target, target_text, decoded_text, decoded):
    assert decoded_symbols(target, target_text, decoded_text, DIGITS) == decoded


def labels(run):
    """The labels of the rows of the first map, those in red with a star."""
    ((_, figure),) = draw_attention(run, Options())
    texts = figure.axes[0].get_yticklabels()
    red = [to_hex(text.get_color()) == WRONG for text in texts]
    return [text.get_text() + "*" * one for text, one in zip(texts, red, strict=True)], figure


def test_a_wrong_symbol_is_red_with_the_decoded_one(sequence_run):
    folder = sequence_run()
    a, b, c, end = load_run(folder).attention.map("cross", 0, 0, 0).rows.symbols
    other = next(symbol for symbol in "abcde" if symbol != b)
    row = {"source": f"{c}{b}{a}", "target": f"{a}{b}{c}", "decoded": f"{a}{other}{c}", "exact": 0}
    files.write_rows(folder / files.PREDICTIONS, [row])
    shown, figure = labels(load_run(folder))
    assert shown == [a, f"{b}\N{NOT EQUAL TO}{other}*", c, end]
    assert "red: target\N{NOT EQUAL TO}decoded" in figure.texts[1].get_text()
    files.write_rows(folder / files.PREDICTIONS, [{**row, "decoded": row["target"]}])
    shown, figure = labels(load_run(folder))
    assert shown == [a, b, c, end]
    assert "decoded as the target" in figure.texts[1].get_text()


def test_without_predictions_the_labels_are_the_targets(sequence_run):
    run = load_run(sequence_run())
    shown, figure = labels(run)
    assert shown == list(run.attention.map("cross", 0, 0, 0).rows.symbols)
    assert "decoded" not in figure.texts[1].get_text()

import subprocess
import sys

import pytest

from attnexp.plots.attention import _row_length
from attnexp.plots.catalogue import draw_run
from attnexp.runs import files
from attnexp.runs.summary import read_summary

PNG = b"\x89PNG\r\n\x1a\n"


def drawn(folder):
    draw_run(folder, read_summary(folder))
    return {path.name: path.read_bytes() for path in (folder / files.FIGURES).iterdir()}


def test_a_regression_run_gets_fit_attention_and_loss(regression_run):
    files = drawn(regression_run())
    assert sorted(files) == ["attention.png", "fit.png", "loss.png"]
    assert all(content.startswith(PNG) for content in files.values())


def test_what_was_not_trained_has_no_loss(regression_run):
    assert sorted(drawn(regression_run(losses=()))) == ["attention.png", "fit.png"]


@pytest.mark.parametrize(("layers", "heads"), [(1, 1), (1, 3), (2, 2)])
def test_a_sequence_run_gets_attention_and_loss(sequence_run, layers, heads):
    assert sorted(drawn(sequence_run(layers=layers, heads=heads))) == ["attention.png", "loss.png"]


@pytest.mark.parametrize(("heads", "length"), [(1, 1), (4, 4), (6, 6), (7, 7), (8, 4), (12, 6)])
def test_many_heads_are_cut_into_equal_rows(heads, length):
    assert _row_length(heads) == length


def test_many_heads_of_regression_take_several_rows(regression_run):
    assert "attention.png" in drawn(regression_run(heads=8))


def test_the_same_run_gives_the_same_bytes(regression_run):
    folder = regression_run(heads=2)
    assert drawn(folder) == drawn(folder)


def test_hostile_symbols_and_names_are_drawn_as_they_are(sequence_run):
    hostile = sequence_run(
        vocab="$_^\\\u4e2d", choices={"model": "$x$ \\frac", "data": "<b>&", "arch": "rnn"}
    )
    assert "attention.png" in drawn(hostile)


def test_drawing_leaves_matplotlib_as_it_was_and_pyplot_alone(regression_run):
    folder = regression_run()
    code = (
        "import sys, matplotlib\n"
        "from pathlib import Path\n"
        "from attnexp.runs.summary import read_summary\n"
        "from attnexp.plots.catalogue import draw_run\n"
        "before = matplotlib.rcParams.copy()\n"
        "folder = Path(sys.argv[1])\n"
        "draw_run(folder, read_summary(folder))\n"
        "assert matplotlib.rcParams.copy() == before\n"
        "heavy = {'matplotlib.pyplot', 'torch', 'pandas'}\n"
        "assert not heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True)

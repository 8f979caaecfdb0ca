import subprocess
import sys

import pytest

from attnexp.errors import RequestError
from attnexp.plots import catalogue
from attnexp.plots.base import Picture
from attnexp.plots.catalogue import draw_comparisons, draw_run
from attnexp.plots.style import new_figure
from attnexp.runs import files
from attnexp.runs.run import load_run
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


def test_each_kind_is_there_once_and_says_why_there_may_be_none():
    names = [picture.name for picture in catalogue.PICTURES]
    assert len(set(names)) == len(names)
    assert all(picture.missing for picture in catalogue.PICTURES)


def test_a_picture_is_one_function_and_one_entry(regression_run, monkeypatch, tmp_path):
    def draw_sharpness(run, options):
        if run.has_attention:
            largest = run.attention[run.attention.main].max()
            yield "sharpness", new_figure(3, 2, run.title, f"largest weight {largest:.3f}")

    entry = Picture("sharpness", "no attention was kept", draw_sharpness)
    monkeypatch.setattr(catalogue, "PICTURES", (*catalogue.PICTURES, entry))
    folder = regression_run("kept")
    assert "sharpness.png" in drawn(folder)
    none = regression_run("none")
    (none / files.ATTENTION).unlink()
    assert "sharpness.png" not in drawn(none)
    with pytest.raises(RequestError, match="no sharpness to draw: no attention was kept"):
        catalogue.draw([load_run(none)], tmp_path, kinds=["sharpness"])


def test_runs_are_compared_by_their_folders(regression_run, tmp_path):
    folders = [regression_run(f"w{w}", settings={"model.width": w}) for w in (1.0, 2.0)]
    written = draw_comparisons(folders, tmp_path / "out")
    assert written == sorted((tmp_path / "out").iterdir(), key=written.index)
    assert [path.name for path in written] == [
        "fit.png",
        "attention.png",
        "loss.png",
        "difference.png",
    ]


def test_what_a_comparison_lacks_is_said_and_the_rest_is_drawn(regression_run, tmp_path, capsys):
    folders = [regression_run(f"s{s}", seed=s, settings={"model.width": s + 1.0}) for s in (0, 1)]
    names = [path.name for path in draw_comparisons(folders, tmp_path / "out")]
    assert names == ["fit.png", "loss.png"]
    assert "no attention: the configurations on sine have no seed in common" in (
        capsys.readouterr().out
    )

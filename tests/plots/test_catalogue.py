"""The catalogue: which pictures a run and a comparison have, and how they become files."""

import pytest
from imported import python

from attnexp.core.errors import RequestError
from attnexp.plots import catalogue
from attnexp.plots.catalogue import draw_comparisons, draw_run, figure_of
from attnexp.runs import files
from attnexp.runs.folder import load_run
from attnexp.runs.summary import read_summary
from attnexp.select.configurations import comparisons

FIT, ATTENTION, LOSS = "fit.png", "attention.png", "loss.png"


def drawn(folder):
    draw_run(folder, read_summary(folder))
    return {path.name: path.read_bytes() for path in (folder / files.FIGURES).iterdir()}


@pytest.mark.check
def test_the_pictures_of_a_regression_run_are_the_same_bytes_every_time(regression_run):
    folder = regression_run(heads=8)
    first = drawn(folder)
    assert first.keys() >= {FIT, ATTENTION, LOSS}
    assert all(content.startswith(b"\x89PNG\r\n\x1a\n") for content in first.values())
    assert drawn(folder) == first


def test_a_run_that_was_not_trained_has_no_loss(regression_run):
    names = drawn(regression_run(losses=()))
    assert FIT in names
    assert LOSS not in names


@pytest.mark.parametrize(("layers", "heads"), [(1, 1), (1, 3), (2, 2)])
def test_a_sequence_run_has_attention_and_loss_but_no_fit(sequence_run, layers, heads):
    hostile = {"model": "$x$ \\frac", "data": "<b>&", "arch": "rnn"}
    run = sequence_run(layers=layers, heads=heads, vocab="$_^\\\u4e2d", choices=hostile)
    names = drawn(run)
    assert names.keys() >= {ATTENTION, LOSS}
    assert FIT not in names


@pytest.mark.check
def test_drawing_leaves_matplotlib_as_it_was_and_pyplot_alone(regression_run):
    folder = regression_run()
    code = (
        "import sys, matplotlib\n"
        "from pathlib import Path\n"
        "from attnexp.runs.summary import read_summary\n"
        "from attnexp.plots.catalogue import draw_run\n"
        "before = matplotlib.rcParams.copy()\n"
        "draw_run(Path(sys.argv[1]), read_summary(Path(sys.argv[1])))\n"
        "assert matplotlib.rcParams.copy() == before\n"
        "assert not {'matplotlib.pyplot', 'torch', 'pandas'} & set(sys.modules)\n"
    )
    answer = python("-c", code, folder)
    assert answer.returncode == 0, answer.stderr


def test_each_kind_is_there_once_and_says_why_there_may_be_none():
    names = [picture.name for picture in catalogue.PICTURES]
    assert len(set(names)) == len(names)
    assert all(picture.missing for picture in catalogue.PICTURES)


def test_runs_are_compared_by_their_folders(regression_run, tmp_path):
    folders = [regression_run(f"w{w}", settings={"model.width": w}) for w in (1.0, 2.0)]
    written = draw_comparisons(folders, tmp_path / "out")
    assert sorted(written) == sorted((tmp_path / "out").iterdir())
    assert {path.name for path in written} >= {FIT, ATTENTION, LOSS}


FAR = "its numbers are too large or too far apart to be drawn"


@pytest.mark.first(2)
@pytest.mark.check
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    "values",
    [
        (1.7e308, 1.6e308, -1.7e308, -1.5e308),
        (1.7e308, 1.6e308, 1.7e308, 1.5e308),
        (1.7e308, 1.6e308, 1e-300, 1e-308),
        (8e307, 7e307, 0.0, -1.0),
    ],
)
def test_numbers_that_no_axis_holds_are_said_in_one_sentence(
    regression_run, tmp_path, capsys, values
):
    for place, value in enumerate(values):
        regression_run(
            f"r{place}",
            seed=place % 2,
            settings={"model.width": place // 2 + 1.0},
            metrics={"test_mse": value},
        )
    folders = [tmp_path / f"r{place}" for place in range(4)]
    names = [path.name for path in draw_comparisons(folders, tmp_path / "out")]
    assert LOSS in names
    assert "metric.png" not in names
    assert [line for line in capsys.readouterr().err.splitlines() if "metric" in line] == [
        f"note: no metric: {FAR}"
    ]
    (comparison,) = comparisons([load_run(folder) for folder in folders])
    with pytest.raises(RequestError, match=f"^no metric: {FAR}$"):
        figure_of(comparison, "metric")


@pytest.mark.first(1)
@pytest.mark.check
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("losses", [(1e300, 1.0), (1.7e308, -1.7e308), (1.7e308, 1.6e308)])
def test_losses_that_no_axis_holds_are_said_in_one_sentence(regression_run, losses):
    folder = regression_run(losses=losses)
    with pytest.raises(RequestError, match=f"^no loss: {FAR}$"):
        draw_run(folder, read_summary(folder))


def test_a_picture_that_a_comparison_lacks_is_said_and_the_rest_is_drawn(
    regression_run, tmp_path, capsys
):
    folders = [regression_run(f"s{s}", seed=s, settings={"model.width": s + 1.0}) for s in (0, 1)]
    names = [path.name for path in draw_comparisons(folders, tmp_path / "out")]
    assert {FIT, LOSS} <= set(names)
    assert ATTENTION not in names
    said = capsys.readouterr().err
    assert "no attention: the configurations on sine have no seed in common" in said

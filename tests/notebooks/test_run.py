"""A run for those who write Python: pictures by name, the model, what a notebook shows."""

import re

import numpy as np
import pytest
import torch
from conftest import ROOT
from matplotlib.figure import Figure

import attnexp
from attnexp.errors import RequestError
from attnexp.runs import files

STORED = ROOT / "tests" / "runs" / "stored"
REGRESSION, *_ = STORED.glob("gaussian_learned-*")
SEQUENCES, *_ = STORED.glob("additive-reverse-*")


def text_of(figure):
    return {text.get_text() for text in figure.findobj(match=lambda one: hasattr(one, "get_text"))}


def test_a_picture_by_its_name_or_the_first(regression_run, sequence_run):
    run = attnexp.load_run(regression_run(heads=3))
    first = run.plot()
    assert isinstance(first, Figure)
    assert text_of(first) == text_of(run.plot("fit"))
    assert "epoch" in text_of(run.plot("loss"))
    assert {"head 1", "head 3"} <= text_of(run.plot("attention"))
    only = text_of(run.plot("attention", head=2))
    assert any(text.startswith("pooling attention, head 2") for text in only)
    sequences = attnexp.load_run(sequence_run("other"))
    chosen = text_of(sequences.plot("attention", examples=(2, 4)))
    assert {"example 2", "example 4"} <= chosen
    assert "example 1" not in chosen


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (("atention",), "'atention' is none of the pictures attention, .*Did you mean 'attention'"),
        (("lengths",), "there is no lengths to draw: exact match was not measured"),
    ],
)
def test_a_picture_that_there_is_not(regression_run, asked, why):
    with pytest.raises(RequestError, match=why):
        attnexp.load_run(regression_run()).plot(*asked)


def test_a_map_that_was_not_kept(regression_run):
    run = attnexp.load_run(regression_run(heads=2))
    with pytest.raises(RequestError, match="there is no head 3: the run kept heads 1 to 2"):
        run.plot("attention", head=3)
    with pytest.raises(RequestError, match="there is no head 0"):
        run.plot("attention", head=0)


def test_a_figure_shows_itself_without_pyplot(regression_run):
    import sys

    content = attnexp.load_run(regression_run()).plot()._repr_png_()
    assert content.startswith(b"\x89PNG")
    assert "matplotlib.pyplot" not in sys.modules


def test_what_a_notebook_shows(regression_run):
    run = attnexp.load_run(regression_run(notes=("too few points",)))
    html = run._repr_html_()
    assert "<h2>gaussian on sine, seed 0</h2>" in html
    assert '<td>test_mse</td><td class="right">0.25</td>' in html
    assert "<li>too few points</li>" in html
    assert re.findall(r'<img alt="(\w+)" src="data:image/png;base64,iVBOR', html) == [
        "fit",
        "attention",
        "loss",
    ]


def test_what_a_folder_says_is_text_and_damage_is_a_sentence(regression_run):
    folder = regression_run(choices={"model": "<script>x"}, notes=("<b>",))
    (folder / files.ATTENTION).write_bytes(b"<img>")
    html = attnexp.load_run(folder)._repr_html_()
    assert "&lt;script&gt;x on sine" in html
    assert "&lt;b&gt;" in html
    assert f"<p>no attention: {folder / files.ATTENTION}" in html
    assert not {"<script>", "<b>"} & set(re.findall(r"<\w+>", html))


@pytest.mark.parametrize("folder", [REGRESSION, SEQUENCES], ids=["regression", "sequences"])
def test_the_trained_model_computes_the_stored_weights_again(folder):
    run = attnexp.load_run(folder)
    with torch.no_grad():
        weights = run.trained_model()(run.batch, need_weights=True).weights
    assert set(weights) == set(run.attention.weights)
    for name, own in weights.items():
        np.testing.assert_allclose(own, run.attention[name], atol=1e-6)


def test_code_of_others_is_not_imported(regression_run):
    run = attnexp.load_run(regression_run(settings={"model._target_": "foreign_score.Mine"}))
    with pytest.raises(RequestError, match=r"'foreign_score\.Mine', which is not attnexp's own"):
        run.trained_model()

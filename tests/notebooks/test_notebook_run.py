"""A run in Python: pictures by name, the model, its HTML."""

import re
import shutil
import sys

import numpy as np
import pytest
import torch
from conftest import ROOT

import attnexp
from attnexp.core.errors import RequestError
from attnexp.plots.style import ShownFigure
from attnexp.runs import files

STORED = ROOT / "tests" / "runs" / "stored" / "v2"


def text_of(figure):
    return {text.get_text() for text in figure.findobj(match=lambda one: hasattr(one, "get_text"))}


def test_a_picture_by_its_name_or_the_first(regression_run, sequence_run):
    before = "matplotlib.pyplot" in sys.modules  # another test may have imported it
    run = attnexp.load_run(regression_run(heads=3))
    first = run.plot()
    assert isinstance(first, ShownFigure)
    assert text_of(first) == text_of(run.plot("fit"))
    assert {"head 1", "head 3"} <= text_of(run.plot("attention"))
    only = text_of(run.plot("attention", head=2))
    assert any(text.startswith("pooling attention, head 2") for text in only)
    assert "lr" in text_of(run.plot("loss", metric="lr"))
    sequences = attnexp.load_run(sequence_run("other"))
    chosen = text_of(sequences.plot("attention", examples=(2, 4)))
    assert {"example 2", "example 4"} <= chosen
    assert "example 1" not in chosen
    assert first._repr_png_().startswith(b"\x89PNG")
    assert ("matplotlib.pyplot" in sys.modules) == before


@pytest.mark.parametrize(
    ("asked", "view", "why"),
    [
        ("atention", {}, "'atention' is not a choice. Did you mean 'attention'"),
        ("lengths", {}, "there is no lengths to draw: exact match was not measured"),
        ("attention", {"head": 3}, "there is no head 3: the run kept heads 1 to 2"),
        ("attention", {"head": 0}, "there is no head 0"),
    ],
)
def test_pictures_and_maps_that_do_not_exist(regression_run, asked, view, why):
    with pytest.raises(RequestError, match=why):
        attnexp.load_run(regression_run(heads=2)).plot(asked, **view)


def test_the_html_has_metrics_notes_and_pictures_as_text(regression_run):
    run = attnexp.load_run(regression_run(choices={"model": "<script>x"}, notes=("<b>",)))
    html = run._repr_html_()
    assert "<h2>&lt;script&gt;x on sine, seed 0</h2>" in html
    assert '<td>test_mse</td><td class="right">0.25</td>' in html
    assert "<li>&lt;b&gt;</li>" in html
    assert not {"<script>", "<b>"} & set(re.findall(r"<\w+>", html))
    pictures = re.findall(r'<img alt="(\w+)" src="data:image/png;base64,iVBOR', html)
    assert pictures == ["fit", "attention", "loss"]
    (run.folder / files.ATTENTION).write_bytes(b"<img>")
    damaged = attnexp.load_run(run.folder)._repr_html_()
    assert f"<p>no attention: {run.folder / files.ATTENTION}" in damaged


@pytest.mark.parametrize("name", ["gaussian_learned-sine", "additive-reverse"])
def test_the_trained_model_computes_the_stored_weights_again(name):
    run = attnexp.load_run(STORED / name)
    with torch.no_grad():
        weights = run.trained_model()(run.batch, need_weights=True).weights
    assert set(weights) == set(run.attention.weights)
    for name, own in weights.items():
        np.testing.assert_allclose(own, run.attention[name], atol=1e-6)


def test_code_of_a_module_is_built_only_if_it_is_named(tmp_path, monkeypatch):
    folder = tmp_path / "run"
    shutil.copytree(STORED / "gaussian_learned-sine", folder)
    summary = folder / files.SUMMARY
    own = summary.read_text().replace("attnexp.scores.gaussian.Gaussian", "named_kernel.Mine")
    summary.write_text(own)
    code = "from attnexp.scores.gaussian import Gaussian\nclass Mine(Gaussian):\n    pass\n"
    (tmp_path / "named_kernel.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    run = attnexp.load_run(folder)
    with pytest.raises(RequestError, match=r"'named_kernel\.Mine', which is not attnexp's own"):
        run.trained_model()
    assert type(run.trained_model("named_kernel").pooling.score).__name__ == "Mine"

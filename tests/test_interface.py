"""The Python interface: its names and signatures are promised, and importing it is light."""

import doctest
import inspect
import subprocess
import sys
from pkgutil import resolve_name

import pytest
import torch
from conftest import ROOT, choice_names

import attnexp
from attnexp.notebooks.run import NotebookRun
from attnexp.notebooks.runs import NotebookRuns

CALLS = {
    "AttentionPooling": "(score, value_dim, normalizer=Softmax, dropout=0.0)",
    "AttentionPooling.forward": "(self, queries, keys, values, mask=None, need_weights=True)",
    "MultiHead": (
        "(score, query_dim, key_dim=None, value_dim=None, context_dim=None, heads=1, "
        "head_dim=None, normalizer=Softmax, dropout=0.0)"
    ),
    "MultiHead.forward": "(self, queries, keys, values, mask=None, need_weights=True)",
    "load_results": "(*paths)",
    "load_run": "(path)",
    "load_runs": "(*paths)",
    "masked_softmax": "(scores, valid_lens=None)",
}

SCORES = {
    "Additive": "(query_dim, key_dim, hidden_dim=64)",
    "Average": "(query_dim, key_dim)",
    "Bilinear": "(query_dim, key_dim)",
    "Biweight": "(query_dim, key_dim, width=1.0)",
    "BiweightLearned": "(query_dim, key_dim, initial_width=None, per_dimension=False)",
    "Boxcar": "(query_dim, key_dim, width=1.0)",
    "Cosine": "(query_dim, key_dim, initial_strength=10.0)",
    "Dot": "(query_dim, key_dim)",
    "Elu": "(query_dim, key_dim)",
    "Epanechnikov": "(query_dim, key_dim, width=1.0)",
    "EpanechnikovLearned": "(query_dim, key_dim, initial_width=None, per_dimension=False)",
    "Gaussian": "(query_dim, key_dim, width=1.0)",
    "GaussianLearned": "(query_dim, key_dim, initial_width=None, per_dimension=False)",
    "Linear": "(query_dim, key_dim)",
    "Parabola": "(query_dim, key_dim, width=1.0)",
    "ParabolaLearned": "(query_dim, key_dim, initial_width=None, per_dimension=False)",
    "Polynomial": "(query_dim, key_dim, degree=2, offset=1.0)",
    "ScaledDot": "(query_dim, key_dim)",
    "Score": "(query_dim, key_dim)",
    "SquaredDot": "(query_dim, key_dim)",
    "Triweight": "(query_dim, key_dim, width=1.0)",
    "TriweightLearned": "(query_dim, key_dim, initial_width=None, per_dimension=False)",
}

NORMALIZERS = {
    "Entmax15": "(heads)",
    "LogLength": "(heads, scale=1.0)",
    "Normalizer": "(heads)",
    "Relu": "(heads)",
    "Sigmoid": "(heads, bias=None)",
    "Sink": "(heads)",
    "Softmax": "(heads)",
    "SoftmaxOne": "(heads)",
    "Sparsemax": "(heads)",
    "TopK": "(heads, k)",
}

RUN = {
    "attention": "",
    "batch": "",
    "choices": "",
    "config": "",
    "finished": "",
    "folder": "",
    "history": "",
    "metrics": "",
    "parameters": "",
    "plot": (
        "(self, name=None, *, attention=None, layer=None, head=None, examples=(), metric=None)"
    ),
    "predictions": "",
    "seed": "",
    "settings": "",
    "snapshots": "",
    "state": "",
    "title": "",
    "trained_model": "(self, *trust)",
}

RUNS = {"plot": "(self, name=None)", "skipped": "", "table": "", "where": "(self, test)"}


def call_of(thing):
    """The names of the parameters and their defaults; empty for what is not called."""
    if not callable(thing):
        return ""
    parameters = inspect.signature(thing).parameters.values()
    plain = [each.replace(annotation=inspect.Parameter.empty) for each in parameters]
    return str(inspect.Signature(plain)).replace(repr(attnexp.normalizers.Softmax), "Softmax")


def names(package):
    """The classes that a package lists and finds by their files."""
    return {name for name in dir(package) if name not in vars(package)}


def test_calls_are_those_that_are_promised():
    assert {name: call_of(resolve_name(f"attnexp.{name}")) for name in CALLS} == CALLS
    others = {"__version__", "normalizers", "scores"}
    assert set(attnexp.__all__) == {name for name in CALLS if "." not in name} | others
    assert set(attnexp.__all__) <= set(dir(attnexp))


@pytest.mark.parametrize(
    ("package", "promised", "group", "base"),
    [
        (attnexp.scores, SCORES, "model", "Score"),
        (attnexp.normalizers, NORMALIZERS, "normalizer", "Normalizer"),
    ],
    ids=["scores", "normalizers"],
)
def test_every_class_that_is_shipped_is_public(package, promised, group, base, settings_of):
    """What is promised stays. A new class is public because its file is there."""
    assert {name: call_of(getattr(package, name)) for name in promised} == promised
    shipped = {settings_of(group, name)["_target_"] for name in choice_names(group)}
    public = {
        f"{one.__module__}.{one.__name__}" for one in map(package.__getattr__, names(package))
    }
    assert shipped <= public
    assert set(promised) <= {*names(package), base}


@pytest.mark.parametrize(("kind", "promised"), [(NotebookRun, RUN), (NotebookRuns, RUNS)])
def test_a_run_and_several_have_what_is_promised(kind, promised):
    inside = {**dict.fromkeys(kind.__annotations__), **dict(inspect.getmembers(kind))}
    assert {name: call_of(inside[name]) for name in promised} == promised


def test_a_name_that_there_is_not():
    with pytest.raises(AttributeError, match="module 'attnexp' has no attribute 'maskd_softmax'"):
        _ = attnexp.maskd_softmax


@pytest.mark.parametrize(
    "public", [attnexp.masked_softmax, attnexp.AttentionPooling, attnexp.MultiHead]
)
def test_the_example_of_a_docstring_is_true(public):
    known = {name: getattr(attnexp.scores, name) for name in SCORES}
    known |= {"torch": torch, public.__name__: public}
    text = inspect.getdoc(public)
    example = doctest.DocTestParser().get_doctest(text, known, public.__name__, None, None)
    assert example.examples
    report = []
    doctest.DocTestRunner(verbose=False).run(example, out=report.append)
    assert not report, "".join(report)


def test_reading_a_run_imports_neither_torch_nor_pandas_nor_matplotlib(regression_run):
    code = (
        "import sys, attnexp\n"
        f"attnexp.load_run({str(regression_run())!r}).attention\n"
        "heavy = {'torch', 'pandas', 'matplotlib', 'hydra'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr

"""The Python interface: its names and signatures are promised, and importing it is light."""

import doctest
import inspect
from pkgutil import resolve_name

import pytest
import torch
from conftest import choice_names

import attnexp
from attnexp.estimators.local_constant import LocalConstant
from attnexp.notebooks.notebook_run import NotebookRun
from attnexp.notebooks.runs import NotebookRuns

CALLS = {
    "AttentionPooling": (
        "(score, value_dim, normalizer=Softmax, dropout=0.0, estimator=LocalConstant)"
    ),
    "AttentionPooling.forward": "(self, queries, keys, values, mask=None, need_weights=True)",
    "MultiHead": (
        "(score, query_dim, key_dim=None, value_dim=None, context_dim=None, heads=1, "
        "head_dim=None, normalizer=Softmax, dropout=0.0, estimator=LocalConstant, kv_heads=None)"
    ),
    "MultiHead.forward": "(self, queries, keys, values, mask=None, need_weights=True)",
    "add_run": (
        "(settings, metrics, *, seed=0, curve=None, better=None, name=None, output_dir='imported')"
    ),
    "load_results": "(*paths, results_version=2)",
    "load_run": "(path)",
    "load_runs": "(*paths, results_version=2)",
    "masked_softmax": "(scores, valid_lens=None)",
    "run": "(*words, config_dir=None)",
    "sweep": "(*words, config_dir=None)",
}

SCORES = (
    "Additive Average Bilinear Biweight Boxcar Cosine Dot Elu Epanechnikov Gaussian Linear "
    "Parabola Polynomial QueryKeyLayerNorm QueryKeyNorm ScaledDot Score SquaredDot Triweight"
)
NORMALIZERS = (
    "AdaptiveTemperature Asentmax Entmax Entmax15 LogLength Normalizer Relu Sigmoid Sink Softmax "
    "SoftmaxOne Sparsemax Ssmax StickBreaking TopK"
)
KERNEL = (
    "(query_dim, key_dim, width=1.0, initial_width=None, per_dimension=False, check_width=True)"
)

RUN = (
    "attention batch choices config finished folder history metrics parameters plot predictions "
    "seed settings snapshots status title trained_model"
)
PLOT = "(self, name=None, *, attention=None, layer=None, head=None, examples=(), metric=None)"
RUNS = "plot skipped table where"


def call_of(thing):
    """The names of the parameters and their defaults; empty for what is not called."""
    if not callable(thing):
        return ""
    parameters = inspect.signature(thing).parameters.values()
    plain = [each.replace(annotation=inspect.Parameter.empty) for each in parameters]
    text = str(inspect.Signature(plain))
    for named in (attnexp.normalizers.Softmax, LocalConstant):
        text = text.replace(repr(named), named.__name__)
    return text


def names(package):
    """The classes that a package lists and finds by their files."""
    return {name for name in dir(package) if name not in vars(package)}


def test_calls_are_those_that_are_promised():
    assert {name: call_of(resolve_name(f"attnexp.{name}")) for name in CALLS} == CALLS
    others = {"__version__", "normalizers", "scores"}
    assert set(attnexp.__all__) == {name for name in CALLS if "." not in name} | others
    assert set(attnexp.__all__) <= set(dir(attnexp))


@pytest.mark.parametrize(
    ("package", "promised", "group"),
    [(attnexp.scores, SCORES, "model"), (attnexp.normalizers, NORMALIZERS, "normalizer")],
    ids=["scores", "normalizers"],
)
def test_every_class_that_is_shipped_is_public(package, promised, group, settings_of):
    """What is promised stays. A new class is public because its file is there."""
    shipped = {settings_of(group, name)["_target_"] for name in choice_names(group)}
    public = {
        f"{one.__module__}.{one.__name__}" for one in map(package.__getattr__, names(package))
    }
    assert shipped <= public
    assert all(isinstance(getattr(package, name), type) for name in promised.split())


def test_a_kernel_a_run_and_several_have_what_is_promised():
    assert call_of(attnexp.scores.Gaussian) == KERNEL
    for kind, promised in ((NotebookRun, RUN), (NotebookRuns, RUNS)):
        inside = {**dict.fromkeys(kind.__annotations__), **dict(inspect.getmembers(kind))}
        assert set(promised.split()) <= set(inside)
    assert call_of(NotebookRun.plot) == PLOT


def test_a_name_that_there_is_not():
    name = "maskd_softmax"
    with pytest.raises(AttributeError, match="module 'attnexp' has no attribute 'maskd_softmax'"):
        getattr(attnexp, name)


@pytest.mark.parametrize(
    "public", [attnexp.masked_softmax, attnexp.AttentionPooling, attnexp.MultiHead]
)
def test_the_example_of_a_docstring_is_true(public):
    known = {name: getattr(attnexp.scores, name) for name in SCORES.split()}
    known |= {"torch": torch, public.__name__: public}
    text = inspect.getdoc(public) or ""
    example = doctest.DocTestParser().get_doctest(text, known, public.__name__, None, None)
    assert example.examples
    report = []
    doctest.DocTestRunner(verbose=False).run(example, out=report.append)
    assert not report, "".join(report)

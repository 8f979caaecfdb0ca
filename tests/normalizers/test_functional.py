"""Normalizers as functions: the weights of the formulas, masks, gradients and refusals."""

import importlib
import inspect
import math
import pickle
import sys

import pytest
import torch
from conftest import choice_names

from attnexp.config.schema import import_target
from attnexp.normalizers import functional

LEARNS = {"asentmax": "b, g", "sink": "s", "ssmax": "s"}
SETTINGS = {"topk": {"k": 2}}


def softmax_by_loops(scores, lengths):
    """The softmax of a batch of rows, one after the other."""
    weights = torch.zeros_like(scores)
    for row, length in enumerate(lengths):
        exponentials = [math.exp(score) for score in scores[row, 0, :length].tolist()]
        for key, each in enumerate(exponentials):
            weights[row, 0, key] = each / sum(exponentials)
    return weights


def test_a_function_has_the_weights_of_the_formula():
    generator = torch.Generator().manual_seed(2)
    scores = torch.randn(3, 1, 4, generator=generator, dtype=torch.float64)
    lengths = [4, 2, 1]
    expected = softmax_by_loops(scores, lengths)
    torch.testing.assert_close(functional.softmax(scores, torch.tensor(lengths)), expected)
    mask = torch.tensor([[[True] * 4], [[True, True, False, False]], [[True] + [False] * 3]])
    torch.testing.assert_close(functional.softmax(scores, mask=mask), expected)


@pytest.mark.parametrize(
    ("name", "settings", "expected"),
    [
        ("sparsemax", {}, [0.75, 0.25, 0.0]),
        ("entmax", {"alpha": 2.0}, [0.75, 0.25, 0.0]),
        ("relu", {}, [1 / 3, 1 / 6, 0.0]),
        ("topk", {"k": 1}, [1.0, 0.0, 0.0]),
        ("sigmoid", {"bias": 0.0}, [0.7310586, 0.6224593, 0.2689414]),
    ],
)
def test_settings_are_given_by_name(name, settings, expected):
    scores = torch.tensor([[1.0, 0.5, -1.0]])
    found = getattr(functional, name)(scores, **settings)
    torch.testing.assert_close(found, torch.tensor([expected]))


@pytest.mark.parametrize("name", choice_names("normalizer"))
def test_every_normalizer_that_ships_is_a_function_or_says_what_it_learns(name):
    function = getattr(functional, name)
    scores = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(1)).double()
    assert list(inspect.signature(function).parameters)[:2] == ["scores", "mask"]
    assert (function.__name__, name in dir(functional)) == (name, True)
    assert pickle.loads(pickle.dumps(function)) is function
    if name in LEARNS:
        with pytest.raises(ValueError, match=rf"{name} learns {LEARNS[name]}, which"):
            function(scores)
        return
    settings = SETTINGS.get(name, {})
    lengths = torch.tensor([5, 2])
    weights = function(scores, lengths, **settings)
    assert (weights[1, :, 2:] == 0).all()
    leaf = scores.requires_grad_()
    assert torch.autograd.gradcheck(lambda a: function(a, lengths, **settings), leaf)


def test_settings_that_make_a_parameter_are_refused():
    with pytest.raises(ValueError, match=r"entmax learns u, .* attnexp\.normalizers\.Entmax"):
        functional.entmax(torch.zeros(1, 2), alpha="learned")
    with pytest.raises(TypeError, match="unexpected keyword argument 'width'"):
        functional.sparsemax(torch.zeros(1, 2), width=2)


def test_the_signature_has_the_settings_of_the_class():
    found = inspect.signature(functional.entmax).parameters["alpha"]
    assert (found.default, found.kind) == (1.5, found.KEYWORD_ONLY)
    assert "Martins and Astudillo" in functional.sparsemax.__doc__


def test_modules_and_targets_are_where_they_were():
    module = importlib.import_module("attnexp.normalizers.sparsemax")
    assert module is sys.modules["attnexp.normalizers"].sparsemax
    target = import_target({"_target_": "attnexp.normalizers.sparsemax.Sparsemax"}, "normalizer")
    assert target is module.Sparsemax
    name = "sparsmax"
    with pytest.raises(AttributeError, match="functional' has no attribute 'sparsmax'"):
        getattr(functional, name)
    with pytest.raises(AttributeError):
        functional.base  # noqa: B018

"""The year's estimators next to the references of flash-linear-attention, where it is installed.

These references compute in float32; test_of_the_year.py has the definitions in float64.
"""

import pytest
import torch
import torch.nn.functional as F

from attnexp.attention.multihead import MultiHead
from attnexp.core.masks import causal_mask
from attnexp.estimators.forgetting import Forgetting
from attnexp.estimators.gated_delta import GatedDelta
from attnexp.estimators.path import Path
from attnexp.scores.dot import Dot

HEADS, LENGTH, DIM = 2, 40, 16


def reference(name, function):
    """A function of the library, or a skipped test."""
    module = pytest.importorskip(
        f"fla.ops.{name}.naive",
        reason="flash-linear-attention is not installed",
        exc_type=ImportError,
    )
    return getattr(module, function)


@pytest.fixture
def x():
    return torch.randn(3, LENGTH, DIM, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def answered(x):
    """Return an estimator with drawn parameters, its heads' queries, keys, values and answers."""

    def answers(estimator):
        torch.manual_seed(0)
        attention = MultiHead(Dot, DIM, heads=HEADS, estimator=estimator)
        with torch.no_grad():
            for parameter in attention.estimator.parameters():
                parameter.normal_(std=0.5)
        _, weights = attention(x, x, x, causal_mask(LENGTH, x.device))
        parts = [attention.split(W(x)) for W in (attention.W_q, attention.W_k, attention.W_v)]
        in_order = [part.transpose(1, 2) for part in parts]  # batch, symbols, heads, features
        return attention.estimator, in_order, (weights @ parts[2]).transpose(1, 2)

    return answers


def test_forgetting(x, answered):
    naive = reference("forgetting_attn", "naive_forgetting_attn")
    estimator, (queries, keys, values), found = answered(Forgetting)
    gates = F.logsigmoid(estimator.W_f(x))
    expected = naive(queries, keys, values, gates, scale=1.0)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_the_gated_delta_rule(x, answered):
    naive = reference("gated_delta_rule", "naive_recurrent_gated_delta_rule")
    estimator, (queries, keys, values), found = answered(GatedDelta)
    shares, gates = estimator.W_b(x).sigmoid(), F.logsigmoid(estimator.W_a(x))
    unit = F.normalize(keys, dim=-1)
    expected, _ = naive(queries, unit, values, shares, gates, scale=1.0)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_path(x, answered):
    naive = reference("path_attn", "naive_path_attn")
    estimator, (queries, keys, values), found = answered(Path)
    ways = F.normalize(estimator.W_w(x).unflatten(-1, (HEADS, -1)), dim=-1)
    shares, open_gates = 2 * estimator.W_b(x).sigmoid(), torch.zeros(3, LENGTH, HEADS)
    expected = naive(queries, keys, values, ways, shares, open_gates, scale=1.0)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)

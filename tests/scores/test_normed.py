"""Scores of normalised queries and keys, against loops and PyTorch's layers."""

import math

import pytest
import torch
from composed import prepared

from attnexp.scores.additive import Additive
from attnexp.scores.boxcar import Boxcar
from attnexp.scores.contract import SCORE_CONTRACT
from attnexp.scores.gaussian import Gaussian
from attnexp.scores.query_key_layer_norm import QueryKeyLayerNorm
from attnexp.scores.query_key_norm import QueryKeyNorm

KINDS = [QueryKeyNorm, QueryKeyLayerNorm]


def draw(rows, dim=4):
    generator = torch.Generator().manual_seed(rows)
    return 3 * torch.randn(rows, dim, generator=generator, dtype=torch.float64)


def test_a_dot_product_of_unit_vectors_by_loops():
    queries, keys = draw(3), draw(5)
    score = QueryKeyNorm(4, 4, initial_strength=2.5).double()
    found = score(queries, keys)
    for i, q in enumerate(queries.tolist()):
        for j, k in enumerate(keys.tolist()):
            lengths = math.hypot(*q) * math.hypot(*k)
            expected = 2.5 * sum(a * b for a, b in zip(q, k, strict=True)) / lengths
            assert found[i, j].item() == pytest.approx(expected, rel=1e-12)


def test_a_layer_norm_is_that_of_pytorch():
    """The scaled dot product of vectors from nn.RMSNorm, a layer norm without centring."""
    score = QueryKeyLayerNorm(4, 4).double()
    norms = [torch.nn.RMSNorm(4, eps=0.0, dtype=torch.float64) for _ in range(2)]
    with torch.no_grad():
        for gains, norm in zip((score.g_q, score.g_k), norms, strict=True):
            gains.copy_(draw(1)[0])
            norm.weight.copy_(gains)
    expected = norms[0](draw(3)) @ norms[1](draw(5)).T / 2
    torch.testing.assert_close(score(draw(3), draw(5)), expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "inner"), [("gaussian", Gaussian), ("additive", Additive)])
def test_the_inner_score_sees_what_is_normed(kind, name, inner):
    torch.manual_seed(0)
    score = kind(4, 4, inner=name).double()
    normed = [each / each.norm(dim=-1, keepdim=True) for each in (draw(3), draw(5))]
    if kind is QueryKeyLayerNorm:
        normed = [2 * each for each in normed]
    alone = inner(4, 4).double()
    alone.load_state_dict(score.inner.state_dict())
    factor = 10.0 if kind is QueryKeyNorm else 1.0
    torch.testing.assert_close(score(draw(3), draw(5)), factor * alone(*normed))


@pytest.mark.parametrize("check", SCORE_CONTRACT, ids=lambda check: check.__name__)
@pytest.mark.parametrize("inner", ["additive", "bilinear", "gaussian"])
@pytest.mark.parametrize("kind", KINDS)
def test_contract_with_other_scores_inside(check, kind, inner):
    def make(query_dim, key_dim):
        torch.manual_seed(0)
        return kind(query_dim, key_dim, inner=inner)

    check(make)


@pytest.mark.parametrize("kind", KINDS)
def test_an_unknown_or_compact_score_is_refused(kind):
    with pytest.raises(ValueError, match=r"inner of model=query_key_.* dot, .*, got 'dott'"):
        kind(4, 4, inner="dott")
    for inner in ("boxcar", Boxcar):
        with pytest.raises(ValueError, match="got Boxcar, which is minus infinity"):
            kind(4, 4, inner=inner)


def test_a_class_with_settings_comes_from_the_command_line():
    inner = "{_target_: attnexp.scores.additive.Additive, _partial_: true, hidden_dim: 5}"
    run = prepared("model=query_key_norm", f"model.inner={inner}", "data.num_train=8")
    assert run.model.pooling.score.inner.w_v.in_features == 5

"""Forgetting, the gated delta rule and PaTH next to their definitions, symbol by symbol."""

import pytest
import torch
import torch.nn.functional as F

from attnexp.attention.multihead import MultiHead
from attnexp.core.masks import causal_mask
from attnexp.estimators.delta import Delta
from attnexp.estimators.forgetting import Forgetting
from attnexp.estimators.gated_delta import GatedDelta
from attnexp.estimators.path import Path
from attnexp.normalizers.sparsemax import Sparsemax
from attnexp.scores.bilinear import Bilinear
from attnexp.scores.dot import Dot
from attnexp.scores.scaled_dot import ScaledDot

HEADS, LENGTH, DIM = 2, 12, 8


@pytest.fixture
def x():
    return torch.randn(3, LENGTH, DIM, generator=torch.Generator().manual_seed(1)).double()


def drawn(estimator, score=ScaledDot, **parts):
    """Attention with parameters of any size, gates that are half closed included."""
    torch.manual_seed(0)
    attention = MultiHead(score, DIM, heads=HEADS, estimator=estimator, **parts).double()
    with torch.no_grad():
        for parameter in attention.estimator.parameters():
            parameter.normal_()
    return attention


def split(attention, x):
    """Queries and keys as the score compares them, and values, of each head."""
    own = [attention.split(W(x)) for W in (attention.W_q, attention.W_k, attention.W_v)]
    score = attention.score
    return score.project_queries(own[0]), score.project_keys(own[1]), own[2]


def answers(attention, x):
    context, weights = attention(x, x, x, causal_mask(LENGTH, x.device))
    without, _ = attention(x, x, x, causal_mask(LENGTH, x.device), need_weights=False)
    torch.testing.assert_close(without, context, rtol=1e-10, atol=1e-10)
    return weights


@pytest.mark.parametrize("score", [Dot, ScaledDot, Bilinear])
def test_forgetting_adds_the_logarithms_of_gates_to_scores(x, score):
    attention = drawn(Forgetting, score)
    queries, keys, _ = split(attention, x)
    gates = torch.sigmoid(attention.estimator.W_f(x))
    scores = torch.full((3, HEADS, LENGTH, LENGTH), -torch.inf).double()
    for i in range(LENGTH):
        for j in range(i + 1):
            faded = gates[:, j + 1 : i + 1].log().sum(dim=1)
            scores[..., i, j] = (queries[..., i, :] * keys[..., j, :]).sum(dim=-1) + faded
    weights = answers(attention, x)
    torch.testing.assert_close(weights, scores.softmax(dim=-1), rtol=1e-9, atol=1e-12)


def test_what_a_normalizer_left_out_stays_out(x):
    plain, attention = drawn(Forgetting), drawn(Forgetting, normalizer=Sparsemax)
    weights = answers(attention, x)
    plain.normalizer = attention.normalizer
    scores = torch.einsum("bhid,bhjd->bhij", *split(attention, x)[:2])
    sparse = attention.normalizer(scores, causal_mask(LENGTH, x.device).matrix)
    assert torch.equal(weights > 0, sparse > 0)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(3, HEADS, LENGTH).double())


def test_closed_gates_leave_the_key_of_the_query_itself(x):
    attention = drawn(Forgetting)
    with torch.no_grad():
        attention.estimator.W_f.weight.zero_()
        attention.estimator.W_f.bias.fill_(-1e4)
    expected = torch.eye(LENGTH).double().expand(3, HEADS, -1, -1)
    torch.testing.assert_close(answers(attention, x), expected)


@pytest.mark.parametrize("score", [Dot, ScaledDot, Bilinear])
def test_the_gated_delta_rule_is_its_recurrence(x, score):
    attention = drawn(GatedDelta, score)
    queries, keys, values = split(attention, x)
    keys = F.normalize(keys, dim=-1)
    shares, gates = (
        W(x).sigmoid().transpose(1, 2)[..., None, None]
        for W in (attention.estimator.W_b, attention.estimator.W_a)
    )
    state = torch.zeros(3, HEADS, values.shape[-1], keys.shape[-1]).double()
    found = []
    for t in range(LENGTH):
        q, k, v = (each[..., t, :].unsqueeze(-1) for each in (queries, keys, values))
        share, gate = shares[:, :, t], gates[:, :, t]
        unit = torch.eye(k.shape[-2]).double()
        state = gate * state @ (unit - share * k @ k.mT) + share * v @ k.mT
        found.append((state @ q).squeeze(-1))
    weights = answers(attention, x)
    torch.testing.assert_close(weights @ values, torch.stack(found, dim=-2), rtol=1e-9, atol=1e-11)


def test_with_open_gates_it_is_the_delta_rule(x):
    gated, plain = drawn(GatedDelta), drawn(Delta)
    plain.load_state_dict(gated.state_dict(), strict=False)
    with torch.no_grad():
        gated.estimator.W_a.weight.zero_()
        gated.estimator.W_a.bias.fill_(100)
    torch.testing.assert_close(answers(gated, x), answers(plain, x))


@pytest.mark.parametrize("score", [Dot, ScaledDot, Bilinear])
def test_path_turns_products_by_what_lies_between(x, score):
    attention = drawn(Path, score)
    queries, keys, _ = split(attention, x)
    own = attention.estimator
    ways = F.normalize(own.W_w(x).view(3, LENGTH, HEADS, -1), dim=-1)
    shares = 2 * own.W_b(x).sigmoid()
    scores = torch.full((3, HEADS, LENGTH, LENGTH), -torch.inf).double()
    for i in range(LENGTH):
        for j in range(i + 1):
            turned = queries[..., i, :]
            for between in range(i, j, -1):
                way, share = ways[:, between], shares[:, between, :, None]
                turned = turned - share * way * (way * turned).sum(dim=-1, keepdim=True)
            scores[..., i, j] = (keys[..., j, :] * turned).sum(dim=-1)
    weights = answers(attention, x)
    torch.testing.assert_close(weights, scores.softmax(dim=-1), rtol=1e-9, atol=1e-11)


def test_path_without_shares_is_the_softmax(x):
    attention, plain = drawn(Path), MultiHead(ScaledDot, DIM, heads=HEADS).double()
    plain.load_state_dict(attention.state_dict(), strict=False)
    with torch.no_grad():
        attention.estimator.W_b.weight.zero_()
        attention.estimator.W_b.bias.fill_(-100)
    torch.testing.assert_close(answers(attention, x), answers(plain, x))


@pytest.mark.parametrize("estimator", [Forgetting, Path])
def test_a_window_hides_its_keys(x, estimator):
    attention = drawn(estimator)
    mask = causal_mask(LENGTH, x.device).matrix & ~torch.ones(LENGTH, LENGTH).tril(-4).bool()
    _, weights = attention(x, x, x, mask)
    assert (weights.masked_select(~mask.expand_as(weights)) == 0).all()
    # the last query has the same window in the symbols that it can see
    tail = x[:, -4:]
    _, alone = attention(tail, tail, tail, causal_mask(4, x.device))
    torch.testing.assert_close(weights[..., -1, -4:], alone[..., -1, :])

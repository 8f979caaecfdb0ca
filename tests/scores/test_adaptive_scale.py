"""The scale by query and number of keys, against loops and ASEntmax with one number a head."""

import math

import pytest
import torch

from attnexp.attention.pooling import AttentionPooling
from attnexp.normalizers.asentmax import Asentmax
from attnexp.normalizers.entmax import Entmax
from attnexp.scores.adaptive_scale import AdaptiveScale
from attnexp.scores.additive import Additive
from attnexp.scores.contract import SCORE_CONTRACT
from attnexp.scores.scaled_dot import ScaledDot


def draw(*shape):
    generator = torch.Generator().manual_seed(shape[-2])
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def made(inner="scaled_dot", **settings):
    torch.manual_seed(0)
    return AdaptiveScale(4, 4, inner=inner, **settings).double()


def by_hand(score, plain, query, n):
    (w_b,), (w_g,) = score.w_b.weight.tolist(), score.w_g.weight.tolist()
    beta = math.log1p(math.exp(sum(w * q for w, q in zip(w_b, query, strict=True))))
    gamma = score.largest_power * math.tanh(sum(w * q for w, q in zip(w_g, query, strict=True)))
    return (score.delta + beta * math.log(max(n, 2)) ** gamma) * plain


@pytest.mark.parametrize("delta", [0.0, 1.5])
def test_each_query_has_its_factor_by_loops(delta):
    score, queries, keys = made(delta=delta, largest_power=2.0), draw(3, 4), draw(5, 4)
    found, plain = score(queries, keys), queries @ keys.T / 2
    for i, query in enumerate(queries.tolist()):
        for j in range(5):
            expected = by_hand(score, plain[i, j].item(), query, 5)
            assert found[i, j].item() == pytest.approx(expected, rel=1e-12)


def test_n_is_the_number_of_keys_that_the_mask_leaves():
    score, queries, keys = made(), draw(2, 3, 4), draw(2, 5, 4)
    lens = torch.tensor([[1, 2, 3], [4, 5, 0]])
    found = score(queries, keys, lens)
    plain = queries @ keys.mT / 2
    for i in range(2):
        for j in range(3):
            n = lens[i, j].item()
            query = queries[i, j].tolist()
            expected = [by_hand(score, plain[i, j, k].item(), query, n) for k in range(5)]
            torch.testing.assert_close(found[i, j], torch.tensor(expected, dtype=torch.float64))


def test_with_entmax_and_equal_queries_it_is_asentmax_with_these_numbers():
    """One query sets the factor, and so do the learned numbers of a head."""
    score, query, keys, values = made(), draw(1, 1, 4), draw(1, 6, 4), draw(1, 6, 3)
    lens = torch.tensor([4])
    _, found = AttentionPooling(score, 3, lambda heads: Entmax(heads, 1.5))(
        query, keys, values, lens
    )
    one = AttentionPooling(ScaledDot(4, 4), 3, lambda heads: Asentmax(heads, 1.5)).double()
    with torch.no_grad():
        one.normalizer.b.copy_(score.w_b(query).squeeze())
        one.normalizer.g.copy_(score.w_g(query).squeeze())
    torch.testing.assert_close(found, one(query, keys, values, lens)[1])


def test_padding_changes_no_weight():
    attention = AttentionPooling(made(), 3)
    queries, keys, values = draw(1, 2, 4), draw(1, 6, 4), draw(1, 6, 3)
    _, padded = attention(queries, keys, values, torch.tensor([4]))
    _, short = attention(queries, keys[:, :4], values[:, :4])
    torch.testing.assert_close(padded[..., :4], short)


@pytest.mark.parametrize("check", SCORE_CONTRACT, ids=lambda check: check.__name__)
@pytest.mark.parametrize("inner", ["additive", "gaussian"])
def test_contract_with_other_scores_inside(check, inner):
    def make(query_dim, key_dim):
        torch.manual_seed(0)
        return AdaptiveScale(query_dim, key_dim, inner=inner)

    check(make)


def test_the_inner_score_takes_unequal_dimensions_and_other_settings():
    score = AdaptiveScale(3, 5, inner=lambda **sizes: Additive(**sizes, hidden_dim=7))
    assert score(torch.randn(2, 3), torch.randn(4, 5)).shape == (2, 4)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"delta": -1.0}, "delta of model=adaptive_scale must be 0 or more, got -1.0"),
        ({"largest_power": 0.0}, "largest_power of model=adaptive_scale must be greater than 0"),
        ({"inner": "boxcar"}, "inner of model=adaptive_scale must have a score for every query"),
        ({"inner": "dott"}, "inner of model=adaptive_scale must be a class of scores or one of"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        AdaptiveScale(4, 4, **settings)

"""The delta rule next to its recurrence, symbol by symbol."""

import pytest
import torch
import torch.nn.functional as F

from attnexp.attention.multihead import MultiHead
from attnexp.core.masks import causal_mask
from attnexp.estimators.delta import Delta
from attnexp.normalizers.sparsemax import Sparsemax
from attnexp.scores.additive import Additive
from attnexp.scores.bilinear import Bilinear
from attnexp.scores.dot import Dot
from attnexp.scores.scaled_dot import ScaledDot


def recurrence(queries, keys, values, shares):
    """o_t = S_t q_t, S_t = S_{t-1} + b_t (v_t - S_{t-1} k_t) k_t', in a loop."""
    state = torch.zeros(*values.shape[:-2], values.shape[-1], keys.shape[-1]).double()
    answers = []
    for t in range(keys.shape[-2]):
        q, k, v = (each[..., t, :].unsqueeze(-1) for each in (queries, keys, values))
        state = state + shares[..., t, :].unsqueeze(-1) * (v - state @ k) @ k.mT
        answers.append((state @ q).squeeze(-1))
    return torch.stack(answers, dim=-2)


@pytest.mark.parametrize("score", [Dot, ScaledDot, Bilinear])
def test_it_is_the_recurrence(score):
    torch.manual_seed(0)
    attention = MultiHead(score, 8, heads=2, estimator=Delta).double()
    x = torch.randn(3, 12, 8).double()
    context, weights = attention(x, x, x, causal_mask(12, x.device))
    split = [attention.split(W(x)) for W in (attention.W_q, attention.W_k, attention.W_v)]
    queries = attention.score.project_queries(split[0])
    keys = F.normalize(attention.score.project_keys(split[1]), dim=-1)
    shares = attention.estimator.W_b(x).sigmoid().transpose(1, 2).unsqueeze(-1)
    expected = recurrence(queries, keys, split[2], shares)
    torch.testing.assert_close(weights @ split[2], expected, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(context, attention.joined(expected, x))
    without, _ = attention(x, x, x, causal_mask(12, x.device), need_weights=False)
    torch.testing.assert_close(without, context, rtol=1e-12, atol=1e-12)


def test_a_pair_told_again_replaces_the_first():
    """With a full share the state answers with the last value of a key, as a dictionary."""
    attention = MultiHead(Dot, 4, heads=1, estimator=Delta).double()
    with torch.no_grad():
        for W in (attention.W_q, attention.W_k, attention.W_v, attention.W_o):
            W.weight.copy_(torch.eye(4))
        attention.estimator.W_b.weight.zero_()
        attention.estimator.W_b.bias.fill_(50)
    one, other = torch.eye(4).double()[:2]
    keys = torch.stack([one, other, one])[None]
    values = torch.tensor([[1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, 3]]).double()[None]
    context, weights = attention(keys, keys, values, causal_mask(3, keys.device))
    torch.testing.assert_close(context[0, 2], values[0, 2])
    torch.testing.assert_close(weights[0, 0, 2], torch.tensor([0, 0, 1]).double())


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"score": Additive}, "Delta takes the products of a score, and Additive has none: choose"),
        ({"score": Dot, "normalizer": Sparsemax}, "got Sparsemax: choose normalizer=softmax"),
    ],
)
def test_what_it_cannot_use_is_refused(parts, words):
    with pytest.raises(ValueError, match=words):
        MultiHead(query_dim=8, heads=2, estimator=Delta, **parts)

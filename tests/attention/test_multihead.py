import pytest
import torch
from torch import nn

from attnexp.attention.multihead import MultiHead, features_a_head, single_or_multihead
from attnexp.attention.pooling import AttentionPooling
from attnexp.scores.additive import Additive
from attnexp.scores.scaled_dot import ScaledDot

BATCH, QUERIES, KEYS = 2, 3, 5


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize("lengths", [None, [2, 5]])
def test_equals_pytorch_with_copied_weights(lengths):
    theirs = nn.MultiheadAttention(12, 3, bias=False, batch_first=True, kdim=7, vdim=11)
    ours = MultiHead(ScaledDot, 12, 7, 11, 12, heads=3, head_dim=4)
    with torch.no_grad():
        for mine, other in (
            (ours.W_q, theirs.q_proj_weight),
            (ours.W_k, theirs.k_proj_weight),
            (ours.W_v, theirs.v_proj_weight),
            (ours.W_o, theirs.out_proj.weight),
        ):
            mine.weight.copy_(other)
    queries, keys, values = draw(BATCH, QUERIES, 12), draw(BATCH, KEYS, 7), draw(BATCH, KEYS, 11)
    valid_lens = None if lengths is None else torch.tensor(lengths)
    hidden = None if lengths is None else torch.arange(KEYS) >= valid_lens[:, None]
    expected, expected_weights = theirs(
        queries, keys, values, key_padding_mask=hidden, average_attn_weights=False
    )
    context, weights = ours(queries, keys, values, valid_lens)
    torch.testing.assert_close(context, expected)
    torch.testing.assert_close(weights, expected_weights)


def test_equals_one_pooling_a_head():
    """The same heads, one at a time, through AttentionPooling with the sliced projections."""
    torch.manual_seed(0)
    ours = MultiHead(Additive, 7, 7, 11, 13, heads=3, head_dim=2)
    queries, keys, values = draw(BATCH, QUERIES, 7), draw(BATCH, KEYS, 7), draw(BATCH, KEYS, 11)
    heads = []
    for head in range(3):
        rows = slice(2 * head, 2 * head + 2)
        parts = (
            inputs @ layer.weight[rows].T
            for inputs, layer in ((queries, ours.W_q), (keys, ours.W_k), (values, ours.W_v))
        )
        heads.append(AttentionPooling(ours.score, 2)(*parts)[0])
    expected = torch.cat(heads, dim=-1) @ ours.W_o.weight.T
    torch.testing.assert_close(ours(queries, keys, values)[0], expected)


def test_one_head_is_the_bare_score():
    assert isinstance(single_or_multihead(ScaledDot, 7, 7, 11, 1, 4), AttentionPooling)
    several = single_or_multihead(ScaledDot, 7, 7, 11, 2, 4)
    assert isinstance(several, MultiHead)
    assert several.context_dim == 11


def test_sizes_that_are_not_given_follow_from_those_that_are():
    attention = MultiHead(ScaledDot, 12, heads=3)
    context, weights = attention(draw(2, 3, 12), draw(2, 5, 12), draw(2, 5, 12))
    assert (context.shape, weights.shape) == ((2, 3, 12), (2, 3, 3, 5))
    assert attention.score.query_dim == 4
    other = MultiHead(Additive, 12, key_dim=6, heads=2)
    assert other(draw(2, 3, 12), draw(2, 5, 6), draw(2, 5, 6))[0].shape == (2, 3, 12)
    with pytest.raises(ValueError, match="context_dim must be a multiple of heads"):
        MultiHead(ScaledDot, 12, heads=5)


def test_features_a_head():
    assert features_a_head("dim", 12, 3) == 4
    with pytest.raises(ValueError, match="dim must be a multiple of heads, got dim 12 and heads 5"):
        features_a_head("dim", 12, 5)
    with pytest.raises(ValueError, match="heads must be greater than 0, got 0"):
        features_a_head("dim", 12, 0)

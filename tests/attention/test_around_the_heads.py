"""A gate, a difference, shared keys and a window, next to plain attention."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from attnexp.architectures.bottleneck import Bottleneck
from attnexp.architectures.decoder_only import DecoderOnly
from attnexp.architectures.positions.none import NoPositions
from attnexp.architectures.transformer import Transformer
from attnexp.attention.differential import Differential
from attnexp.attention.gated import Gated
from attnexp.attention.multihead import MultiHead
from attnexp.attention.shifted import Shifted
from attnexp.core.batch import Batch, Seq2SeqSpec
from attnexp.core.masks import causal_mask
from attnexp.estimators.local_linear import LocalLinear
from attnexp.scores.scaled_dot import ScaledDot


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def copied(attention, plain):
    attention.load_state_dict(plain.state_dict(), strict=False)


def test_an_open_gate_is_half_of_plain_attention_and_an_opened_one_all():
    x, plain, gated = draw(2, 5, 8), MultiHead(ScaledDot, 8, heads=2), Gated(ScaledDot, 8, heads=2)
    copied(gated, plain)
    expected, weights = plain(x, x, x)
    with torch.no_grad():
        gated.W_g.weight.zero_()
    half, same = gated(x, x, x)
    torch.testing.assert_close(half, expected / 2)
    torch.testing.assert_close(same, weights)
    ones = torch.cat([x, torch.full((2, 5, 1), 50.0)], dim=-1)
    wide = Gated(ScaledDot, 9, context_dim=8, heads=2)
    with torch.no_grad():
        wide.W_g.weight.zero_()
        wide.W_g.weight[:, 8] = 1
        for name in ("W_q", "W_k", "W_v"):
            getattr(wide, name).weight.copy_(F.pad(getattr(plain, name).weight, (0, 1)))
        wide.W_o.weight.copy_(plain.W_o.weight)
    torch.testing.assert_close(wide(ones, ones, ones)[0], expected)


def test_the_difference_of_two_maps_by_hand():
    torch.manual_seed(0)
    x, attention = draw(2, 5, 8), Differential(ScaledDot, 8, heads=1, start=0.6)
    with torch.no_grad():
        attention.estimator.vectors.copy_(draw(2, 2, 4, seed=4))
    u = attention.estimator.vectors
    factor = torch.exp(u[0, 0] @ u[0, 1]) - torch.exp(u[1, 0] @ u[1, 1]) + 0.6
    q, k, v = x @ attention.W_q.weight.T, x @ attention.W_k.weight.T, x @ attention.W_v.weight.T
    first, second = [0, 1, 4, 5], [2, 3, 6, 7]
    maps = [
        torch.softmax(q[..., own] @ k[..., own].transpose(1, 2) / 2, dim=-1)
        for own in (first, second)
    ]
    expected = maps[0] - factor * maps[1]
    answer = expected @ v
    answer = 0.4 * answer / (answer.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt()
    context, weights = attention(x, x, x)
    torch.testing.assert_close(weights[:, 0], expected)
    torch.testing.assert_close(context, answer @ attention.W_o.weight.T)


def test_a_bias_that_heads_share_reaches_both_maps():
    x, attention = draw(2, 5, 16), Differential(ScaledDot, 16, heads=4)
    shared = draw(1, 5, 5, seed=1)
    memory = attention.remember(x, x)
    found = attention.attend(x, memory, bias=shared)
    for one, each in zip(
        found, attention.attend(x, memory, bias=shared.expand(4, 5, 5)), strict=True
    ):
        torch.testing.assert_close(one, each)


def test_what_differential_attention_cannot_be_is_refused():
    with pytest.raises(ValueError, match="a multiple of 4 features for a head, got 6"):
        Differential(ScaledDot, 12, heads=2)
    with pytest.raises(ValueError, match="choose estimator=local_constant, got LocalLinear"):
        Differential(ScaledDot, 8, heads=2, estimator=LocalLinear)
    with pytest.raises(ValueError, match="start must be greater than 0 and less than 1, got 1"):
        Differential(ScaledDot, 8, heads=2, start=1.0)


@pytest.mark.parametrize("kv_heads", [1, 2])
def test_shared_keys_are_repeated_projections(kv_heads):
    x, few = draw(2, 5, 8), MultiHead(ScaledDot, 8, heads=4, kv_heads=kv_heads)
    plain = MultiHead(ScaledDot, 8, heads=4)
    with torch.no_grad():
        plain.W_q.weight.copy_(few.W_q.weight)
        plain.W_o.weight.copy_(few.W_o.weight)
        for name in ("W_k", "W_v"):
            heads = getattr(few, name).weight.unflatten(0, (kv_heads, 2))
            whole = heads.repeat_interleave(4 // kv_heads, dim=0).flatten(0, 1)
            getattr(plain, name).weight.copy_(whole)
    for ours, theirs in zip(few(x, x, x), plain(x, x, x), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_as_many_heads_of_keys_is_plain_attention_and_others_are_refused():
    torch.manual_seed(0)
    one = MultiHead(ScaledDot, 8, heads=4, kv_heads=4)
    torch.manual_seed(0)
    other = MultiHead(ScaledDot, 8, heads=4)
    for mine, theirs in zip(one.parameters(), other.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    for kv_heads, words in ((3, "must divide heads, 4, got 3"), (0, "greater than 0, got 0")):
        with pytest.raises(ValueError, match=words):
            MultiHead(ScaledDot, 8, heads=4, kv_heads=kv_heads)


VOCAB = tuple("pbexyzuvw")
SPEC = Seq2SeqSpec(VOCAB, VOCAB, max_source=6, max_target=4, pad=0, bos=1, eos=2)


def batch():
    source = torch.randint(3, 9, (3, 6), generator=torch.Generator().manual_seed(0))
    target = torch.randint(3, 9, (3, 4), generator=torch.Generator().manual_seed(1))
    mask = torch.arange(6) < torch.tensor([[6], [3], [5]])
    return Batch(target, source.where(mask, 0), source, target, mask.unsqueeze(1), target > 0)


@pytest.mark.parametrize("kind", [DecoderOnly, Transformer])
@pytest.mark.parametrize("window", [1, 3, 99])
def test_a_window_hides_far_keys_in_a_pass_and_in_decoding(kind, window):
    torch.manual_seed(0)
    model = kind(SPEC, ScaledDot, dim=8, heads=2, ff_dim=8, window=window).double().eval()
    given = batch()
    found = model(given, need_weights=True)
    state, rows = model.encode(given.keys, given.mask), []
    for ids in given.queries.unbind(dim=1):
        logits, state = model.step(ids, state)
        rows.append(logits)
    torch.testing.assert_close(torch.stack(rows, dim=1), found.outputs)
    own = found.weights["self" if kind is DecoderOnly else "decoder"]
    lengths = given.mask.sum(dim=-1)[:, 0].tolist()
    for i, length in enumerate(lengths):
        places = list(range(own.shape[-1]))
        if kind is DecoderOnly:
            places = [*range(length), *[length - 1] * (6 - length), *range(length, length + 4)]
        for q in range(len(places)):
            row = own[i, 0, 0, q]
            for k in range(q + 1):
                padding = kind is DecoderOnly and length <= k < 6
                near = abs(places[q] - places[k]) < window and not padding
                assert (row[k] > 0) == near, (i, q, k)
    if window == 99:
        torch.manual_seed(0)
        whole = kind(SPEC, ScaledDot, dim=8, heads=2, ff_dim=8).double().eval()
        torch.testing.assert_close(found.outputs, whole(given).outputs)


def test_an_encoder_sees_both_sides_of_its_window():
    torch.manual_seed(0)
    model = Transformer(
        SPEC, ScaledDot, dim=8, heads=2, ff_dim=8, window=2, positions=NoPositions
    ).eval()
    weights = model(batch(), need_weights=True).weights["encoder"][0, 0, 0]
    places = torch.arange(6)
    assert torch.equal(weights > 0, (places[:, None] - places).abs() < 2)


@pytest.mark.parametrize("kind", [DecoderOnly, Transformer, Bottleneck])
@pytest.mark.parametrize("examples", [4, 6, 10])
def test_a_window_reads_examples_as_if_each_were_alone(kind, examples):
    """As many examples as symbols of the target, of the source and of both; padding is not read."""
    torch.manual_seed(0)
    model = kind(SPEC, ScaledDot, dim=8, heads=2, ff_dim=8, window=2).double().eval()
    given = batch()
    rows = torch.arange(examples) % 3
    many = model(given.select(rows), need_weights=True)
    if kind is Bottleneck:  # the task reads the rows of padding, too
        sums = many.weights[model.whole].sum(dim=-1)
        torch.testing.assert_close(sums, torch.ones_like(sums))
    for i, row in enumerate(rows.tolist()):
        alone = given.select(torch.tensor([row]))
        length = int(alone.mask.sum())
        shorter = {"keys": alone.keys[:, :length], "values": alone.values[:, :length]}
        alone = replace(alone, mask=alone.mask[..., :length], **shorter)
        torch.testing.assert_close(many.outputs[i], model(alone).outputs[0])


def test_a_window_below_one_is_refused():
    with pytest.raises(ValueError, match="window must be greater than 0, got 0"):
        DecoderOnly(SPEC, ScaledDot, dim=8, heads=2, window=0)


def test_shifted_keys_and_values_by_hand():
    """As the authors write it: rows of zeros before the keys and values of each head."""
    torch.manual_seed(0)
    x, attention = draw(2, 6, 8).double(), Shifted(ScaledDot, 8, heads=2).double()
    with torch.no_grad():
        attention.shares.copy_(draw(2, 2, seed=4))
    a, b = attention.shares.sigmoid()
    heads = []
    for head in range(2):
        rows = slice(4 * head, 4 * head + 4)
        q, k, v = (x @ W.weight[rows].T for W in (attention.W_q, attention.W_k, attention.W_v))
        nothing = torch.zeros(2, 1, 4).double()
        k = a[head] * k + (1 - a[head]) * torch.cat([nothing, k[:, :-1]], dim=1)
        v = b[head] * v + (1 - b[head]) * torch.cat([nothing, v[:, :-1]], dim=1)
        hidden = ~torch.ones(6, 6).tril().bool()
        scores = (q @ k.transpose(1, 2) / 2).masked_fill(hidden, -torch.inf)
        heads.append(scores.softmax(dim=-1) @ v)
    expected = torch.cat(heads, dim=-1) @ attention.W_o.weight.T
    context, weights = attention(x, x, x, causal_mask(6, x.device))
    torch.testing.assert_close(context, expected)
    values = attention.split(attention.W_v(x))
    torch.testing.assert_close(attention.joined(weights @ values, x), expected)
    # the first value also counts at the second key
    assert (weights[..., 0, 0] < 1).all()


def test_shares_of_one_are_plain_attention():
    x, plain = draw(2, 5, 8), MultiHead(ScaledDot, 8, heads=2)
    shifted = Shifted(ScaledDot, 8, heads=2)
    copied(shifted, plain)
    with torch.no_grad():
        shifted.shares.fill_(100.0)
    torch.testing.assert_close(shifted(x, x, x), plain(x, x, x))

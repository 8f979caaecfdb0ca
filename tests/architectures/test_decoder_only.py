"""The decoder-only model."""

from functools import partial

import pytest
import torch
from conftest import choice_names
from hydra.utils import instantiate
from library_layers import copy_attention, copy_rest, randomised
from torch import nn

from attnexp.architectures.decoder_only import DecoderOnly
from attnexp.architectures.positions.learned import Learned
from attnexp.architectures.positions.none import NoPositions
from attnexp.architectures.positions.rotary import Rotary
from attnexp.architectures.transformer import FeedForward
from attnexp.core.batch import Batch, Seq2SeqSpec

DIM, HEADS, FF = 6, 2, 11


@pytest.fixture
def build(spec, scored):
    def model(score="scaled_dot", spec=spec, **settings):
        torch.manual_seed(2)
        sizes = {"layers": 2, "heads": HEADS, "dim": DIM, "ff_dim": FF}
        return DecoderOnly(spec, scored(score), **(sizes | settings)).double()

    return model


@torch.no_grad()
def test_it_is_a_causal_stack_of_pytorch_over_the_joint_sequence(build, spec, batch):
    """Each example alone, without padding, through nn.TransformerEncoder with a causal mask."""
    ours = randomised(build(positions=Learned))
    layer = nn.TransformerEncoderLayer(
        DIM, HEADS, FF, dropout=0.0, batch_first=True, norm_first=True
    )
    theirs = nn.TransformerEncoder(layer, 2, nn.LayerNorm(DIM), enable_nested_tensor=False).double()
    theirs.norm.load_state_dict(ours.norm.state_dict())
    for their, our in zip(theirs.layers, ours.layers, strict=True):
        copy_attention(their.self_attn, our.own)
        copy_rest(their, our, {"norm1": our.own_norm, "norm2": our.feed_forward.norm})
    found = ours(batch).outputs
    symbols = list(dict.fromkeys(spec.source_vocab + spec.target_vocab))
    for row in range(3):
        length = int(batch.mask[row].sum())
        names = [spec.source_vocab[i] for i in batch.keys[row, :length]]
        names += [spec.target_vocab[i] for i in batch.queries[row]]
        x = ours.embed.weight[[symbols.index(name) for name in names]] * DIM**0.5
        x = (x + ours.positions.table.weight[: len(names)]).unsqueeze(0)
        causal = nn.Transformer.generate_square_subsequent_mask(len(names), dtype=x.dtype)
        states = theirs(x, mask=causal, is_causal=True)[0, length:]
        table = ours.embed.weight[[symbols.index(name) for name in spec.target_vocab]]
        torch.testing.assert_close(found[row], states @ table.T)


MECHANISMS = [
    (group, name)
    for group, plain in (("estimator", "local_constant"), ("attention", "plain"))
    for name in choice_names(group)
    if name != plain
]


@pytest.mark.parametrize(("group", "name"), MECHANISMS)
@pytest.mark.parametrize("positions", [NoPositions, Rotary])
@torch.no_grad()
def test_padding_before_the_target_has_no_influence(
    build, batch, settings_of, group, name, positions
):
    """Each example among others, and alone without its padding, at drawn parameters."""
    choice = partial(instantiate, settings_of(group, name))
    model = randomised(build(dim=8, positions=positions, **{group: choice}))
    whole = model(batch, need_weights=True)
    assert not batch.mask.all()
    for row in range(3):
        length = int(batch.mask[row].sum())
        of_row = slice(row, row + 1)
        bare = Batch(
            batch.queries[of_row],
            batch.keys[of_row, :length],
            batch.values[of_row, :length],
            batch.targets[of_row],
            batch.mask[of_row, :, :length],
            batch.target_mask[of_row],
        )
        alone = model(bare, need_weights=True)
        torch.testing.assert_close(whole.outputs[of_row], alone.outputs)
        maps = whole.weights["cross"][of_row]
        torch.testing.assert_close(maps[..., :length], alone.weights["cross"])
        assert (maps[..., length:] == 0).all()


def test_symbols_of_one_name_are_one(build):
    spec = Seq2SeqSpec(("<pad>", "<bos>", "<eos>", "a", "b"), ("<pad>", "<bos>", "<eos>", "b"),
                       max_source=3, max_target=2, pad=0, bos=1, eos=2)  # fmt: skip
    model = build(spec=spec)
    assert model.embed.num_embeddings == 5
    assert model.source_rows.tolist() == [0, 1, 2, 3, 4]
    assert model.target_rows.tolist() == [0, 1, 2, 4]


def test_a_symbol_enters_with_entries_of_variance_one(build):
    model = build(dim=512, heads=1, positions=NoPositions)
    entered = model._enter(model.source_rows[None], torch.zeros(1, 13, dtype=torch.long))
    assert entered.std().item() == pytest.approx(1, abs=0.05)


def test_the_map_to_the_source_is_a_part_of_the_whole(build, batch):
    weights = build()(batch, need_weights=True).weights
    assert torch.equal(weights["cross"], weights["self"][..., 7:, :7])
    assert (weights["cross"].sum(dim=-1) < 1).all()
    torch.testing.assert_close(
        weights["self"].sum(dim=-1), torch.ones(3, 2, 2, 12, dtype=torch.float64)
    )


def test_without_feed_forward_there_is_attention_alone(build, batch):
    model = build(feed_forward=False)
    assert not any(isinstance(module, FeedForward) for module in model.modules())
    assert {name.split(".")[2] for name, _ in model.layers.named_parameters(prefix="layers")} == {
        "own",
        "own_norm",
    }
    assert model(batch).outputs.isfinite().all()

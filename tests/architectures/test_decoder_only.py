"""The decoder-only model."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attnexp.architectures.decoder_only import DecoderOnly
from attnexp.architectures.transformer import FeedForward
from attnexp.batch import Seq2SeqSpec

DIM, HEADS, FF = 6, 2, 11


@pytest.fixture
def build(spec, scored):
    def model(score="scaled_dot", spec=spec, **settings):
        torch.manual_seed(2)
        sizes = {"layers": 2, "heads": HEADS, "dim": DIM, "ff_dim": FF}
        return DecoderOnly(spec, scored(score), **(sizes | settings)).double()

    return model


def randomised(model):
    """The model with all parameters random, also those of the norms, which start at 1 and 0."""
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return model


@torch.no_grad()
def test_it_is_a_causal_stack_of_pytorch_over_the_joint_sequence(build, spec, batch):
    """Each example alone, without padding, through nn.TransformerEncoder with a causal mask."""
    ours = randomised(build(positions="learned"))
    layer = nn.TransformerEncoderLayer(
        DIM, HEADS, FF, dropout=0.0, batch_first=True, norm_first=True
    )
    theirs = nn.TransformerEncoder(layer, 2, nn.LayerNorm(DIM), enable_nested_tensor=False).double()
    theirs.norm.load_state_dict(ours.norm.state_dict())
    for their, our in zip(theirs.layers, ours.layers, strict=True):
        own = our.own
        their.self_attn.in_proj_weight.copy_(
            torch.cat([own.W_q.weight, own.W_k.weight, own.W_v.weight])
        )
        their.self_attn.in_proj_bias.zero_()
        their.self_attn.out_proj.weight.copy_(own.W_o.weight)
        their.self_attn.out_proj.bias.zero_()
        their.norm1.load_state_dict(our.own_norm.state_dict())
        their.norm2.load_state_dict(our.feed_forward.norm.state_dict())
        their.linear1.load_state_dict(our.feed_forward.W_1.state_dict())
        their.linear2.load_state_dict(our.feed_forward.W_2.state_dict())
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


def test_symbols_of_one_name_are_one(build):
    spec = Seq2SeqSpec(("<pad>", "<bos>", "<eos>", "a", "b"), ("<pad>", "<bos>", "<eos>", "b"),
                       max_source=3, max_target=2, pad=0, bos=1, eos=2)  # fmt: skip
    model = build(spec=spec)
    assert model.embed.num_embeddings == 5
    assert model.source_rows.tolist() == [0, 1, 2, 3, 4]
    assert model.target_rows.tolist() == [0, 1, 2, 4]


def test_a_symbol_enters_with_entries_of_variance_one(build):
    model = build(dim=512, heads=1, positions="none")
    entered = model._enter(model.source_rows[None], torch.zeros(1, 13, dtype=torch.long))
    assert entered.std().item() == pytest.approx(1, abs=0.05)


def test_the_map_to_the_source_is_a_part_of_the_whole(build, batch):
    weights = build()(batch, need_weights=True).weights
    assert torch.equal(weights["cross"], weights["self"][..., 7:, :7])
    assert (weights["cross"].sum(dim=-1) < 1).all()
    torch.testing.assert_close(
        weights["self"].sum(dim=-1), torch.ones(3, 2, 2, 12, dtype=torch.float64)
    )


def test_targets_are_due_where_the_batch_says(build, batch):
    model = build()
    asked = torch.tensor([[4, 1], [0, 2], [3, 3]])
    some = replace(
        batch, asked=asked, targets=batch.targets[:, :2], target_mask=batch.target_mask[:, :2]
    )
    whole, part = model(batch, need_weights=True), model(some, need_weights=True)
    for row in range(3):
        torch.testing.assert_close(part.outputs[row], whole.outputs[row, asked[row]])
        rows = whole.weights["cross"][row][..., asked[row], :]
        torch.testing.assert_close(part.weights["cross"][row], rows)
    assert torch.equal(part.weights["self"], whole.weights["self"])


def test_without_feed_forward_there_is_attention_alone(build, batch):
    model = build(feed_forward=False)
    assert not any(isinstance(module, FeedForward) for module in model.modules())
    assert {name.split(".")[2] for name, _ in model.layers.named_parameters(prefix="layers")} == {
        "own",
        "own_norm",
    }
    assert model(batch).outputs.isfinite().all()


def test_learned_positions_end_with_source_and_target(build, batch):
    model = build(positions="learned")
    longer = replace(
        batch,
        queries=F.pad(batch.queries, (0, 1)),
        targets=F.pad(batch.targets, (0, 1)),
        target_mask=F.pad(batch.target_mask, (0, 1)),
    )
    with pytest.raises(ValueError, match="sequences of at most 12 symbols, got one of 13"):
        model(longer)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"positions": "rotary", "dim": 6}, "rotary positions need an even number of features"),
        ({"positions": "sinusoidal", "dim": 5, "heads": 1}, "sinusoidal positions need an even"),
        ({"ff_dim": 0}, "ff_dim must be greater than 0, got 0"),
    ],
)
def test_settings_that_cannot_work_are_refused(build, settings, message):
    with pytest.raises(ValueError, match=message):
        build(**settings)

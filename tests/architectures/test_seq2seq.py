"""What holds for every sequence model with every score."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from conftest import choice_names
from hydra.utils import get_object
from torch.func import functional_call, grad, stack_module_state, vmap

from attnexp.architectures.decoder_only import DecoderOnly
from attnexp.architectures.positions.learned import Learned
from attnexp.architectures.positions.rotary import Rotary
from attnexp.architectures.positions.sinusoidal import Sinusoidal
from attnexp.architectures.rnn import Rnn
from attnexp.architectures.seq2seq import Seq2Seq
from attnexp.architectures.transformer import Transformer
from attnexp.attention.base import Attention
from attnexp.core.batch import Batch
from attnexp.normalizers.sparsemax import Sparsemax
from attnexp.scores.boxcar import Boxcar

MODELS: dict[str, Callable[..., Any]] = {
    "rnn": lambda spec, score: Rnn(spec, score, embed_dim=5, hidden_dim=6),
    "rnn_one_way": lambda spec, score: Rnn(
        spec, score, embed_dim=5, hidden_dim=6, bidirectional=False
    ),
    "rnn_deep": lambda spec, score: Rnn(
        spec, score, cell="lstm", embed_dim=5, hidden_dim=6, layers=3, heads=2
    ),
    "transformer": lambda spec, score: Transformer(
        spec, score, layers=3, heads=2, dim=6, ff_dim=11
    ),
    "transformer_learned": lambda spec, score: Transformer(
        spec, score, layers=1, heads=1, dim=6, ff_dim=11, positions=Learned
    ),
    "decoder_only": lambda spec, score: DecoderOnly(
        spec, score, layers=2, heads=2, dim=6, ff_dim=11
    ),
}
DEPTHS = {"rnn_deep": (1, 2), "transformer": (3, 2), "decoder_only": (2, 2)}
"""Layers and heads of the attention, (1, 1) where a model is not named."""

SIDES = {
    Rnn: {"cross": (5, 7)},
    Transformer: {"cross": (5, 7), "encoder": (7, 7), "decoder": (5, 5)},
    DecoderOnly: {"cross": (5, 7), "self": (12, 12)},
}
"""Queries and keys of each attention."""

PLACED: dict[str, tuple[Callable[..., Any], str]] = {
    f"{arch.__name__}-{positions}": (arch, positions)
    for arch in (Transformer, DecoderOnly)
    for positions in choice_names("positions")
}


@pytest.fixture(params=MODELS)
def kind(request):
    return request.param


@pytest.fixture(params=["additive", "gaussian"])
def model(request, kind, spec, scored):
    torch.manual_seed(3)
    return MODELS[kind](spec, scored(request.param)).double()


@pytest.fixture
def additive(kind, spec, scored):
    torch.manual_seed(3)
    return MODELS[kind](spec, scored("additive")).double()


@pytest.fixture(params=["scaled_dot", "additive"])
def placed(request, spec, scored, settings_of):
    """Builds a model with each kind of positions."""

    def build(name):
        arch, choice = PLACED[name]
        positions = get_object(settings_of("positions", choice)["_target_"])
        torch.manual_seed(3)
        sizes = {"layers": 2, "heads": 2, "dim": 8, "ff_dim": 11}
        return arch(spec, scored(request.param), positions=positions, **sizes).double()

    return build


def test_outputs_and_weights_have_their_shapes_and_sums(model, kind, spec, batch):
    prediction = model(batch, need_weights=True)
    assert prediction.outputs.shape == (3, 5, 11)
    leading = (3, *DEPTHS.get(kind, (1, 1)))
    assert {name: tuple(w.shape) for name, w in prediction.weights.items()} == {
        name: (*leading, *sides) for name, sides in SIDES[type(model)].items()
    }
    for name, weights in prediction.weights.items():
        sums = weights.sum(dim=-1)
        assert weights.min() >= 0
        assert weights.max() <= 1 + 1e-12
        if name == "cross" != model.whole:
            assert sums.max() <= 1 + 1e-12
        else:
            assert torch.minimum(sums, (sums - 1).abs()).max() < 1e-12
        assert weights.isfinite().all()


def test_targets_may_be_due_at_some_of_the_queries_alone(additive, batch):
    """The fifth query and the second of the first example, and so on; the third has one target."""
    asked = torch.tensor([[4, 1], [0, 3], [2, 0]])
    fewer = replace(
        batch,
        targets=batch.targets[:, :2],
        target_mask=torch.tensor([[True, True], [True, True], [True, False]]),
        asked=asked,
    )
    whole, some = additive(batch, need_weights=True), additive(fewer, need_weights=True)
    assert some.outputs.shape == (3, 2, 11)
    for example, places in enumerate(asked.tolist()):
        torch.testing.assert_close(some.outputs[example], whole.outputs[example, places])
        torch.testing.assert_close(
            some.weights["cross"][example], whole.weights["cross"][example][:, :, places]
        )
    for name in set(whole.weights) - {"cross"}:
        assert some.weights[name].equal(whole.weights[name]), name


@pytest.mark.parametrize("architecture", [Transformer, DecoderOnly])
@pytest.mark.parametrize("longer", ["test_max_source", "test_max_target"])
def test_learned_positions_refuse_a_longer_test_set_when_built(spec, scored, architecture, longer):
    sizes = {"heads": 1, "dim": 6, "ff_dim": 11}
    same = replace(spec, test_max_source=spec.max_source, test_max_target=spec.max_target)
    architecture(same, scored("dot"), positions=Learned, **sizes)
    beyond = replace(same, **{longer: 20})
    with pytest.raises(ValueError, match="learned positions reach sequences of at most"):
        architecture(beyond, scored("dot"), positions=Learned, **sizes)
    architecture(beyond, scored("dot"), positions=Sinusoidal, **sizes)


def test_hidden_keys_have_no_weight(model, batch):
    for name, weights in model(batch, need_weights=True).weights.items():
        if name == "decoder":
            hidden = ~torch.ones(5, 5, dtype=torch.bool).tril()
        elif name == "self":
            seen = F.pad(batch.mask, (0, 5), value=True) & torch.ones(12, 12).tril().bool()
            hidden = ~seen[:, None, None]
        else:
            hidden = ~batch.mask[:, None, None]
        assert weights.masked_select(hidden).eq(0).all()


def step_by_step(model, batch):
    """The logits of decoding the queries one at a time."""
    state = model.encode(batch.keys, batch.mask)
    outputs = []
    for ids in batch.queries.unbind(dim=1):
        logits, state = model.step(ids, state)
        outputs.append(logits)
    return torch.stack(outputs, dim=1)


@pytest.mark.parametrize("name", PLACED)
def test_step_by_step_is_the_full_forward_with_all_positions(placed, name, batch):
    model = placed(name)
    torch.testing.assert_close(
        step_by_step(model, batch), model(batch).outputs, rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("name", PLACED)
def test_padding_has_no_influence_with_all_positions(placed, name, batch):
    model = placed(name)
    together = model(batch).outputs
    for row in range(3):
        length = int(batch.mask[row].sum())
        alone = batch.select(slice(row, row + 1))
        source = alone.keys[:, :length]
        alone = replace(alone, keys=source, values=source, mask=alone.mask[..., :length])
        torch.testing.assert_close(model(alone).outputs[0], together[row])


@pytest.mark.parametrize("name", [name for name in PLACED if "none" not in name])
def test_positions_tell_the_order_of_the_source(placed, name, batch):
    model = placed(name)
    keys = batch.keys[:1, [1, 0, 2, 3, 4, 5, 6]]
    swapped = replace(batch.select(slice(1)), keys=keys, values=keys)
    difference = model(swapped).outputs - model(batch.select(slice(1))).outputs
    assert difference.abs().max() > 1e-4


def test_without_positions_a_source_is_a_bag_of_symbols(placed, batch):
    """Equal symbols have equal columns, bit for bit; a shuffled source has the same outputs."""
    keys = batch.keys[:1, [0, 1, 0, 2, 3, 4, 6]]
    order = [3, 0, 5, 1, 6, 4, 2]
    source = replace(batch.select(slice(1)), keys=keys, values=keys)
    shuffled = replace(source, keys=keys[:, order], values=keys[:, order])
    model = placed("Transformer-none")
    found, other = model(source, need_weights=True), model(shuffled, need_weights=True)
    columns = found.weights["cross"].unbind(dim=-1)
    assert columns[0].equal(columns[2])
    torch.testing.assert_close(other.outputs, found.outputs)
    ours, theirs = found.weights["encoder"], other.weights["encoder"]
    torch.testing.assert_close(theirs, ours[..., order, :][..., order])
    ordered = placed("Transformer-sinusoidal")(source, need_weights=True).weights["cross"]
    assert not ordered[..., 0].equal(ordered[..., 2])


def test_copies_with_stacked_parameters_train_as_one(kind, spec, scored, batch):
    models = [MODELS[kind](spec, scored("additive")).double() for _ in range(2)]
    parameters, buffers = stack_module_state(models)

    def loss(one, held):
        outputs = functional_call(models[0], (one, held), (batch,)).outputs
        return outputs.square().mean(), outputs

    gradients, outputs = vmap(grad(loss, has_aux=True))(parameters, buffers)
    for i, model in enumerate(models):
        alone = model(batch).outputs
        torch.testing.assert_close(outputs[i], alone)
        alone.square().mean().backward()
        for name, parameter in model.named_parameters():
            torch.testing.assert_close(gradients[name][i], parameter.grad)


def test_training_with_dropout_leaves_the_global_generator_alone(kind, spec, scored, batch):
    model = MODELS[kind](spec, scored("scaled_dot"))
    for module in model.modules():
        if hasattr(module, "p"):
            module.p = 0.5
    state = torch.get_rng_state()
    first, second = model(batch).outputs, model(batch).outputs
    assert torch.equal(torch.get_rng_state(), state)
    assert not torch.equal(first, second)
    model.eval()
    assert torch.equal(model(batch).outputs, model(batch).outputs)


def test_a_kernel_that_reaches_nothing_gives_zero_contexts(kind, spec, batch):
    model = MODELS[kind](spec, lambda **sizes: Boxcar(width=1e9, **sizes))
    prediction = model(batch, need_weights=True)
    # the first query of a one-way encoder is its last key, at distance 0
    assert prediction.weights["cross"][..., 1:, :].eq(0).all()
    prediction.outputs.sum().backward()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    assert all(gradient.isfinite().all() for gradient in gradients)


@pytest.mark.parametrize("build", [Rnn, Transformer, DecoderOnly])
def test_a_few_steps_of_training_learn_to_reverse(build, spec, scored):
    """Pairs of symbols, reversed: 60 steps on all 64 of them."""
    torch.manual_seed(0)
    pairs = torch.cartesian_prod(torch.arange(3, 11), torch.arange(3, 11))
    end = torch.full((len(pairs), 1), spec.eos)
    source, target = torch.cat([pairs, end], 1), torch.cat([pairs.flip(1), end], 1)
    batch = Batch(
        F.pad(target[:, :-1], (1, 0), value=spec.bos),
        source,
        source,
        target,
        torch.ones(len(pairs), 1, 3, dtype=torch.bool),
        torch.ones(len(pairs), 3, dtype=torch.bool),
    )
    model = build(spec, scored("additive"))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(60):
        optimizer.zero_grad()
        F.cross_entropy(model(batch).outputs.flatten(0, 1), target.flatten()).backward()
        optimizer.step()
    assert torch.equal(model.greedy(source, batch.mask, max_length=3), target)


class Scripted(Seq2Seq[int]):
    """Writes what it is told to, whatever it reads."""

    def __init__(self, spec, script):
        super().__init__(spec)
        self.script = script
        self.asked = []

    def forward(self, batch, need_weights=False):
        raise NotImplementedError

    def encode(self, source, mask):
        return 0

    def step(self, ids, state):
        self.asked.append(ids.tolist())
        return F.one_hot(self.script[:, state], 11).float(), state + 1


def test_greedy_decoding_stops_at_the_end_and_pads_behind_it(spec):
    script = torch.tensor([[5, 2, 6, 7, 8], [3, 4, 9, 2, 10]])
    model = Scripted(spec, script)
    source, mask = torch.full((2, 3), 4), torch.ones(2, 1, 3, dtype=torch.bool)
    assert model.greedy(source, mask, max_length=5).tolist() == [[5, 2, 0, 0], [3, 4, 9, 2]]
    assert model.asked == [[1, 1], [5, 3], [2, 4], [0, 9]]
    assert model.greedy(source, mask, max_length=3).tolist() == [[5, 2, 0], [3, 4, 9]]


def test_asking_seldom_whether_all_have_ended_changes_no_answer(spec, monkeypatch):
    """As on a GPU, which decodes on until it is asked: what lies behind all ends is cut off."""
    monkeypatch.setattr("attnexp.architectures.seq2seq.symbols_unseen", lambda device: 16)
    model = Scripted(spec, torch.tensor([[5, 2, 6, 7, 8], [3, 4, 9, 2, 10]]))
    source, mask = torch.full((2, 3), 4), torch.ones(2, 1, 3, dtype=torch.bool)
    assert model.greedy(source, mask, max_length=5).tolist() == [[5, 2, 0, 0], [3, 4, 9, 2]]
    assert len(model.asked) == 5
    assert model.greedy(source, mask, max_length=3).tolist() == [[5, 2, 0], [3, 4, 9]]


@pytest.mark.parametrize(
    ("build", "settings", "message"),
    [
        *(
            (build, settings, message)
            for build in (Rnn, Transformer, DecoderOnly)
            for settings, message in (
                ({"layers": 0}, "layers must be greater than 0, got 0"),
                ({"heads": 0}, "heads must be greater than 0, got 0"),
                ({"heads": 7}, "must be a multiple of heads, got (hidden_)?dim 64 and heads 7"),
                ({"dropout": 1.0}, "dropout must be at least 0 and less than 1, got 1.0"),
            )
        ),
        (Rnn, {"embed_dim": 0}, "embed_dim must be greater than 0, got 0"),
        (Rnn, {"hidden_dim": 0}, "hidden_dim must be greater than 0, got 0"),
        (Transformer, {"dim": 0}, "dim must be greater than 0, got 0"),
        (Transformer, {"ff_dim": 0}, "ff_dim must be greater than 0, got 0"),
        (DecoderOnly, {"positions": Rotary, "dim": 12}, "rotary positions need an even number"),
        (DecoderOnly, {"dim": 5, "heads": 1}, "sinusoidal positions need an even"),
    ],
)
def test_settings_that_cannot_work_are_refused(build, settings, message, spec, scored):
    with pytest.raises(ValueError, match=message):
        build(spec, scored("additive"), **settings)


@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("architecture", [Rnn, Transformer, DecoderOnly])
def test_all_attention_has_the_normalizer_and_the_dropout(architecture, heads, spec, scored, batch):
    torch.manual_seed(0)
    model = architecture(spec, scored("scaled_dot"), Sparsemax, heads=heads, attention_dropout=0.4)
    attentions = [module for module in model.modules() if isinstance(module, Attention)]
    assert attentions
    for attention in attentions:
        assert isinstance(attention.normalizer, Sparsemax)
        assert attention.dropout.p == 0.4
    assert not torch.equal(model(batch).outputs, model(batch).outputs)
    weights = model(batch, need_weights=True).weights[model.whole]
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(weights.shape[:-1]))
    model.eval()
    assert torch.equal(model(batch).outputs, model(batch).outputs)

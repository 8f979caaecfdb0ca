"""Relative vectors of keys against loops over the equation of the paper."""

import math

import pytest
import torch

from attnexp.architectures.decoder_only import DecoderOnly
from attnexp.architectures.positions.shaw import CLIP, Shaw
from attnexp.architectures.transformer import Transformer
from attnexp.attention.multihead import MultiHead
from attnexp.core.batch import Batch, Seq2SeqSpec
from attnexp.scores.scaled_dot import ScaledDot


def made(dim=6, heads=2):
    torch.manual_seed(0)
    return Shaw(dim, heads, 9).double()


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def test_weights_are_those_of_keys_with_vectors_of_the_distance():
    """Equation 4 key by key, for places that are far apart and differ between examples."""
    positions = made()
    attention = MultiHead(ScaledDot, 6, heads=2).double()
    x, places = draw(2, 4, 6), torch.tensor([[0, 1, 2, 3], [0, 5, 40, 41]])
    order = positions.order(places, places)
    with torch.no_grad():
        _, weights = attention.attend(x, attention.remember(x, x), True, *order)
        check_each_key(positions, attention, x, places, weights)


def check_each_key(positions, attention, x, places, weights):
    for example in range(2):
        for head in range(2):
            own = slice(3 * head, 3 * head + 3)
            queries, keys = x[example] @ attention.W_q.weight.T, x[example] @ attention.W_k.weight.T
            for i in range(4):
                scores = []
                for j in range(4):
                    distance = int(places[example, j] - places[example, i])
                    vector = positions.vectors[head, max(-CLIP, min(CLIP, distance)) + CLIP]
                    scores.append(float(queries[i, own] @ (keys[j, own] + vector)) / math.sqrt(3))
                heights = [math.exp(score) for score in scores]
                expected = [height / sum(heights) for height in heights]
                assert weights[example, head, i].tolist() == pytest.approx(expected, rel=1e-9)


def test_gradients_are_those_of_finite_differences():
    positions, places = made(), torch.arange(5)
    queries = draw(2, 2, 5, 3).requires_grad_()

    def bias(vectors, queries):
        return torch.func.functional_call(
            Bias(positions), {"positions.vectors": vectors}, (places, queries)
        )

    assert torch.autograd.gradcheck(bias, (positions.vectors, queries))


class Bias(torch.nn.Module):
    """The bias of queries at places, as a function of the parameters too."""

    def __init__(self, positions):
        super().__init__()
        self.positions = positions

    def forward(self, places, queries):
        return self.positions.bias(places, places)(queries)


def test_the_fused_kernel_has_the_same_contexts_and_gradients():
    positions, places = made(), torch.arange(65)
    attention = MultiHead(ScaledDot, 6, heads=2).double()
    x, found = draw(2, 65, 6), []
    for need_weights in (True, False):
        order = positions.order(places, places)
        context, _ = attention.attend(x, attention.remember(x, x), need_weights, *order)
        found.append((context, *torch.autograd.grad(context.square().sum(), positions.vectors)))
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("kind", [DecoderOnly, Transformer])
def test_a_model_decodes_as_it_trains(kind):
    vocab = tuple("pbexyz")
    spec = Seq2SeqSpec(vocab, vocab, max_source=30, max_target=25, pad=0, bos=1, eos=2)
    torch.manual_seed(0)
    sizes = {"layers": 2, "heads": 2, "dim": 8, "ff_dim": 8, "positions": Shaw}
    model = kind(spec, score=ScaledDot, **sizes).double().eval()
    source, targets = torch.randint(3, 6, (2, 30)), torch.randint(3, 6, (2, 25))
    mask = (torch.arange(30) < torch.tensor([[30], [11]])).unsqueeze(1)
    source = source.where(mask.squeeze(1), 0)
    state = model.encode(source, mask)
    logits = []
    for symbols in targets.unbind(dim=1):
        each, state = model.step(symbols, state)
        logits.append(each)
    counts = torch.ones_like(targets, dtype=torch.bool)
    whole = model(Batch(targets, source, source, targets, mask, counts)).outputs
    torch.testing.assert_close(torch.stack(logits, dim=1), whole)

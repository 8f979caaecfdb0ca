"""Stick-breaking weights against loops, and the order of keys in tiles and behind padding."""

import math

import pytest
import torch

from attnexp.architectures.decoder_only import DecoderOnly
from attnexp.architectures.positions.none import NoPositions
from attnexp.architectures.transformer import Transformer
from attnexp.attention.pooling import AttentionPooling
from attnexp.attention.streaming import stream
from attnexp.core.batch import Seq2SeqSpec
from attnexp.normalizers.stick_breaking import StickBreaking
from attnexp.scores.additive import Additive
from attnexp.scores.scaled_dot import ScaledDot


def by_breaking(scores, seen):
    """The weights of a row by breaking a stick key after key, the last one first."""
    stick, weights = 1.0, [0.0] * len(scores)
    for key in reversed(range(len(scores))):
        if seen[key]:
            share = 1 / (1 + math.exp(-scores[key]))
            weights[key] = stick * share
            stick *= 1 - share
    return weights


def draw(*shape):
    return 2 * torch.randn(*shape, generator=torch.Generator().manual_seed(5), dtype=torch.float64)


@pytest.mark.parametrize("seen", [[1] * 6, [1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 0, 1], [0] * 6])
def test_weights_are_those_of_a_stick_that_is_broken(seen):
    scores, mask = draw(4, 6), torch.tensor(seen, dtype=torch.bool)
    expected = [by_breaking(row, seen) for row in scores.tolist()]
    found = StickBreaking(heads=1)(scores, mask)
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


def test_a_large_score_leaves_the_digits_of_the_keys_before_it():
    scores = torch.tensor([[1e4, -7.0]])
    expected = torch.tensor([[1 / (1 + math.exp(-7)), 1 / (1 + math.exp(7))]])
    torch.testing.assert_close(StickBreaking(heads=1)(scores), expected)


def test_tiles_have_the_contexts_of_the_whole():
    queries, keys, values = draw(2, 700, 3), draw(2, 500, 3) / 2, draw(2, 500, 4)
    rule, score = StickBreaking(heads=1), ScaledDot(3, 3)
    mask = torch.arange(500).expand(700, 500) <= torch.arange(700).unsqueeze(-1)
    attention = AttentionPooling(score, 4, StickBreaking)
    memory = attention.remember(keys, values, mask.expand(2, 700, 500))
    whole, _ = attention.attend(queries, memory)
    scaled = score.project_queries(queries)
    torch.testing.assert_close(stream(score, rule, scaled, keys, values, memory.mask), whole)


@pytest.mark.parametrize("kind", [DecoderOnly, Transformer])
def test_a_source_padded_in_front_is_the_source_alone(kind):
    """Padding on the left is absent: the last keys keep their order and their weights."""
    vocab = tuple("pbexyz")
    spec = Seq2SeqSpec(vocab, vocab, max_source=5, max_target=3, pad=0, bos=1, eos=2)
    torch.manual_seed(0)
    sizes = {"layers": 2, "heads": 2, "dim": 8, "ff_dim": 8, "positions": NoPositions}
    model = kind(spec, score=small_additive, normalizer=StickBreaking, **sizes).double().eval()
    alone, padded = torch.tensor([[3, 5, 4]]), torch.tensor([[0, 0, 3, 5, 4]])
    answers = []
    for source in (alone, padded):
        state = model.encode(source, (source != 0).unsqueeze(1))
        for symbol in (1, 4, 3):
            logits, state = model.step(torch.tensor([symbol]), state)
        answers.append(logits)
    torch.testing.assert_close(answers[0], answers[1])


def small_additive(query_dim, key_dim):
    return Additive(query_dim, key_dim, hidden_dim=4)

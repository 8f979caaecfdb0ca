"""Divergences from what counting says, by hand."""

import math
from collections.abc import Callable

import pytest
import torch

from attnexp.architectures.decoder_only import DecoderOnly
from attnexp.core.batch import Batch, Prediction
from attnexp.data.markov import MarkovChains
from attnexp.data.sequences import BOS, EOS, FIRST
from attnexp.scores.scaled_dot import ScaledDot
from attnexp.tasks.chains import Chains, by_bigram, by_unigram


def chain(*states):
    targets = FIRST + torch.tensor([states])
    source = torch.tensor([[EOS]])
    return Batch(
        queries=torch.cat([torch.tensor([[BOS]]), targets[:, :-1]], dim=1),
        keys=source,
        values=source,
        targets=targets,
        mask=torch.ones(1, 1, 1, dtype=torch.bool),
        target_mask=torch.ones_like(targets, dtype=torch.bool),
        asked=torch.arange(len(states))[None],
    )


BATCH = chain(0, 1, 1, 0, 1)
NONE = [0.0] * FIRST


def test_unigram_answers_by_hand():
    """One is added to each count: 1/2; after 0 2/3 and 1/3; after 0 1 1/2; after 0 1 1 2/5; ..."""
    expected = [[1 / 2, 1 / 2], [2 / 3, 1 / 3], [1 / 2, 1 / 2], [2 / 5, 3 / 5], [1 / 2, 1 / 2]]
    torch.testing.assert_close(
        by_unigram(BATCH)[0], torch.tensor([NONE + row for row in expected], dtype=torch.float64)
    )


def test_bigram_answers_by_hand():
    """After 0: no pair yet. After 0 1: none from 1. After 0 1 1: one pair 1 1. After ... 0: 0 1."""
    expected = [[1 / 2, 1 / 2], [1 / 2, 1 / 2], [1 / 2, 1 / 2], [1 / 3, 2 / 3], [1 / 3, 2 / 3]]
    torch.testing.assert_close(
        by_bigram(BATCH)[0], torch.tensor([NONE + row for row in expected], dtype=torch.float64)
    )


class Fixed(DecoderOnly):
    """Answers with given probabilities."""

    answer: Callable[[Batch], torch.Tensor]

    def forward(self, batch, need_weights=False):
        weights = super().forward(batch, need_weights).weights
        logits = self.answer(batch).log().clamp(min=-1e9)
        rest = len(self.target_rows) - logits.shape[-1]
        return Prediction(torch.nn.functional.pad(logits, (0, rest), value=-1e9), weights)


@pytest.fixture
def data():
    return MarkovChains(
        torch.Generator().manual_seed(0), num_train=4, num_validation=6, num_test=5, length=9
    )


@pytest.fixture
def answering(data):
    torch.manual_seed(0)
    model = Fixed(data.spec, ScaledDot, layers=1, heads=1, dim=8, feed_forward=False).eval()

    def give(answer):
        model.answer = answer
        return Chains().validate(model, data.validation)

    return give


def test_who_counts_pairs_has_no_divergence_from_them(answering):
    found = answering(by_bigram)
    assert found["kl_bigram"] == pytest.approx(0.0, abs=1e-6)
    assert found["kl_unigram"] > 0.01
    assert answering(by_unigram)["kl_unigram"] == pytest.approx(0.0, abs=1e-6)


def test_the_divergence_of_a_uniform_answer_by_hand(answering, data):
    """KL(reference || uniform over two) = log 2 - H(reference)."""

    def uniform(batch):
        row = torch.tensor([0.0] * FIRST + [0.5, 0.5], dtype=torch.float64)
        return row.expand(*batch.targets.shape, -1)

    reference = by_bigram(data.validation)
    entropy = -torch.xlogy(reference, reference).sum(dim=-1)
    expected = float((math.log(2) - entropy).mean())
    assert answering(uniform)["kl_bigram"] == pytest.approx(expected, abs=1e-6)


def test_the_test_set_has_all_metrics(answering, data):
    torch.manual_seed(0)
    model = DecoderOnly(data.spec, ScaledDot, layers=1, heads=1, dim=8).eval()
    with torch.no_grad():
        metrics = Chains().evaluate(model, data).metrics
    assert {"kl_unigram", "kl_bigram", "test_loss", "token_accuracy"} <= metrics.keys()
    assert "alignment_accuracy" not in metrics

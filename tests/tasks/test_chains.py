"""Divergences from what counting says, by hand."""

import math
from collections.abc import Callable
from functools import partial

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
        by_unigram(BATCH, FIRST + 2)[0],
        torch.tensor([NONE + row for row in expected], dtype=torch.float64),
    )


def test_bigram_answers_by_hand():
    """After 0: no pair yet. After 0 1: none from 1. After 0 1 1: one pair 1 1. After ... 0: 0 1."""
    expected = [[1 / 2, 1 / 2], [1 / 2, 1 / 2], [1 / 2, 1 / 2], [1 / 3, 2 / 3], [1 / 3, 2 / 3]]
    torch.testing.assert_close(
        by_bigram(BATCH, FIRST + 2)[0],
        torch.tensor([NONE + row for row in expected], dtype=torch.float64),
    )


class Fixed(DecoderOnly):
    """Answers with given probabilities."""

    answer: Callable[[Batch], torch.Tensor]

    def forward(self, batch, need_weights=False):
        weights = super().forward(batch, need_weights).weights
        return Prediction(self.answer(batch).log().clamp(min=-1e9), weights)


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
    found = answering(partial(by_bigram, vocab=FIRST + 2))
    assert found["kl_bigram"] == pytest.approx(0.0, abs=1e-6)
    assert found["kl_unigram"] > 0.01
    assert answering(partial(by_unigram, vocab=FIRST + 2))["kl_unigram"] == pytest.approx(
        0.0, abs=1e-6
    )


def test_the_divergence_of_a_uniform_answer_by_hand(answering, data):
    """KL(reference || uniform over two) = log 2 - H(reference)."""

    def uniform(batch):
        row = torch.tensor([0.0] * FIRST + [0.5, 0.5], dtype=torch.float64)
        return row.expand(*batch.targets.shape, -1)

    reference = by_bigram(data.validation, FIRST + 2)
    entropy = -torch.xlogy(reference, reference).sum(dim=-1)
    expected = float((math.log(2) - entropy).mean())
    assert answering(uniform)["kl_bigram"] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("absent", [0, 1, 2])
def test_states_that_a_set_lacks_can_still_follow(absent):
    """Of three states, after one symbol: (n_s + 1) / (1 + 3), whichever never occurs here."""
    first, other = (state for state in range(3) if state != absent)
    expected = [1 / 4] * 3
    expected[first] = 2 / 4
    for predict in (by_unigram, by_bigram):
        found = predict(chain(first, other), FIRST + 3)[0]
        assert found[0].tolist() == pytest.approx([*NONE, 1 / 3, 1 / 3, 1 / 3])
        after = expected if predict is by_unigram else [1 / 3] * 3
        assert found[1].tolist() == pytest.approx(NONE + after)


def test_divergences_count_the_states_that_a_set_lacks():
    """With 30 states and 3 tests: the mean of KL by sums in Python over all 30."""
    data = MarkovChains(torch.Generator().manual_seed(2), 3, 3, 3, length=12, states=30)
    torch.manual_seed(1)
    model = DecoderOnly(data.spec, ScaledDot, layers=1, heads=1, dim=8).eval()
    assert len(data.test.targets.unique()) < 30
    logs = model(data.test).outputs.double().log_softmax(dim=-1)[..., FIRST:].tolist()
    total = 0.0
    for chain_, rows in zip((data.test.targets - FIRST).tolist(), logs, strict=True):
        for t, row in enumerate(rows):
            seen = [chain_[:t].count(state) for state in range(30)]
            shares = [(count + 1) / (t + 30) for count in seen]
            total += sum(p * (math.log(p) - q) for p, q in zip(shares, row, strict=True))
    with torch.no_grad():
        found = Chains().evaluate(model, data).metrics["kl_unigram"]
    assert found == pytest.approx(total / (3 * 12), rel=1e-6)


def test_the_test_set_has_all_metrics(answering, data):
    torch.manual_seed(0)
    model = DecoderOnly(data.spec, ScaledDot, layers=1, heads=1, dim=8).eval()
    with torch.no_grad():
        metrics = Chains().evaluate(model, data).metrics
    assert {"kl_unigram", "kl_bigram", "test_loss", "token_accuracy"} <= metrics.keys()
    assert "alignment_accuracy" not in metrics

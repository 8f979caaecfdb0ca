"""Chains of symbols: the divergence of a model's answers from predictions by counts."""

from collections.abc import Callable
from typing import ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from attnexp.core.batch import Batch
from attnexp.data.sequences import FIRST
from attnexp.tasks import seq2seq
from attnexp.tasks.base import Metric
from attnexp.tasks.seq2seq import Answers, SequenceToSequence


def by_unigram(batch: Batch, vocab: int) -> Float[Tensor, "batch target vocab"]:
    """Return (n_s + 1) / (t + S), with n_s the count of the symbol s among the t symbols so far.

    This is the mean distribution of the next symbol if symbols are independent and their
    distribution is Dirichlet(1). S is the number of symbols that can follow: those of the `vocab`
    ids that are not special. A special symbol has 0.
    """
    seen = _indicators(batch, vocab)
    return _smoothed(seen.cumsum(dim=1))


def by_bigram(batch: Batch, vocab: int) -> Float[Tensor, "batch target vocab"]:
    """Return (n_rs + 1) / (n_r + S), with n_rs how often s has followed the last symbol r so far.

    This is the mean of P[r, s] given the symbols so far, if each row of P is Dirichlet(1). It is
    the best answer except for the first symbol, which is drawn from the stationary distribution.
    """
    seen = _indicators(batch, vocab)
    before = F.pad(seen[:, :-1], (0, 0, 1, 0))
    # pairs[t, r, s]: how often s has followed r up to t
    pairs = (before.unsqueeze(-1) * seen.unsqueeze(-2)).cumsum(dim=1)
    return _smoothed((pairs * seen.unsqueeze(-1)).sum(dim=-2))


def _indicators(batch: Batch, vocab: int) -> Float[Tensor, "batch target vocab"]:
    """Return the inputs as one-hot rows. Special symbols are rows of zeros."""
    rows = F.one_hot(batch.queries, vocab).cpu().double()
    return rows * _can_follow(vocab)


def _smoothed(counts: Float[Tensor, "batch target vocab"]) -> Float[Tensor, "batch target vocab"]:
    """Return counts as probabilities, after adding 1 for each symbol that can follow."""
    counts = counts + _can_follow(counts.shape[-1])
    return counts / counts.sum(dim=-1, keepdim=True)


def _can_follow(vocab: int) -> Bool[Tensor, " vocab"]:
    """Return which symbols can be targets: all but special symbols."""
    return torch.arange(vocab) >= FIRST


def _divergence(answers: Answers, predict: Callable[[Batch, int], Tensor]) -> float:
    """Return the mean over symbols of KL(predictions || answers), in nats."""
    reference = predict(answers.batch, answers.outputs.shape[-1])
    logs = answers.outputs.cpu().double().log_softmax(dim=-1)
    gaps = torch.xlogy(reference, reference) - reference * logs
    return float(gaps.sum(dim=-1)[answers.batch.target_mask.cpu()].mean())


CHAIN_METRICS = (
    Metric(
        "kl_unigram",
        lambda answers: _divergence(answers, by_unigram),
        "mean divergence of the answers from predictions by the counts of symbols so far",
        unit="nats",
        headline=True,
        validated=True,
    ),
    Metric(
        "kl_bigram",
        lambda answers: _divergence(answers, by_bigram),
        "mean divergence of the answers from predictions by the counts of pairs of symbols so far",
        better="lower",
        unit="nats",
        headline=True,
        validated=True,
        selects=True,
    ),
)


class Chains(SequenceToSequence):
    """Cross-entropy over all symbols of a chain; see `CHAIN_METRICS` and `seq2seq.METRICS`.

    The two divergences are those of Edelman et al. (2024), section 3. A model that looks at
    frequencies alone has a small `kl_unigram`. A model that has learned to look up which symbols
    followed the last one has a small `kl_bigram`.

    Raises ValueError for num_shown below 1.
    """

    primary = "kl_bigram"
    answer_metrics: ClassVar[tuple[Metric, ...]] = (*CHAIN_METRICS, *seq2seq.METRICS)
    metrics: ClassVar[tuple[Metric, ...]] = answer_metrics

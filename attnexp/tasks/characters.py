"""The characters of a text: how many bits a model needs for each."""

import math
from typing import ClassVar

from attnexp.tasks import seq2seq
from attnexp.tasks.base import Metric
from attnexp.tasks.seq2seq import Answers, SequenceToSequence, gold_log_probabilities


def bits_per_character(answers: Answers, times: int) -> float | None:
    """Return the mean of -log2 p(next character) over windows of one length.

    The length is `times` that of the shortest windows. None if there is no such window.
    """
    lengths = answers.batch.target_mask.sum(dim=1)
    own = lengths == times * lengths.min()
    if not own.any():
        return None
    logs = gold_log_probabilities(answers.outputs, answers.batch)[own]
    return -float(logs.cpu().double().sum()) / (int(lengths[own].sum()) * math.log(2))


CHARACTER_METRICS = (
    Metric(
        "bits_per_character",
        lambda answers: bits_per_character(answers, 1),
        "mean -log2 p(next character) in windows of the length of training",
        better="lower",
        unit="bits",
        headline=True,
        validated=True,
        selects=True,
        companions={"chance": "bigram_bits"},
    ),
    Metric(
        "bits_per_character_2x",
        lambda answers: bits_per_character(answers, 2),
        "bits per character of the same text in windows twice as long",
        better="lower",
        unit="bits",
        headline=True,
    ),
    Metric(
        "bits_per_character_4x",
        lambda answers: bits_per_character(answers, 4),
        "bits per character of the same text in windows four times as long",
        better="lower",
        unit="bits",
        headline=True,
    ),
    Metric(
        "unigram_bits",
        lambda answers: answers.guessed.get("unigram_bits_chance"),
        "bits per character by the counts of characters in training",
        unit="bits",
        headline=True,
    ),
    Metric(
        "bigram_bits",
        lambda answers: answers.guessed.get("bigram_bits_chance"),
        "bits per character by the counts of pairs of characters in training",
        unit="bits",
        headline=True,
    ),
)


class NextCharacter(SequenceToSequence):
    """Cross-entropy over all characters of a window; see `CHARACTER_METRICS`, `seq2seq.METRICS`.

    The test has the same characters in windows of one, two and four times the length of training.
    `exact_match`, `token_accuracy` and `test_loss` are over all windows.

    Raises ValueError for num_shown below 1.
    """

    primary = "bits_per_character"
    answer_metrics: ClassVar[tuple[Metric, ...]] = (*CHARACTER_METRICS, *seq2seq.METRICS)
    metrics: ClassVar[tuple[Metric, ...]] = answer_metrics

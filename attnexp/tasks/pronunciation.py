"""Spelling to sound: the error rates of phonemes and of words."""

import statistics
from typing import ClassVar

from attnexp.tasks import seq2seq
from attnexp.tasks.base import Metric
from attnexp.tasks.texts import TextTask, error_rate

PRONUNCIATION_METRICS = (
    Metric(
        "phoneme_error_rate",
        lambda texts: error_rate(
            [answer.split() for answer in texts.answers],
            [[each.split() for each in right] for right in texts.references],
        ),
        "phonemes to insert, delete or replace in the decoded answers, over those of the nearest "
        "pronunciations",
        better="lower",
        unit="errors per symbol",
        headline=True,
    ),
    Metric(
        "word_error_rate",
        lambda texts: statistics.fmean(
            answer not in right
            for answer, right in zip(texts.answers, texts.references, strict=True)
        ),
        "share of words whose decoded answer is none of their pronunciations",
        better="lower",
        unit="share",
        headline=True,
    ),
)


class Pronunciation(TextTask):
    """Compares pronunciations by phonemes and by words: see `PRONUNCIATION_METRICS`.

    A word with several pronunciations counts by the one that is nearest to the answer.

    Raises ValueError for num_shown below 1.
    """

    primary = "phoneme_error_rate"
    text_metrics = PRONUNCIATION_METRICS
    metrics: ClassVar[tuple[Metric, ...]] = (*PRONUNCIATION_METRICS, *seq2seq.METRICS)

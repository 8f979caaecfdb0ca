"""Text to text: BLEU, chrF and the character error rate."""

from dataclasses import replace
from itertools import zip_longest
from typing import ClassVar, Literal

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from attnexp.tasks import seq2seq
from attnexp.tasks.base import Metric
from attnexp.tasks.texts import Texts, TextTask, error_rate


def _score(texts: Texts, metric: BLEU | CHRF) -> float:
    """Return a metric of all answers together.

    sacrebleu takes the first reference of each example, the second, ..., None where there is none.
    """
    return metric.corpus_score(texts.answers, list(zip_longest(*texts.references))).score


TRANSLATION_METRICS = (
    Metric(
        "bleu",
        lambda texts: _score(texts, BLEU(tokenize=texts.tokenize)),
        "BLEU of all decoded answers together, by sacrebleu (Papineni 2002, Post 2018)",
        better="higher",
        unit="of 100",
        headline=True,
    ),
    Metric(
        "chrf",
        lambda texts: _score(texts, CHRF()),
        "chrF2 of all decoded answers together, by sacrebleu (Popović 2015)",
        better="higher",
        unit="of 100",
        headline=True,
    ),
    Metric(
        "character_error_rate",
        lambda texts: error_rate(texts.answers, texts.references),
        "characters to insert, delete or replace in the decoded answers, over those of the "
        "nearest references",
        better="lower",
        unit="share",
        headline=True,
    ),
)


class Translation(TextTask):
    """Compares texts by BLEU, chrF and edited characters: see `TRANSLATION_METRICS`.

    Raises ValueError for num_shown below 1.
    """

    primary = "bleu"
    text_metrics = TRANSLATION_METRICS
    metrics: ClassVar[tuple[Metric, ...]] = (*TRANSLATION_METRICS, *seq2seq.METRICS)

    def __init__(
        self, num_shown: int = 8, tokenize: Literal["13a", "intl", "zh", "char", "none"] = "13a"
    ) -> None:
        super().__init__(num_shown)
        self.tokenize = tokenize

    def measure_texts(self, texts: Texts) -> dict[str, float]:
        return super().measure_texts(replace(texts, tokenize=self.tokenize))

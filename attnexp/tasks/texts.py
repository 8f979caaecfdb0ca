"""The base of tasks on text: answers are compared as texts, with one reference or more."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, cast

from jaxtyping import Int
from torch import Tensor

from attnexp.architectures.base import Architecture
from attnexp.core.batch import Batch, Seq2SeqSpec
from attnexp.data.base import Dataset
from attnexp.data.text import target_text
from attnexp.data.text_pairs import TextPairs
from attnexp.tasks.base import Evaluation, Metric, measured
from attnexp.tasks.seq2seq import SequenceToSequence


@dataclass(frozen=True)
class Texts:
    """The answers of a model to the test examples, and one or more right texts for each.

    A reference keeps symbols that are not in the vocabulary, so an answer with `<unk>` is never
    right.
    """

    answers: Sequence[str]
    references: Sequence[Sequence[str]]


class TextTask(SequenceToSequence):
    """Cross-entropy over the target symbols, and `text_metrics` of the texts that the symbols make.

    The references are those of the data, or the targets if the data have none. In predictions.csv
    the target is the first reference.
    """

    text_metrics: ClassVar[tuple[Metric, ...]]

    def evaluate(
        self, model: Architecture, dataset: Dataset, untrained: Iterable[Architecture] = ()
    ) -> Evaluation:
        evaluation = super().evaluate(model, dataset, untrained)
        references: Sequence[Sequence[str]] = (
            dataset.references
            if isinstance(dataset, TextPairs)
            else [(str(row["target"]),) for row in evaluation.rows]
        )
        texts = Texts([str(row["decoded"]) for row in evaluation.rows], references)
        return replace(
            evaluation,
            metrics={**evaluation.metrics, **self.measure_texts(texts)},
            notes=(*evaluation.notes, *self.text_notes(texts)),
            rows=[
                {**row, "target": own[0]}
                for row, own in zip(evaluation.rows, references, strict=True)
            ],
        )

    def of_texts(
        self, decoded: Int[Tensor, "batch target"], batch: Batch, dataset: Dataset
    ) -> dict[str, float]:
        spec = cast(Seq2SeqSpec, dataset.spec)
        pairs = zip(decoded, batch.targets, batch.target_mask, strict=True)
        texts = [
            (target_text(answer[counts], spec), target_text(target[counts], spec))
            for answer, target, counts in pairs
        ]
        references: Sequence[Sequence[str]] = [(target,) for _, target in texts]
        if batch is dataset.test and isinstance(dataset, TextPairs):
            references = dataset.references
        return self.measure_texts(Texts([answer for answer, _ in texts], references))

    def measure_texts(self, texts: Texts) -> dict[str, float]:
        """Return the metrics of the answers as texts."""
        return measured({metric.name: metric for metric in self.text_metrics}, texts)

    def text_notes(self, texts: Texts) -> tuple[str, ...]:
        """Return notes on the metrics of these texts."""
        return ()


def error_rate(
    answers: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]
) -> float:
    """Return the edits of all answers, divided by the lengths of the references that count.

    Lengths count symbols. An edit inserts, deletes or replaces a symbol. Of several references for
    an answer, that with the fewest edits counts, and of such ones the longest.
    """
    from rapidfuzz.distance import Levenshtein

    edits = length = 0
    for answer, right in zip(answers, references, strict=True):
        fewest, longest = min((Levenshtein.distance(answer, own), -len(own)) for own in right)
        edits, length = edits + fewest, length - longest
    return edits / length

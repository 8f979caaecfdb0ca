"""Sequence to sequence: cross-entropy, exact match, and where the model looked."""

from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attnexp.architectures.base import Architecture
from attnexp.architectures.seq2seq import Seq2Seq
from attnexp.attention.alignment import scorecard
from attnexp.batch import Batch, Prediction, Seq2SeqSpec
from attnexp.data.base import Dataset
from attnexp.data.text import source_text, target_text
from attnexp.tasks.base import Attended, Evaluation, Task

PORTION = 512
"""Examples that are measured at once."""


class SequenceToSequence(Task):
    """Cross-entropy over the target symbols, the end symbol included, and padding left out.

    Metrics, of the test set:

    - `exact_match`: share of greedily decoded answers that are the target, end symbol included.
    - `token_accuracy`: share of target symbols that the decoded answer has in the same place.
    - `test_loss`: mean cross-entropy a symbol under teacher forcing, nats; `perplexity` is exp of
      it.
    - `val_loss`, `val_exact_match`: the same of the validation set, under teacher forcing.
    - `baseline_token_accuracy`: the token accuracy of the trivial answer, the commonest symbol of
      the training targets everywhere.
    - the alignment scorecard of the attention from decoder to encoder under teacher forcing, where
      the data know the gold key of any target. See `attnexp.attention.alignment.Scorecard`.

    The detail `exact_match_by_length` cuts exact match by the length of the target without its end
    symbol. The attention of the first `num_shown` test examples is kept.

    Raises ValueError for num_shown below 1.
    """

    primary = "exact_match"
    selection = "val_loss"
    better: ClassVar[Mapping[str, Literal["lower", "higher"]]] = {
        "exact_match": "higher",
        "token_accuracy": "higher",
        "test_loss": "lower",
        "perplexity": "lower",
        "val_loss": "lower",
        "val_exact_match": "higher",
        "alignment_accuracy": "higher",
        "alignment_error_rate": "lower",
        "gold_mass": "higher",
    }

    def __init__(self, num_shown: int = 8) -> None:
        if num_shown < 1:
            raise ValueError(f"num_shown must be at least 1, got {num_shown}")
        self.num_shown = num_shown

    def loss(self, prediction: Prediction, batch: Batch) -> Float[Tensor, ""]:
        return F.cross_entropy(
            prediction.outputs[batch.target_mask], batch.targets[batch.target_mask]
        )

    def validate(self, model: Architecture, batch: Batch) -> dict[str, float]:
        """Loss, accuracies and the alignment scorecard under teacher forcing.

        Exact match is that of greedy decoding all the same: while every symbol so far is right,
        both see the same symbols, so the first error of one is the first error of the other.
        """
        logits, weights = _teacher_forced(model, batch)
        right = (logits.argmax(dim=-1) == batch.targets) | ~batch.target_mask
        return {
            "loss": self.loss(Prediction(logits, {}), batch).item(),
            "exact_match": _share(right.all(dim=-1)),
            "token_accuracy": _share(right[batch.target_mask]),
            **_alignment(weights, batch),
        }

    def evaluate(self, model: Architecture, dataset: Dataset) -> Evaluation:
        if not isinstance(model, Seq2Seq):
            raise TypeError(f"{type(model).__name__} cannot decode: it is no Seq2Seq")
        spec, test = _sequence_spec(dataset), dataset.test
        validated = {} if dataset.validation is None else self.validate(model, dataset.validation)
        decoded = _decode(model, test, spec)
        exact = ((decoded == test.targets) | ~test.target_mask).all(dim=-1)
        logits, weights = _teacher_forced(model, test)
        loss = self.loss(Prediction(logits, {}), test)
        trivial = dataset.train.targets[dataset.train.target_mask].mode().values
        lengths = test.target_mask.sum(dim=-1) - 1
        return Evaluation(
            metrics={
                "exact_match": _share(exact),
                "token_accuracy": _share((decoded == test.targets)[test.target_mask]),
                "test_loss": loss.item(),
                "perplexity": loss.exp().item(),
                **{
                    f"val_{name}": validated[name]
                    for name in ("loss", "exact_match")
                    if name in validated
                },
                "baseline_token_accuracy": _share(test.targets[test.target_mask] == trivial),
                **_alignment(weights, test),
            },
            rows=list(_rows(test, decoded, exact, spec)),
            details={
                "exact_match_by_length": {
                    str(length): _share(exact[lengths == length])
                    for length in lengths.unique().tolist()
                }
            },
        )

    def attend(self, model: Architecture, dataset: Dataset) -> Attended:
        shown = dataset.test.select(slice(self.num_shown))
        return Attended(shown, model(shown, need_weights=True).weights)


def _teacher_forced(
    model: Architecture, whole: Batch
) -> tuple[Float[Tensor, "batch target vocab"], Float[Tensor, "batch layers heads target source"]]:
    """Logits and attention from decoder to encoder, a portion of the examples at a time."""
    predictions = [model(part, need_weights=True) for part in _parts(whole)]
    return (
        torch.cat([prediction.outputs for prediction in predictions]),
        torch.cat([prediction.weights["cross"] for prediction in predictions]),
    )


def _decode(model: Seq2Seq, whole: Batch, spec: Seq2SeqSpec) -> Int[Tensor, "batch target"]:
    """Greedy answers, padded to the width of the targets."""
    width = whole.targets.shape[1]
    answers = [model.greedy(part.keys, part.mask, width) for part in _parts(whole)]
    return torch.cat([F.pad(ids, (0, width - ids.shape[1]), value=spec.pad) for ids in answers])


def _parts(whole: Batch) -> Iterator[Batch]:
    for first in range(0, len(whole), PORTION):
        yield whole.select(slice(first, first + PORTION))


def _alignment(
    weights: Float[Tensor, "batch layers heads target source"], batch: Batch
) -> dict[str, float]:
    if batch.alignment is None or not (batch.target_mask & (batch.alignment >= 0)).any():
        return {}
    return scorecard(weights, batch.alignment, batch.mask, batch.target_mask).metrics()


def _rows(
    test: Batch,
    decoded: Int[Tensor, "batch target"],
    exact: Bool[Tensor, " batch"],
    spec: Seq2SeqSpec,
) -> Iterator[dict[str, object]]:
    rows = zip(test.keys.cpu(), test.targets.cpu(), decoded.cpu(), exact.tolist(), strict=True)
    for source, target, answer, right in rows:
        yield {
            "source": source_text(source, spec),
            "target": target_text(target, spec),
            "decoded": target_text(answer, spec),
            "exact": int(right),
        }


def _sequence_spec(dataset: Dataset) -> Seq2SeqSpec:
    if not isinstance(dataset.spec, Seq2SeqSpec):
        raise TypeError(f"{type(dataset).__name__} is no sequence data")
    return dataset.spec


def _share(hits: Bool[Tensor, "*any"]) -> float:
    return hits.to(torch.float64).mean().item()

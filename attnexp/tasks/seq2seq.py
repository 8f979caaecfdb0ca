"""Sequence to sequence: cross-entropy, exact match, and the alignment of the attention."""

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attnexp.architectures.base import Architecture
from attnexp.architectures.seq2seq import Seq2Seq
from attnexp.attention.alignment import Scorecard, gold_mass_by_example, scorecard
from attnexp.attention.base import is_signed
from attnexp.core.batch import Batch, Prediction, Seq2SeqSpec
from attnexp.data.base import Dataset
from attnexp.data.floors import Floor, Rivals
from attnexp.data.text import source_text, target_text
from attnexp.tasks.base import (
    Attended,
    Evaluation,
    Metric,
    Task,
    measured,
    require_sound_weights,
)
from attnexp.tasks.decoding import decode, portions

PADDED = -100
"""The label of a target that does not count. No symbol has this id."""


@dataclass(frozen=True)
class Answers:
    """The answers of a model to one split.

    - `decoded` are the symbols of the answers: decoded greedily, or in a validation the most
      probable ones under teacher forcing. Exact match is the same of both: while every symbol so
      far is right, both see the same symbols, so the first error of one is the first error of the
      other. If the data give the decoder's input, nothing is fed back and the two are equal.
    - `outputs` are the logits under teacher forcing, and `loss` is their mean cross-entropy per
      symbol, in nats.
    - `card` scores the attention from decoder to encoder under teacher forcing. It is None if no
      target has a gold key.
    - `gold_mass` is the weight on the gold keys, mean over each example.
    - `head` is the layer and head whose numbers are reported: the best one on the validation set,
      whichever split is measured.
    - `guessed` are the metrics of guesses, and of the maps of untrained models.
    """

    batch: Batch
    decoded: Int[Tensor, "batch target"]
    outputs: Float[Tensor, "batch target vocab"]
    loss: Float[Tensor, ""]
    card: Scorecard | None
    gold_mass: Float[Tensor, "batch layers heads"] | None
    head: tuple[int, int]
    guessed: Mapping[str, float] = field(default_factory=dict)

    @property
    def right(self) -> Bool[Tensor, " symbols"]:
        """Whether the answer has each target symbol that counts in its place."""
        return (self.decoded == self.batch.targets)[self.batch.target_mask]

    def by_head(self) -> dict[str, float]:
        """Return the metrics of every head, none if no target has a gold key."""
        return {} if self.card is None else self.card.by_head()

    @cached_property
    def of_head(self) -> dict[str, float]:
        """The metrics of the reported head, none if no target has a gold key."""
        return {} if self.card is None else self.card.of_head(self.head)

    @property
    def exact(self) -> Bool[Tensor, " batch"]:
        """Whether each answer is the target, end symbol included."""
        return ((self.decoded == self.batch.targets) | ~self.batch.target_mask).all(dim=-1)


def _guessed(name: str, doc: str) -> Metric:
    """Return a metric of guessing, whose value is that of this name in `Answers.guessed`."""
    return Metric(name, lambda answers: answers.guessed.get(name), doc, unit="share", headline=True)


def _alignment_metric(name: str, doc: str, **declared: Any) -> Metric:
    """Return a metric of the reported head, whose value is that of this name in the scorecard.

    `declared` are other fields of the Metric.
    """

    doc += "; of the best head"
    return Metric(name, lambda answers: answers.of_head.get(name), doc, validated=True, **declared)


def _mean_over_heads(name: str, doc: str, **declared: Any) -> Metric:
    """Return a metric whose value is the mean over heads of the number `name` in the scorecard.

    `declared` are other fields of the Metric.
    """

    def mean(answers: Answers) -> Tensor | None:
        return None if answers.card is None else answers.card.numbers[name].mean()

    return Metric(f"{name}_mean", mean, f"{doc}, mean over all layers and heads", **declared)


METRICS = (
    Metric(
        "exact_match",
        lambda answers: _share(answers.exact),
        "share of greedily decoded answers that are the target, end symbol included",
        better="higher",
        unit="share",
        headline=True,
        validated=True,
        selects=True,
        milestone=0.9,
        companions={"chance": "exact_match_chance"},
    ),
    Metric(
        "token_accuracy",
        lambda answers: _share(answers.right),
        "share of target symbols that the decoded answer has in the same place",
        better="higher",
        unit="share",
        headline=True,
        validated=True,
        selects=True,
        milestone=0.9,
        companions={"chance": "baseline_token_accuracy"},
    ),
    Metric(
        "test_loss",
        lambda answers: answers.loss,
        "mean cross-entropy per symbol under teacher forcing, the logarithm of perplexity",
        better="lower",
        unit="nats",
        headline=True,
        validated=True,
        selects=True,
    ),
    _guessed(
        "exact_match_chance",
        "exact match of the best answers that read no key, if the data state a chance",
    ),
    _guessed(
        "token_accuracy_chance",
        "token accuracy of the best answers that read no key, if the data state a chance",
    ),
    _guessed(
        "baseline_token_accuracy",
        "token accuracy of the trivial answer, the commonest symbol of the training targets",
    ),
    _alignment_metric(
        "alignment_accuracy",
        "share of queries whose largest weight is on the gold key",
        better="higher",
        unit="share",
        headline=True,
        milestone=0.9,
        companions={"all heads": "alignment_accuracy_mean", "chance": "alignment_accuracy_chance"},
    ),
    _mean_over_heads("alignment_accuracy", "alignment accuracy", unit="share", headline=True),
    _guessed(
        "alignment_accuracy_chance",
        "mean alignment accuracy of untrained models of the same shape, with heads chosen alike",
    ),
    _guessed(
        "alignment_accuracy_chance_se",
        "standard error of that mean over the untrained models; of n seeds, 1 / sqrt(n) of it",
    ),
    _alignment_metric(
        "before", "share of queries whose largest weight is one key before gold", unit="share"
    ),
    _alignment_metric(
        "after", "share of queries whose largest weight is one key after gold", unit="share"
    ),
    _alignment_metric(
        "gold_mass",
        "weight on the gold key, mean over queries",
        better="higher",
        unit="weight",
        companions={"all heads": "gold_mass_mean"},
    ),
    _mean_over_heads("gold_mass", "weight on the gold key", unit="weight"),
    _alignment_metric(
        "entropy", "entropy of a row of weights over their sum, mean over queries", unit="nats"
    ),
    _alignment_metric("relative_entropy", "entropy over that of a uniform row: 1 is uniform"),
    _alignment_metric("peaked", "share of queries with a weight above 0.99", unit="share"),
    _alignment_metric(
        "support", "number of keys with a weight above 0, mean over queries", unit="keys"
    ),
    _alignment_metric(
        "sink_mass", "1 - the sum of the weights of a row, mean over queries", unit="weight"
    ),
    _alignment_metric(
        "gold_sink_mass",
        "1 - the sum of the weights of a row, mean over queries with a gold key",
        unit="weight",
    ),
    _alignment_metric(
        "negative_mass",
        "size of the negative weights of a row, mean over queries, if an estimator makes such",
        unit="weight",
    ),
)
"""The metrics. Those of the alignment are of one head, the best one on the validation set; the
summary has each head's too."""


class SequenceToSequence(Task):
    """Cross-entropy over the target symbols, the end symbol included, and padding left out.

    `METRICS` declares the metrics. Those of the alignment need data with gold keys; see
    `attnexp.attention.alignment.Scorecard`.

    The details `exact_match_by_length` and `gold_mass_by_length` cut two metrics by the length of
    the source without its end symbol: exact match, and the weight of the reported head on the gold
    key, mean over examples. `lengths_in_training` has the shortest and the longest source of
    training. The attention of the first `num_shown` test examples is kept.

    Raises ValueError for num_shown below 1.
    """

    primary = "exact_match"
    selection = "val_loss"
    answer_metrics: ClassVar[tuple[Metric, ...]] = METRICS
    """The metrics of the task that are measured from `Answers`."""
    metrics: ClassVar[tuple[Metric, ...]] = METRICS

    def __init__(self, num_shown: int = 8) -> None:
        if num_shown < 1:
            raise ValueError(f"num_shown must be at least 1, got {num_shown}")
        self.num_shown = num_shown

    def loss(self, prediction: Prediction, batch: Batch) -> Float[Tensor, ""]:
        # Without an index: the number of symbols that count is unknown until the GPU has counted.
        counts = batch.target_mask
        logits = prediction.outputs.where(counts.unsqueeze(-1), 0.0)
        targets = batch.targets.masked_fill(~counts, PADDED)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=PADDED)

    def validate(self, model: Architecture, batch: Batch) -> dict[str, float]:
        """Return the validated metrics, under teacher forcing, and those of each head."""
        answers = self._answers(model, batch)
        return measured(self.validated, answers) | answers.by_head()

    def evaluate(
        self, model: Architecture, dataset: Dataset, untrained: Iterable[Architecture] = ()
    ) -> Evaluation:
        spec, test = cast(Seq2SeqSpec, dataset.spec), dataset.test
        held_out, rivals = dataset.validation, Rivals.of(dataset)
        reached = rivals.floors()
        validation = None if held_out is None else self._answers(model, held_out)
        answers = replace(
            self._answers(model, test, decode(cast("Seq2Seq[Any]", model), test, spec)),
            head=(0, 0) if validation is None else validation.head,
            guessed=self._guesses(dataset, reached, untrained),
        )
        metrics = measured({metric.name: metric for metric in self.answer_metrics}, answers)
        if validation is not None:
            kept = {f"val_{name}": m for name, m in self.validated.items() if m.selects}
            metrics |= measured(kept, validation)
        lengths, trained = (source_lengths(batch, spec) for batch in (test, dataset.train))
        return Evaluation(
            metrics=metrics | answers.by_head(),
            rows=list(_rows(answers, spec)),
            details=_by_length(answers, lengths)
            | _chance_by_length(rivals, reached.get("exact_match"), lengths)
            | {
                "lengths_in_training": {
                    "shortest": float(trained.min()),
                    "longest": float(trained.max()),
                },
            },
            floors={f"{name}_chance": floor.rival for name, floor in reached.items()},
        )

    def by_example(
        self,
        outputs: Float[Tensor, "batch target vocab"],
        batch: Batch,
        dataset: Dataset,
        decoded: Int[Tensor, "batch target"] | None = None,
    ) -> dict[str, Float[Tensor, " batch"]]:
        answers = outputs.argmax(dim=-1) if decoded is None else decoded
        counts = batch.target_mask
        right = (answers == batch.targets) & counts
        symbols = counts.sum().cpu().double() / len(batch)
        found = {
            "exact_match": (right | ~counts).all(dim=-1).cpu().double(),
            "token_accuracy": right.sum(dim=-1).cpu() / symbols,
        }
        if decoded is None:
            losses = -gold_log_probabilities(outputs, batch).sum(dim=-1)
            found["test_loss"] = losses.cpu().double() / symbols
        return found

    def _answers(
        self, model: Architecture, batch: Batch, decoded: Int[Tensor, "batch target"] | None = None
    ) -> Answers:
        whole, outputs, maps = cast("Seq2Seq[Any]", model).whole, [], []
        for part in portions(batch):
            prediction = model(part, need_weights=True)
            require_sound_weights(model, prediction.weights[whole], part.mask)
            outputs.append(prediction.outputs)
            maps.append(prediction.weights["cross"])
        logits, weights = torch.cat(outputs), torch.cat(maps)
        card, gold_mass = _scorecard(model, weights, batch), None
        if card is not None and batch.alignment is not None:
            gold_mass = gold_mass_by_example(weights, batch.alignment, batch.target_mask)
        return Answers(
            batch=batch,
            decoded=logits.argmax(dim=-1) if decoded is None else decoded,
            outputs=logits,
            loss=self.loss(Prediction(logits, {}), batch),
            card=card,
            gold_mass=gold_mass,
            head=_best_head(card),
        )

    @staticmethod
    def _guesses(
        dataset: Dataset, reached: Mapping[str, Floor], untrained: Iterable[Architecture]
    ) -> dict[str, float]:
        """Return the metrics of guesses, and of chance.

        Guesses are the best rival without a key and the commonest symbol. Chance is the mean over
        untrained models.
        """
        train, test = dataset.train, dataset.test
        trivial = train.targets[train.target_mask].mode().values
        values = {**dataset.chance, **{name: floor.value for name, floor in reached.items()}}
        guesses = {f"{name}_chance": value for name, value in values.items()}
        guesses["baseline_token_accuracy"] = _share(test.targets[test.target_mask] == trivial)
        chances = []
        for model in untrained:
            card = _card(model, test)
            if card is None:
                break
            validated = None if dataset.validation is None else _card(model, dataset.validation)
            chances.append(float(card.alignment_accuracy[_best_head(validated)]))
        if chances:
            guesses["alignment_accuracy_chance"] = statistics.fmean(chances)
        if len(chances) > 1:
            error = statistics.stdev(chances) / math.sqrt(len(chances))
            guesses["alignment_accuracy_chance_se"] = error
        return guesses

    def attend(self, model: Architecture, dataset: Dataset) -> Attended:
        shown = dataset.test.select(slice(self.num_shown))
        return Attended(shown, model(shown, need_weights=True).weights)


def _chance_by_length(
    rivals: Rivals, best: Floor | None, lengths: Int[Tensor, " batch"]
) -> dict[str, Mapping[str, float]]:
    """Return the exact match, by length, of the rival that is best on the whole test set.

    Empty if the best guess is none of the rivals. The best rival of each length would be chosen by
    few examples.
    """
    if best is None or best.rival not in rivals.right:
        return {}
    own = {length: (lengths == length).cpu() for length in lengths.unique().tolist()}
    shares = {str(length): rivals.exact_match(best.rival, rows) for length, rows in own.items()}
    return {"exact_match_chance_by_length": shares}


def _by_length(answers: Answers, lengths: Int[Tensor, " batch"]) -> dict[str, Mapping[str, float]]:
    """Return exact match by length, and the weight on the gold key if the data have gold keys."""
    rows = {length: lengths == length for length in lengths.unique().tolist()}
    details: dict[str, Mapping[str, float]] = {
        "exact_match_by_length": {
            str(length): _share(answers.exact[own]) for length, own in rows.items()
        }
    }
    if answers.gold_mass is not None:
        of_head = answers.gold_mass[:, *answers.head]
        details["gold_mass_by_length"] = {
            str(length): float(of_head[own].nanmean()) for length, own in rows.items()
        }
    return details


def gold_log_probabilities(
    logits: Float[Tensor, "batch target vocab"], batch: Batch
) -> Float[Tensor, "batch target"]:
    """Return the log-probability of each target symbol in nats, 0 for one that does not count."""
    logs = logits.log_softmax(dim=-1).gather(-1, batch.targets.unsqueeze(-1)).squeeze(-1)
    return logs.where(batch.target_mask, 0.0)


def source_lengths(batch: Batch, spec: Seq2SeqSpec) -> Int[Tensor, " batch"]:
    """Return the number of symbols of each source, without its end symbol."""
    return (batch.mask.any(dim=1) & (batch.keys != spec.eos)).sum(dim=-1)


def _card(model: Architecture, batch: Batch) -> Scorecard | None:
    maps = [model(part, need_weights=True).weights["cross"] for part in portions(batch)]
    return _scorecard(model, torch.cat(maps), batch)


def _best_head(validated: Scorecard | None) -> tuple[int, int]:
    """Return the layer and head with the best scores, the first without scores."""
    return (0, 0) if validated is None else validated.best()


def _scorecard(
    model: Architecture, weights: Float[Tensor, "batch layers heads target source"], batch: Batch
) -> Scorecard | None:
    if batch.alignment is None:
        return None
    signed = is_signed(model)
    return scorecard(weights, batch.alignment, batch.mask, batch.target_mask, signed)


def _rows(answers: Answers, spec: Seq2SeqSpec) -> Iterator[dict[str, object]]:
    test, exact = answers.batch.to(torch.device("cpu")), answers.exact.tolist()
    rows = zip(test.keys, test.targets, answers.decoded.cpu(), exact, strict=True)
    for i, (source, target, answer, right) in enumerate(rows):
        row: dict[str, object] = {"source": source_text(source[test.mask[i].any(dim=0)], spec)}
        counts: Tensor | slice = slice(None)
        if test.asked is not None:
            counts, given = test.target_mask[i], test.queries[i]
            row["queries"] = target_text(given[given != spec.pad], spec)
        yield row | {
            "target": target_text(target[counts], spec),
            "decoded": target_text(answer[counts], spec),
            "exact": int(right),
        }


def _share(hits: Bool[Tensor, "*any"]) -> float:
    return hits.cpu().to(torch.float64).mean().item()  # an Apple GPU has no float64

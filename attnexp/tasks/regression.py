"""Regression: squared error, and how wide the attention looks."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from jaxtyping import Float
from torch import Tensor

from attnexp.architectures.base import Architecture
from attnexp.attention.statistics import entropy, is_uniform, shares, sink_mass, support
from attnexp.batch import Batch, Prediction
from attnexp.data.base import Dataset
from attnexp.tasks.base import Attended, Evaluation, Metric, Task, measured, require_sound_weights


@dataclass(frozen=True)
class Fit:
    """What regression measures of a model.

    `errors` and `loo_errors` are prediction minus target, of the test points without noise and of
    the training points, each hidden from itself. `baseline_errors` are those of the mean of the
    training values. `weights` are the attention of the test queries, `gaps` the squared distances
    of their keys.
    """

    errors: Float[Tensor, " test_points"]
    loo_errors: Float[Tensor, " training_points"]
    baseline_errors: Float[Tensor, " test_points"]
    weights: Float[Tensor, "batch layers heads queries keys"]
    gaps: Float[Tensor, "batch 1 1 queries keys"]


METRICS = (
    Metric(
        "test_mse",
        lambda fit: fit.errors.square().mean(),
        "mean squared error against the truth without noise",
        better="lower",
        unit="y^2",
        headline=True,
        beside={"chance": "baseline_mse"},
    ),
    Metric(
        "test_mae",
        lambda fit: fit.errors.abs().mean(),
        "mean absolute error against the truth without noise",
        better="lower",
        unit="y",
        headline=True,
    ),
    Metric(
        "loo_mse",
        lambda fit: fit.loo_errors.square().mean(),
        "leave-one-out error on the training points, noise included",
        better="lower",
        unit="y^2",
        headline=True,
    ),
    Metric(
        "baseline_mse",
        lambda fit: fit.baseline_errors.square().mean(),
        "test error of the trivial answer, the mean of the training values",
        unit="y^2",
        headline=True,
    ),
    Metric(
        "neighbours",
        lambda fit: entropy(fit.weights).exp().where(fit.weights.sum(dim=-1) > 0, 0.0).mean(),
        "exp(H), the effective number of keys that a test query looks at, 0 where none is in "
        "reach; mean over queries",
        unit="keys",
        headline=True,
    ),
    Metric(
        "bandwidth",
        lambda fit: (shares(fit.weights) * fit.gaps).sum(dim=-1).sqrt().mean(),
        "sqrt(sum_i p_i (x_i - x)^2), p the weights over their sum, the root mean square distance "
        "of what a test query looks at; mean over queries",
        unit="x",
        headline=True,
    ),
    Metric(
        "support",
        lambda fit: support(fit.weights).mean(),
        "number of keys with a weight above 0, mean over queries",
        unit="keys",
    ),
    Metric(
        "sink_mass",
        lambda fit: sink_mass(fit.weights).mean(),
        "1 - the sum of the weights of a row, mean over queries",
        unit="share",
    ),
)


class Regression(Task):
    """Squared error over the points that count, as `reduction` says: their mean or their sum.

    The training loss is leave-one-out, because the data hide each training point from itself.
    `METRICS` declares the metrics.
    """

    primary = "test_mse"
    selection = "loo_mse"
    metrics = METRICS

    def __init__(self, reduction: Literal["mean", "sum"] = "mean") -> None:
        self.reduction = reduction

    def loss(self, prediction: Prediction, batch: Batch) -> Float[Tensor, ""]:
        # Not by `_errors`: the gradient of an index takes long beside the rest of a step.
        counts = batch.target_mask.unsqueeze(-1)
        errors = (prediction.outputs - batch.targets).where(counts, 0.0)
        total = errors.square().sum()
        return total / counts.expand_as(errors).sum() if self.reduction == "mean" else total

    def validate(self, model: Architecture, batch: Batch) -> dict[str, float]:
        errors = self._errors(model(batch), batch).square()
        return {"loss": errors.mean().item()}

    def evaluate(
        self, model: Architecture, dataset: Dataset, untrained: Iterable[Architecture] = ()
    ) -> Evaluation:
        train, test = dataset.train, dataset.test
        prediction = model(test, need_weights=True)
        weights = prediction.weights["pooling"]
        require_sound_weights(model, weights, test.mask)
        gaps = (test.queries.unsqueeze(-2) - test.keys.unsqueeze(-3)).square().sum(dim=-1)
        mean = train.values.mean(dim=-2, keepdim=True)
        fit = Fit(
            errors=self._errors(prediction, test),
            loo_errors=self._errors(model(train), train),
            baseline_errors=(mean - test.targets).flatten(),
            weights=weights,
            gaps=gaps[:, None, None],
        )
        metrics = measured({metric.name: metric for metric in METRICS}, fit)
        return Evaluation(
            metrics=metrics,
            rows=self._rows(prediction, test),
            notes=self._notes(model, weights, test, metrics),
        )

    def attend(self, model: Architecture, dataset: Dataset) -> Attended:
        return Attended(dataset.test, model(dataset.test, need_weights=True).weights)

    @staticmethod
    def _errors(prediction: Prediction, batch: Batch) -> Float[Tensor, " points"]:
        return (prediction.outputs - batch.targets)[batch.target_mask].flatten()

    @staticmethod
    def _rows(prediction: Prediction, test: Batch) -> list[dict[str, object]]:
        columns = (test.queries, test.targets, prediction.outputs)
        points = zip(*(column[..., 0].flatten().tolist() for column in columns), strict=True)
        return [dict(zip(("x", "truth", "prediction"), point, strict=True)) for point in points]

    @staticmethod
    def _notes(
        model: Architecture, weights: Tensor, test: Batch, metrics: dict[str, float]
    ) -> tuple[str, ...]:
        notes = []
        if metrics["test_mse"] > 1.01 * metrics["baseline_mse"]:
            notes.append(
                "test_mse is above baseline_mse: always answering with the mean of the training "
                "values would be better"
            )
        empty = int((weights.sum(dim=-1) == 0).sum())
        if empty:
            notes.append(
                f"{empty} of {weights[..., 0].numel()} test queries have no training point in "
                "reach: they are answered as arch.empty says"
            )
        mask = test.mask[:, None, None].expand_as(weights)
        trained = any(parameter.requires_grad for parameter in model.parameters())
        if trained and is_uniform(weights, mask):
            notes.append(
                "the attention is uniform after training: this run has collapsed to average "
                "pooling, and its score has learned nothing"
            )
        return tuple(notes)

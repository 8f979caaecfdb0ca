"""Regression: squared error, and how wide the attention looks."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from jaxtyping import Float
from torch import Tensor

from attnexp.architectures.base import Architecture
from attnexp.attention.statistics import entropy, is_uniform
from attnexp.batch import Batch, Prediction
from attnexp.data.base import Dataset
from attnexp.tasks.base import Attended, Evaluation, Task


class Regression(Task):
    """Squared error over the points that count, as `reduction` says: their mean or their sum.

    The training loss is leave-one-out, because the data hide each training point from itself.
    Metrics, all in units of y or x:

    - `test_mse`, `test_mae`: against the truth without noise.
    - `loo_mse`: leave-one-out error on the training points, noise included.
    - `baseline_mse`: the test error of the trivial answer, the mean of the training values.
    - `neighbours`: exp(H), the effective number of keys a test query looks at; mean over queries.
    - `bandwidth`: sqrt(sum_i w_i (x_i - x)^2), the root mean square distance of what a test query
      looks at; mean over queries.
    """

    primary = "test_mse"
    selection = "loo_mse"
    better: ClassVar[Mapping[str, Literal["lower", "higher"]]] = {
        "test_mse": "lower",
        "test_mae": "lower",
        "loo_mse": "lower",
    }

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

    def evaluate(self, model: Architecture, dataset: Dataset) -> Evaluation:
        train, test = dataset.train, dataset.test
        prediction = model(test, need_weights=True)
        weights = prediction.weights["pooling"]
        errors = self._errors(prediction, test)
        gaps = (test.queries.unsqueeze(-2) - test.keys.unsqueeze(-3)).square().sum(dim=-1)
        reach = (weights * gaps[:, None, None]).sum(dim=-1).sqrt()
        mean = train.values.mean(dim=-2, keepdim=True)
        metrics = {
            "test_mse": errors.square().mean(),
            "test_mae": errors.abs().mean(),
            "loo_mse": self._errors(model(train), train).square().mean(),
            "baseline_mse": (mean - test.targets).square().mean(),
            "neighbours": entropy(weights).exp().mean(),
            "bandwidth": reach.mean(),
        }
        return Evaluation(
            metrics={name: float(value) for name, value in metrics.items()},
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
        model: Architecture, weights: Tensor, test: Batch, metrics: Mapping[str, Tensor]
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
                "reach: their prediction is 0"
            )
        mask = test.mask[:, None, None].expand_as(weights)
        trained = any(parameter.requires_grad for parameter in model.parameters())
        if trained and is_uniform(weights, mask):
            notes.append(
                "the attention is uniform after training: this run has collapsed to average "
                "pooling, and its score has learned nothing"
            )
        return tuple(notes)

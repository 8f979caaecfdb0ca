"""Regression: squared error, and the width of the attention."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnexp.architectures.base import Architecture
from attnexp.attention.base import is_signed
from attnexp.attention.pooling import LARGE as LARGE
from attnexp.attention.statistics import (
    entropy,
    is_uniform,
    negative_mass,
    shares,
    sink_mass,
    support,
)
from attnexp.core.batch import Batch, Prediction, RegressionSpec, allowed_keys, in_units
from attnexp.core.language import said
from attnexp.data.base import Dataset
from attnexp.tasks.base import Attended, Evaluation, Metric, Task, measured, require_sound_weights
from attnexp.tasks.response import as_rows, response, x_names

PAIRS = 2**20
"""The most pairs of query and key that go through a model at once."""

MEASURED = 2**30
"""Up to this many pairs of query and key, attention is measured on all test queries."""

LEFT_OUT = 2**32
"""Up to this many pairs, those of 65,536 points, `loo_mse` covers all training points."""

KEPT = 2**20
"""The most weights of a head that a run keeps of an attention map."""

KEPT_QUERIES = 2**10
"""The most queries that a run keeps of a map with more than KEPT weights."""

POOR = 0.9
"""A fit is poor if its error is above this share of the error of the mean."""


@dataclass(frozen=True)
class MapStatistics:
    """Describes attention maps by numbers for each query, in each layer and head.

    `sums` are the sums of the weights. `gaps` are the root mean square distances from the query to
    the keys, under the weights divided by their sum. For the others see
    `attnexp.attention.statistics`. Entropy, gaps and support are None if weights may be negative,
    and the negative mass is None if they may not.
    """

    sums: Float[Tensor, "batch layers heads queries"]
    sink_mass: Float[Tensor, "batch layers heads queries"]
    entropy: Float[Tensor, "batch layers heads queries"] | None = None
    gaps: Float[Tensor, "batch layers heads queries"] | None = None
    support: Float[Tensor, "batch layers heads queries"] | None = None
    negative_mass: Float[Tensor, "batch layers heads queries"] | None = None

    def mean(self, name: str) -> Float[Tensor, ""] | None:
        """Return the mean of the numbers with this name, None if there are none."""
        values = getattr(self, name)
        return None if values is None else values.mean()

    @property
    def neighbours(self) -> Float[Tensor, ""] | None:
        """The effective number of keys, mean over queries; 0 for a query that reaches no key."""
        if self.entropy is None:
            return None
        return self.entropy.exp().where(self.sums > 0, 0.0).mean()


@dataclass(frozen=True)
class Fit:
    """What is measured of a model of regression.

    `errors` are prediction minus target at the test points, `loo_errors` at training points of
    which each is hidden from itself. `baseline_errors` are the test errors of the mean of the
    training values. `attention` describes the maps of the test queries.
    """

    errors: Float[Tensor, " test_points"]
    loo_errors: Float[Tensor, " training_points"]
    baseline_errors: Float[Tensor, " test_points"]
    attention: MapStatistics


METRICS: tuple[Metric, ...] = (
    Metric(
        "test_mse",
        lambda fit: fit.errors.square().mean(),
        "mean squared error against the truth without noise, or against rows of a table",
        better="lower",
        unit="y^2",
        headline=True,
        companions={"chance": "baseline_mse"},
    ),
    Metric(
        "test_mae",
        lambda fit: fit.errors.abs().mean(),
        "mean absolute error against the truth without noise, or against rows of a table",
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
        lambda fit: fit.attention.neighbours,
        "exp(H), the effective number of keys that a test query attends to, 0 if none is in "
        "reach; mean over queries",
        unit="keys",
        headline=True,
    ),
    Metric(
        "bandwidth",
        lambda fit: fit.attention.mean("gaps"),
        "sqrt(sum_i p_i (x_i - x)^2), p the weights over their sum, the root mean square distance "
        "of the keys that a test query attends to, of a table in standard deviations; mean over "
        "queries",
        unit="x",
        headline=True,
    ),
    Metric(
        "support",
        lambda fit: fit.attention.mean("support"),
        "number of keys with a weight above 0, mean over queries",
        unit="keys",
    ),
    Metric(
        "sink_mass",
        lambda fit: fit.attention.mean("sink_mass"),
        "1 - the sum of the weights of a row, mean over queries",
        unit="weight",
    ),
    Metric(
        "negative_mass",
        lambda fit: fit.attention.mean("negative_mass"),
        "size of the negative weights of a row, mean over queries, if an estimator makes such",
        unit="weight",
    ),
)


class Regression(Task):
    """Squared error over the points that count: their mean or their sum, as `reduction` says.

    The training loss is leave-one-out, because the data hide each training point from itself.
    `METRICS` declares the metrics.
    """

    primary = "test_mse"
    selection = "loo_mse"
    metrics = METRICS

    def __init__(self, reduction: Literal["mean", "sum"] = "mean") -> None:
        self.reduction = reduction

    def loss(self, prediction: Prediction, batch: Batch) -> Float[Tensor, ""]:
        # Without `_errors`: the gradient of an index takes long compared with the rest of a step.
        counts = batch.target_mask.unsqueeze(-1)
        errors = (prediction.outputs - batch.targets).where(counts, 0.0)
        total = errors.square().sum()
        return total / counts.expand_as(errors).sum() if self.reduction == "mean" else total

    def validate(self, model: Architecture, batch: Batch) -> dict[str, float]:
        errors = _errors(model(batch).outputs, batch).square()
        return {"loss": errors.mean().item()}

    def choosing_error(self, model: Architecture, dataset: Dataset, most: int) -> float:
        """Return the mean squared error by which settings of a model are chosen.

        The error is that of the validation set or, without one, leave-one-out. It covers at most
        `most` points, the same ones at each call.
        """
        whole = _drawn(dataset.validation or dataset.train, most)
        dense = whole.queries.shape[1] * whole.keys[..., 0].numel() <= LARGE
        parts = whole.split_queries(PAIRS) if dense else [whole]  # tiles are portions already
        errors = torch.cat([_errors(model(part).outputs, part) for part in parts])
        return float((errors * y_deviation(cast(RegressionSpec, dataset.spec))).square().mean())

    def evaluate(
        self, model: Architecture, dataset: Dataset, untrained: Iterable[Architecture] = ()
    ) -> Evaluation:
        train, test = dataset.train, dataset.test
        learned = any(parameter.requires_grad for parameter in model.parameters())
        chosen = _measured_queries(test)
        answer, parts, signed = test.targets[:, :0], list[MapStatistics](), is_signed(model)
        uniform = learned and not signed
        for part in chosen.split_queries(PAIRS):
            prediction = model(part, need_weights=True)
            weights, allowed = prediction.weights["pooling"], allowed_keys(part)
            require_sound_weights(model, weights, allowed)
            # joined at once: small tensors that stay would split the memory of the next portion
            answer = torch.cat([answer, prediction.outputs], dim=1)
            parts = [_joined([*parts, _statistics(weights, part, signed)])]
            uniform = uniform and is_uniform(weights, allowed[:, None, None].expand_as(weights))
        if chosen is not test:
            answer = model(test).outputs
        left_out = _drawn(train, left_out_points(train))
        mean = train.values.mean(dim=-2, keepdim=True)
        spec = cast(RegressionSpec, dataset.spec)
        unit = y_deviation(spec)
        fit = Fit(
            errors=_errors(answer, test) * unit,
            loo_errors=_errors(model(left_out).outputs, left_out) * unit,
            baseline_errors=(mean - test.targets).flatten() * unit,
            attention=parts[0],
        )
        metrics = measured({metric.name: metric for metric in METRICS}, fit)
        notes = _notes(fit, metrics, train, test)
        if model.compares_products and metrics["test_mse"] > POOR * metrics["baseline_mse"]:
            note = said(
                "this score is made of products of x, which do not tell which points are near: "
                "add {setting} to the command, and it compares 16 learned features of x",
                setting="arch.features=16",
            )
            notes.append(note.en)
        if uniform:
            note = said(
                "the attention is uniform after training: this run has collapsed to average "
                "pooling, and its score has learned nothing"
            )
            notes.append(note.en)
        return Evaluation(
            metrics=metrics,
            rows=_rows(answer, test, spec),
            notes=tuple(notes),
            details=_standardised_by(spec),
            response=response(model, train, spec) if spec.x else [],
        )

    def by_example(
        self,
        outputs: Float[Tensor, "batch queries y_dim"],
        batch: Batch,
        dataset: Dataset,
        decoded: Int[Tensor, "batch queries"] | None = None,
    ) -> dict[str, Float[Tensor, " queries"]]:
        errors = (outputs - batch.targets).cpu().double() * y_deviation(
            cast(RegressionSpec, dataset.spec)
        )
        counted = errors[batch.target_mask.cpu()]
        return {
            "test_mse": counted.square().mean(dim=-1),
            "test_mae": counted.abs().mean(dim=-1),
        }

    def attend(self, model: Architecture, dataset: Dataset) -> Attended:
        queries, keys = _kept(dataset.test)
        asked = dataset.test.select_queries(queries)
        kept: list[Tensor] = []
        for part in asked.split_queries(PAIRS):
            weights = model(part, need_weights=True).weights["pooling"][..., keys]
            kept = [torch.cat([*kept, weights], dim=-2)]  # at once, as in `evaluate`
        spec = cast(RegressionSpec, dataset.spec)
        shown = Batch(
            queries=in_units(asked.queries, spec.x),
            keys=in_units(asked.keys[:, keys], spec.x),
            values=in_units(asked.values[:, keys], spec.y),
            targets=in_units(asked.targets, spec.y),
            mask=allowed_keys(asked)[..., keys],
            target_mask=asked.target_mask,
        )
        return Attended(shown, {"pooling": kept[0]})


def y_deviation(spec: RegressionSpec) -> float:
    """Return the standard deviation by which y was divided, 1 if y was not standardised."""
    return spec.y[0].deviation if spec.y else 1.0


def _errors(outputs: Float[Tensor, "batch queries y_dim"], batch: Batch) -> Float[Tensor, " count"]:
    return (outputs - batch.targets)[batch.target_mask].flatten()


def _rows(
    outputs: Float[Tensor, "batch queries y_dim"], test: Batch, spec: RegressionSpec
) -> list[dict[str, object]]:
    """Return the x, truth and prediction of each test query, in the units of the data."""
    names = [*x_names(spec), "truth", "prediction"]
    numbers = torch.cat([test.queries, test.targets[..., :1], outputs[..., :1]], dim=-1)
    columns = (*spec.x, *spec.y, *spec.y)
    return as_rows(names, numbers.flatten(0, 1), columns)


def _standardised_by(spec: RegressionSpec) -> dict[str, dict[str, float]]:
    columns = (*spec.x, *spec.y)
    if not columns:
        return {}
    return {
        "mean": {column.name: column.mean for column in columns},
        "deviation": {column.name: column.deviation for column in columns},
    }


def _statistics(
    weights: Float[Tensor, "batch layers heads queries keys"], batch: Batch, signed: bool
) -> MapStatistics:
    if signed:
        sums, lost = weights.sum(dim=-1), sink_mass(weights)
        return MapStatistics(sums, lost, negative_mass=negative_mass(weights))
    gaps = (batch.queries.unsqueeze(-2) - batch.keys.unsqueeze(-3)).square().sum(dim=-1)
    return MapStatistics(
        entropy=entropy(weights),
        sums=weights.sum(dim=-1),
        gaps=(shares(weights) * gaps[:, None, None]).sum(dim=-1).sqrt(),
        support=support(weights),
        sink_mass=sink_mass(weights),
    )


def _joined(parts: Sequence[MapStatistics]) -> MapStatistics:
    known = [name for name, values in vars(parts[0]).items() if values is not None]
    joined = {name: torch.cat([vars(part)[name] for part in parts], dim=-1) for name in known}
    return MapStatistics(**joined)


def _measured_queries(test: Batch) -> Batch:
    """Return the test queries whose maps are measured: all, or as many as fit, evenly spaced."""
    queries = test.queries.shape[1]
    count = max(1, MEASURED // test.keys[..., 0].numel())
    if count >= queries:
        return test
    return test.select_queries(_spaced(queries, count, test.queries.device))


def left_out_points(batch: Batch) -> int:
    """Return the most points on which leave-one-out is measured: those of LEFT_OUT pairs."""
    return max(1, LEFT_OUT // batch.keys[..., 0].numel())


def _drawn(batch: Batch, most: int) -> Batch:
    """Return `most` random points, the same ones at each call, or all if there are no more."""
    points = batch.queries.shape[1]
    if most >= points:
        return batch
    drawn = torch.randperm(points, generator=torch.Generator().manual_seed(0))[:most]
    return batch.select_queries(drawn.sort().values.to(batch.queries.device))


def _kept(test: Batch) -> tuple[Int[Tensor, " queries"], Int[Tensor, " keys"]]:
    """Return the indices of the queries and keys whose weights are kept, evenly spaced."""
    queries, keys = test.queries.shape[1], test.keys.shape[1]
    few = queries if queries * keys <= KEPT else min(queries, KEPT_QUERIES)
    device = test.queries.device
    return _spaced(queries, few, device), _spaced(keys, min(keys, KEPT // few), device)


def _spaced(count: int, chosen: int, device: torch.device) -> Int[Tensor, " chosen"]:
    return torch.arange(chosen, device=device) * count // chosen


def _notes(fit: Fit, metrics: Mapping[str, float], train: Batch, test: Batch) -> list[str]:
    """Return notes on an unusual fit, and on metrics that cover only a part of the points."""
    notes = []
    if metrics["test_mse"] > 1.01 * metrics["baseline_mse"]:
        note = said(
            "{metric} is above {baseline}: always answering with the mean of the training values "
            "would be better",
            metric="test_mse",
            baseline="baseline_mse",
        )
        notes.append(note.en)
    empty = int((fit.attention.sums == 0).sum())
    if empty:
        note = said(
            "{count} of {all} test queries have no training point in reach: they are answered as "
            "{setting} says",
            count=empty,
            all=fit.attention.sums.numel(),
            setting="arch.empty",
        )
        notes.append(note.en)
    points, drawn = train.queries[..., 0].numel(), fit.loo_errors.numel()
    if drawn < points:
        error = float(fit.loo_errors.square().std()) / math.sqrt(drawn)
        note = said(
            "{metric} is the mean over {count} of {all} training points, drawn at random: its "
            "standard error is {error}",
            metric="loo_mse",
            count=f"{drawn:,}",
            all=f"{points:,}",
            error=f"{error:.2g}",
        )
        notes.append(note.en)
    asked = fit.attention.sums.shape[-1]
    if asked < test.queries.shape[1]:
        note = said(
            "the metrics of the attention map are means over {count} of {all} test queries, "
            "evenly spaced",
            count=f"{asked:,}",
            all=f"{test.queries.shape[1]:,}",
        )
        notes.append(note.en)
    queries, keys = (len(places) for places in _kept(test))
    if queries < test.queries.shape[1] or keys < test.keys.shape[1]:
        notes.append(
            f"{queries:,} of {test.queries.shape[1]:,} test queries and {keys:,} of "
            f"{test.keys.shape[1]:,} keys are kept of the attention, evenly spaced: the weights "
            "that are kept are those of the whole map, so their sums are smaller"
        )
    return notes

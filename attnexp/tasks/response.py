"""The response of a model of a table: its predictions over the range of the inputs."""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from attnexp.architectures.base import Architecture
from attnexp.core.batch import Batch, DataColumn, Points, RegressionSpec, in_units, standardised

ALONG, ACROSS = 201, 41
"""The points along an input that varies alone, and along each of two that vary together."""

PAIRS = 2**20
"""The most pairs of query and key that go through a model at once."""


def response(model: Architecture, train: Batch, spec: RegressionSpec) -> list[dict[str, object]]:
    """Return predictions over the range of each input, as rows in the units of the data.

    A single input varies over its range, and two inputs vary together. Of more inputs, each varies
    alone while the others are held at their medians. The column `varied` names the input, or is
    `both` for two.
    """
    rows: list[dict[str, object]] = []
    names = [*x_names(spec), "prediction"]
    for varied, grid in _grids(spec.x):
        z = standardised(grid, spec.x)
        numbers = torch.cat([z, _answers(model, train, z)], dim=-1)
        own = as_rows(names, numbers, (*spec.x, *spec.y))
        rows += [{"varied": varied, **row} for row in own]
    return rows


def as_rows(
    names: Sequence[str], numbers: Float[Tensor, "rows columns"], columns: Sequence[DataColumn]
) -> list[dict[str, object]]:
    """Return numbers as rows of a file. If `columns` are given, the numbers are in their units."""
    rows = in_units(numbers, columns).tolist()
    if columns:
        rows = [[column.rounded(v) for column, v in zip(columns, row, strict=True)] for row in rows]
    return [dict(zip(names, row, strict=True)) for row in rows]


def x_names(spec: RegressionSpec) -> list[str]:
    """Return the names of the inputs in files: x for a single input, else x.NAME."""
    return ["x"] if spec.x_dim == 1 else [f"x.{column.name}" for column in spec.x]


def _grids(columns: tuple[DataColumn, ...]) -> Iterator[tuple[str, Float[Tensor, "points x_dim"]]]:
    """Yield the name of what varies, and the points in the units of the columns."""
    if len(columns) == 2:
        yield "both", torch.cartesian_prod(*(_range(column, ACROSS) for column in columns))
        return
    medians = torch.tensor([column.median for column in columns], dtype=torch.float64)
    for place, column in enumerate(columns):
        points = medians.repeat(ALONG, 1)
        points[:, place] = _range(column, ALONG)
        yield column.name, points


def _range(column: DataColumn, count: int) -> Float[Tensor, " count"]:
    return torch.linspace(column.low, column.high, count, dtype=torch.float64)


def _answers(
    model: Architecture, train: Batch, z: Float[Tensor, "points x_dim"]
) -> Float[Tensor, "points y_dim"]:
    keys, values = train.keys[0], train.values[0]
    asked = Points.of_rows(z.to(keys), values[:1].expand(len(z), -1), keys, values, None)
    outputs = [model(part).outputs for part in asked.split_queries(PAIRS)]
    return torch.cat(outputs, dim=1)[0].to(z)

"""A run's tensors on disk: its attention, snapshots of it, its parameters."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from attnexp.core.batch import DataSpec
from attnexp.runs import files
from attnexp.tasks.base import Attended


def write_attention(attended: Attended, spec: DataSpec, folder: Path) -> None:
    """Write attention weights with their examples, and with the vocabularies of the examples."""
    weights = named_weights(attended)
    files.write_tensors(
        folder / files.ATTENTION,
        arrays(attended.shown.tensors() | weights),
        {**sizes_and_symbols(spec), **axes(weights)},
    )


def write_parameters(model: nn.Module, folder: Path) -> None:
    """Write the parameters and buffers of a model."""
    files.write_tensors(folder / files.MODEL, arrays(model.state_dict()), {})


def read_parameters(folder: Path) -> dict[str, Tensor]:
    """Return the tensors that `write_parameters` wrote."""
    stored, _ = files.read_tensors(folder / files.MODEL)
    return {name: torch.from_numpy(array) for name, array in stored.items()}


def write_snapshots(snapshots: Mapping[int, Attended], spec: DataSpec, folder: Path) -> None:
    """Write the attention of several epochs, like the attention file but with an axis of epochs."""
    several = list(snapshots.values())
    weights = {
        name: torch.stack([named_weights(attended)[name] for attended in several])
        for name in named_weights(several[0])
    }
    files.write_tensors(
        folder / files.SNAPSHOTS,
        arrays(several[0].shown.tensors() | weights | {"epochs": torch.tensor(list(snapshots))}),
        {**sizes_and_symbols(spec), **axes(weights, "epochs")},
    )


def sizes_and_symbols(spec: DataSpec) -> dict[str, object]:
    """Return the numbers, the vocabularies and the columns of a spec, as JSON can hold them."""
    held = ((name, value) for name, value in asdict(spec).items() if isinstance(value, int | tuple))
    return {name: value for name, value in held if value != ()}


def named_weights(attended: Attended) -> dict[str, Tensor]:
    """Return the attention weights under their names on disk."""
    return {f"weights.{name}": tensor for name, tensor in attended.weights.items()}


def axes(weights: Mapping[str, Tensor], *leading: str) -> dict[str, object]:
    """Return the metadata that names the axes of the weights."""
    names = [*leading, "batch", "layers", "heads", "queries", "keys"]
    return {"axes": dict.fromkeys(weights, names)}


def arrays(tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    """Return tensors as contiguous NumPy arrays."""
    return {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in tensors.items()}

"""The checkpoint of a run that is training: one file, from which it goes on with the same bits."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from attnexp.runs import files
from attnexp.runs.files import UnreadableRunError
from attnexp.training.state import State


def write_checkpoint(folder: Path, state: State) -> None:
    """Write a state in place of the last one. The file appears whole or not at all."""
    tensors: dict[str, Any] = {}
    tree = _plain(state, tensors)
    files.write_tensors(folder / files.CHECKPOINT, tensors, {"state": tree})


def read_checkpoint(folder: Path) -> State | None:
    """Return the state that `write_checkpoint` wrote, or None where there is none.

    Nothing in it is code. Raises UnreadableRunError for any other content.
    """
    path = folder / files.CHECKPOINT
    try:
        arrays, metadata = files.read_tensors(path)
    except FileNotFoundError:
        return None
    try:
        state = _whole(metadata["state"], arrays)
        if not isinstance(state, dict):
            raise TypeError("it is not a dictionary")
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise UnreadableRunError(f"{path} is not a checkpoint: {error!r}") from error
    return state


def _plain(value: Any, tensors: dict[str, Any]) -> Any:
    """Return a value as JSON holds it. Its tensors are put beside it, under numbers."""
    if isinstance(value, Tensor):
        name = str(len(tensors))
        # A copy of its own: safetensors refuses arrays that share memory.
        tensors[name] = value.detach().cpu().contiguous().clone().numpy()
        return {"tensor": name}
    if isinstance(value, Mapping):
        pairs = [[key, _plain(entry, tensors)] for key, entry in value.items()]
        return {"map": pairs}
    if isinstance(value, list | tuple):
        return [_plain(entry, tensors) for entry in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a checkpoint cannot hold {value!r:.60}")


def _whole(value: Any, arrays: Mapping[str, Any]) -> Any:
    """Return a value that `_plain` took apart."""
    if isinstance(value, list):
        return [_whole(entry, arrays) for entry in value]
    if not isinstance(value, dict):
        return value
    if "tensor" in value:
        return torch.from_numpy(arrays[value["tensor"]])
    return {key: _whole(entry, arrays) for key, entry in value["map"]}

"""The checkpoint of a run: one file, from which its training continues with the same bits."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import torch
from torch import Tensor

from attnexp.runs import files
from attnexp.runs.files import UnreadableRunError
from attnexp.runs.summary import Attempt
from attnexp.training.base import Epoch
from attnexp.training.second_start import SecondStart
from attnexp.training.state import State


class Checkpoint:
    """The content of a checkpoint: the record of a run so far, and the state of its training.

    Raises KeyError, TypeError, ValueError or AttributeError for content that no run has written,
    such as counts of updates and epochs that do not agree.
    """

    def __init__(self, content: State, max_epochs: int) -> None:
        self.attempts = [msgspec.convert(each, Attempt) for each in content["attempts"]]
        self.rows = [Epoch(**values) for values in content["rows"]]
        self.snapshots = {int(epoch): dict(own) for epoch, own in content["snapshots"].items()}
        self.seconds = float(content["seconds"])
        self.training: State = dict(content["training"])
        self.step: int = self.training["step"]
        self.second = SecondStart.of(self.training)
        first = 0 if self.second is None else self.second.before[0]
        last = self.rows[-1] if self.rows else None
        over = (
            last is not None
            and last.epoch > first
            and (last.converged or bool(last.ended) or last.epoch == first + max_epochs)
        )
        updates = (last.step if last else 0) + len(self.training.get("losses", ()))
        agree = (
            self.step == updates == self.attempts[-1].updates
            and [row.epoch for row in self.rows] == [*range(1, self.training["epoch"] + 1)]
            and self.training["over"] == over
        )
        if not agree:
            raise ValueError("its counts of updates and epochs do not agree")


def write_checkpoint(folder: Path, content: State) -> None:
    """Write a checkpoint in place of the last one. The file appears whole or not at all."""
    tensors: dict[str, Any] = {}
    tree = _plain(content, tensors)
    metadata = {"state": tree, "sha256": _digest(tree, tensors)}
    files.write_tensors(folder / files.CHECKPOINT, tensors, metadata)


def read_checkpoint(folder: Path) -> State | None:
    """Return the content that `write_checkpoint` wrote, or None if there is no checkpoint.

    Reading runs no code from the file.

    Raises UnreadableRunError for any other content: a checksum finds each changed bit.
    """
    path = folder / files.CHECKPOINT
    try:
        arrays, metadata = files.read_tensors(path)
    except FileNotFoundError:
        return None
    try:
        if _digest(metadata["state"], arrays) != metadata["sha256"]:
            raise ValueError("its content does not have its checksum")
        content = _whole(metadata["state"], arrays)
        if not isinstance(content, dict):
            raise TypeError("it is not a dictionary")
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise UnreadableRunError(f"{path} is not a checkpoint: {error!r}") from error
    return content


def _digest(tree: Any, tensors: Mapping[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(tree).encode())
    for name, array in sorted(tensors.items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.data)
    return digest.hexdigest()


def _plain(value: Any, tensors: dict[str, Any]) -> Any:
    """Return a value as JSON can hold it. Its tensors are added to `tensors`, named by numbers."""
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
    """Return the value that `_plain` took apart."""
    if isinstance(value, list):
        return [_whole(entry, arrays) for entry in value]
    if not isinstance(value, dict):
        return value
    if "tensor" in value:
        return torch.from_numpy(arrays[value["tensor"]])
    return {key: _whole(entry, arrays) for key, entry in value["map"]}

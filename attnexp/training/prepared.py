"""A run that is built and has not begun."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from attnexp.architectures.base import Architecture
from attnexp.data.base import Dataset
from attnexp.tasks.base import Task
from attnexp.trackers.base import Tracker
from attnexp.training.base import OptimizerFactory, Schedule, TrainSettings
from attnexp.training.precision import Precision


@dataclass(frozen=True)
class PreparedRun:
    """A run that is built and has not begun.

    `untrained` makes models of the same shape with other first parameters, one at a time.
    """

    config: Mapping[str, Any]
    chosen: Mapping[str, str]
    device: torch.device
    why_device: str
    precision: Precision
    dataset: Dataset
    model: Architecture
    task: Task
    optimizer: OptimizerFactory
    schedule: Schedule
    settings: TrainSettings
    tracker: Tracker
    order: torch.Generator
    untrained: Iterable[Architecture]


def trainable(model: Architecture) -> bool:
    """Whether there is a parameter to train."""
    return any(parameter.requires_grad for parameter in model.parameters())

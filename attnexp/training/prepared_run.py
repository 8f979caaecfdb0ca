"""A run that is built and has not begun."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from attnexp.architectures.base import Architecture
from attnexp.core.language import said
from attnexp.data.base import Dataset
from attnexp.runs.summary import Summary
from attnexp.tasks.base import Task
from attnexp.trackers.base import Tracker
from attnexp.training.base import Schedule, TrainSettings
from attnexp.training.native_steps import PYTORCH, NativeSteps
from attnexp.training.optimizers import OptimizerFactory
from attnexp.training.precision import Precision
from attnexp.training.second_start import SecondStart


@dataclass(frozen=True)
class PreparedRun:
    """A run that is built and has not begun.

    - `config` is the configuration with every value resolved.
    - `opening` is the summary that is written when the run begins, without values from the
      environment.
    - `order` draws the order of the examples.
    - `untrained` makes models of the same shape with other first parameters, one at a time.
    - `second` is the second start of a run that has trained and trains again, else None.
    """

    config: Mapping[str, Any]
    opening: Summary
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
    native: NativeSteps = PYTORCH
    second: SecondStart | None = None

    @property
    def chosen(self) -> Mapping[str, str]:
        """The name chosen in each group."""
        return self.opening.choices


def trainable(model: Architecture) -> bool:
    """Return whether a model has a parameter to train."""
    return any(parameter.requires_grad for parameter in model.parameters())


def nothing_to_train(run: PreparedRun) -> str:
    """Return why training would change nothing, or an empty text if it would change something."""
    if not trainable(run.model):
        return said("{model} has no parameters here", model=f"model={run.chosen['model']}").en
    example = run.dataset.train.select(slice(1))
    with run.precision.autocast():
        loss = run.task.loss(run.model(example), example)
    if not loss.requires_grad:
        return f"with model={run.chosen['model']} the loss depends on no parameter"
    return ""

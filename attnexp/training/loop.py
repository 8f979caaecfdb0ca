"""Trains a model and yields a row of metrics an epoch. It reads and writes no files."""

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from attnexp.architectures.base import Architecture
from attnexp.batch import Batch
from attnexp.data.base import Dataset
from attnexp.tasks.base import Task
from attnexp.training.base import (
    Epoch,
    OptimizerFactory,
    Schedule,
    TrainingDivergedError,
    TrainSettings,
)
from attnexp.training.early_stopping import (
    BestEpoch,
    ParameterMotion,
    Target,
    reason_to_end,
)
from attnexp.training.precision import Autocast
from attnexp.training.steps import Gradient, training_step


def fit(
    model: Architecture,
    dataset: Dataset,
    task: Task,
    optimizer: OptimizerFactory,
    schedule: Schedule,
    settings: TrainSettings,
    generator: torch.Generator,
    autocast: Autocast = nullcontext,
) -> Iterator[Epoch]:
    """Train the model in place, and yield a row an epoch.

    `generator` orders the examples. The learning rate of step s of n planned ones is
    lr * schedule(s / n). The model computes in blocks of `autocast`.

    Raises TrainingDivergedError when the loss is infinite or NaN, and ValueError when the model
    has nothing to train, or no direction says when `stop_metric` has reached its target.
    """
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if not parameters:
        raise ValueError("the model has no parameters to train")
    descent = optimizer(params=parameters)
    rate = descent.param_groups[0]["lr"]
    update = training_step(Gradient(model, task, settings.clip_norm, autocast), descent)
    size = settings.batch_size or len(dataset.train)
    course = Course(model, dataset, task, settings, autocast)
    motion = ParameterMotion([p.detach().unsqueeze(0) for p in parameters], settings.tolerance)
    while not course.over:
        losses, factor = EpochLosses(math.ceil(len(dataset.train) / size)), 1.0
        for batch in portions(dataset.train, size, generator):
            if course.step == course.planned:
                break
            factor = schedule(course.step / course.planned)
            losses.add(update(batch, factor))
            course.step += 1
        loss = float(losses.mean())
        yield course.end_epoch(loss, rate * factor, motion.has_ceased()[0])
        course.require_finite(loss, rate)
    course.best.restore()


class EpochLosses:
    """The losses of the updates of an epoch, at most `updates` of them, of one model or of many.

    They are in one tensor: a small one kept from each update would split the large blocks that the
    update frees, and the memory of the process would grow with every update.
    """

    def __init__(self, updates: int) -> None:
        self._updates = updates
        self._count = 0
        self._all = torch.empty(0)

    def add(self, losses: Float[Tensor, "*models"]) -> None:
        """Record the losses of an update."""
        if self._count == 0:
            self._all = losses.new_empty(*losses.shape, self._updates)
        self._all[..., self._count] = losses
        self._count += 1

    def mean(self) -> Float[Tensor, "*models"]:
        """Return the mean over the updates."""
        return self._all[..., : self._count].mean(dim=-1)


class Course:
    """Where the training of one run stands: its updates, its epochs, and whether it is over.

    `step` counts the updates, of which the budgets allow `planned`.
    """

    def __init__(
        self,
        model: Architecture,
        dataset: Dataset,
        task: Task,
        settings: TrainSettings,
        autocast: Autocast,
    ) -> None:
        self.planned = planned_steps(dataset, settings)
        self.step = 0
        self.over = False
        self.best = BestEpoch(model)
        self._run = (model, dataset, task, autocast)
        self._settings = settings
        self._target = Target(settings, task, dataset)
        self._epoch = 0
        self._start = time.perf_counter()

    def end_epoch(self, loss: float, rate: float, converged: bool) -> Epoch:
        """Validate at the end of an epoch, and return its row; training may be over then.

        `loss` is the mean over the epoch's updates and `rate` the learning rate of the last one.
        """
        self._epoch += 1
        validation = validate(*self._run) if math.isfinite(loss) else {}
        self.best.see(self._epoch, loss, validation)
        if validation:
            self._target.see(validation)
        row = Epoch(
            epoch=self._epoch,
            step=self.step,
            loss=loss,
            lr=rate,
            seconds=time.perf_counter() - self._start,
            validation=validation,
            converged=converged,
        )
        stale = self._epoch - self.best.epoch
        ended = reason_to_end(row, self._settings, self._target, self.planned, stale)
        self.over = bool(ended) or converged or self._epoch == self._settings.max_epochs
        return replace(row, ended=ended)

    def require_finite(self, loss: float, rate: float) -> None:
        """Raise TrainingDivergedError for a loss of the last epoch that is infinite or NaN."""
        if not math.isfinite(loss):
            raise TrainingDivergedError(
                f"the loss is {loss} in epoch {self._epoch}; try a learning rate below "
                f"{rate:g} (optim.lr)"
            )


def planned_steps(dataset: Dataset, settings: TrainSettings) -> int:
    """How many updates the budgets of epochs and steps allow."""
    size = settings.batch_size or len(dataset.train)
    steps = settings.max_epochs * math.ceil(len(dataset.train) / size)
    return min(steps, settings.max_steps or steps)


def validate(
    model: Architecture, dataset: Dataset, task: Task, autocast: Autocast = nullcontext
) -> Mapping[str, float]:
    """The task's metrics on the validation set, or nothing where the data have none."""
    if dataset.validation is None:
        return {}
    model.eval()
    with torch.no_grad(), autocast():
        measured = task.validate(model, dataset.validation)
    model.train()
    return measured


def portions(whole: Batch, size: int, generator: torch.Generator) -> Iterator[Batch]:
    """The examples of a batch in random order, `size` at a time; in place if all fit in one."""
    if size >= len(whole):
        yield whole
        return
    order = torch.randperm(len(whole), generator=generator).to(whole.queries.device)
    for index in order.split(size):
        yield whole.select(index)

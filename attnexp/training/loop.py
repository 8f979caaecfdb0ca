"""Trains a model and yields a row of metrics an epoch. It reads and writes no files."""

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace

import torch

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
    target = Target(settings, task, dataset)
    descent = optimizer(params=parameters)
    rate = descent.param_groups[0]["lr"]
    update = training_step(Gradient(model, task, settings.clip_norm, autocast), descent)
    size = settings.batch_size or len(dataset.train)
    planned = planned_steps(dataset, settings)
    best = BestEpoch(model)
    motion = None if settings.tolerance is None else ParameterMotion(parameters, settings.tolerance)
    start, step, factor = time.perf_counter(), 0, 1.0
    for epoch in range(1, settings.max_epochs + 1):
        # One tensor: a small one kept from each step would split the large blocks that the step
        # frees, and the memory of the process would grow with every step.
        losses = parameters[0].new_empty(math.ceil(len(dataset.train) / size), requires_grad=False)
        count = 0
        for batch in portions(dataset.train, size, generator):
            if step == planned:
                break
            factor = schedule(step / planned)
            losses[count] = update(batch, factor)
            count += 1
            step += 1
        loss = float(losses[:count].mean())
        validation = validate(model, dataset, task, autocast) if math.isfinite(loss) else {}
        best.see(epoch, loss, validation)
        if validation:
            target.see(validation)
        converged = motion is not None and motion.has_ceased()
        row = Epoch(
            epoch=epoch,
            step=step,
            loss=loss,
            lr=rate * factor,
            seconds=time.perf_counter() - start,
            validation=validation,
            converged=converged,
        )
        ended = reason_to_end(row, settings, target, planned, epoch - best.epoch)
        yield replace(row, ended=ended)
        if not math.isfinite(loss):
            raise TrainingDivergedError(
                f"the loss is {loss} in epoch {epoch}; try a learning rate below "
                f"{rate:g} (optim.lr)"
            )
        if ended or converged:
            break
    best.restore()


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

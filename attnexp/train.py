"""The training loop: batches in, rows of metrics out. No files, no Hydra."""

import inspect
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.optim import Optimizer

from attnexp.architectures.architecture import Architecture
from attnexp.batch import Batch
from attnexp.data.dataset import Dataset
from attnexp.tasks.task import Task

OptimizerFactory = Callable[..., Optimizer]
"""Builds an optimizer when called with `params`."""

Step = Callable[[Callable[[], Tensor]], Tensor]
"""Updates the parameters, given a function that computes the loss and its gradient."""

Schedule = Callable[[float], float]
"""The factor of the learning rate at a share of training in [0, 1]."""


class TrainingDivergedError(RuntimeError):
    """The loss is no longer a number."""


@dataclass(frozen=True)
class TrainSettings:
    """How long and in what portions to train.

    An epoch is one pass over the training batch, in portions of `batch_size` examples or, where it
    is None, all at once. Gradients longer than `clip_norm` are scaled down to it. With
    `attention_every` the test attention is kept before training and after every so many epochs.

    Raises ValueError for a number that is not positive.
    """

    max_epochs: int
    batch_size: int | None = None
    clip_norm: float | None = None
    attention_every: int | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not value > 0:
                raise ValueError(f"{name} must be greater than 0, got {value}")


@dataclass(frozen=True)
class Epoch:
    """One row of metrics.csv. `loss` is the mean over the epoch's steps, each before its update."""

    epoch: int
    step: int
    loss: float
    lr: float
    seconds: float


def fit(
    model: Architecture,
    dataset: Dataset,
    task: Task,
    optimizer: OptimizerFactory,
    schedule: Schedule,
    settings: TrainSettings,
    generator: torch.Generator,
) -> Iterator[Epoch]:
    """Train the model in place, and yield a row an epoch.

    `generator` orders the examples. The learning rate of step s of n is lr * schedule(s / n).

    Raises TrainingDivergedError when the loss is infinite or NaN, and ValueError when the model
    has nothing to train.
    """
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if not parameters:
        raise ValueError("the model has no parameters to train")
    descent, update = without_compiler(optimizer, parameters)
    base_rates = [group["lr"] for group in descent.param_groups]
    size = settings.batch_size or len(dataset.train)
    last_step = settings.max_epochs * math.ceil(len(dataset.train) / size)
    start, step = time.perf_counter(), 0
    for epoch in range(1, settings.max_epochs + 1):
        losses = []
        for batch in portions(dataset.train, size, generator):
            factor = schedule(step / last_step)
            for group, rate in zip(descent.param_groups, base_rates, strict=True):
                group["lr"] = rate * factor
            losses.append(update(partial(_loss_and_gradient, model, task, batch, settings)))
            step += 1
        row = Epoch(
            epoch=epoch,
            step=step,
            loss=float(torch.stack(losses).mean()),
            lr=descent.param_groups[0]["lr"],
            seconds=time.perf_counter() - start,
        )
        yield row
        if not math.isfinite(row.loss):
            raise TrainingDivergedError(
                f"the loss is {row.loss} in epoch {epoch}; try a learning rate below "
                f"{base_rates[0]:g} (optim.lr)"
            )


def _loss_and_gradient(
    model: Architecture, task: Task, batch: Batch, settings: TrainSettings
) -> Float[Tensor, ""]:
    """What an optimizer may call as often as it likes within one step."""
    model.zero_grad()
    loss = task.loss(model(batch), batch)
    loss.backward()
    if settings.clip_norm is not None:
        nn.utils.clip_grad_norm_(model.parameters(), settings.clip_norm)
    return loss.detach()


def portions(whole: Batch, size: int, generator: torch.Generator) -> Iterator[Batch]:
    """The examples of a batch in random order, `size` at a time; in place if all fit in one."""
    if size >= len(whole):
        yield whole
        return
    order = torch.randperm(len(whole), generator=generator).to(whole.queries.device)
    for index in order.split(size):
        yield whole.select(index)


def without_compiler(
    optimizer: OptimizerFactory, parameters: list[nn.Parameter]
) -> tuple[Optimizer, Step]:
    """The optimizer, and its step, without importing torch._dynamo, which takes over a second.

    PyTorch's optimizers import it in two places, both of which matter only under torch.compile:
    to mark methods as not to be compiled (it stores the marked method on the method itself, and
    imports nothing where one is stored), and in a wrapper around `step` that breaks the graph and
    switches gradients off.
    """
    for method in vars(Optimizer).values():
        plain = getattr(method, "__wrapped__", None)
        if plain is not None and not hasattr(plain, "__dynamo_disable"):
            setattr(plain, "__dynamo_disable", plain)
    descent = optimizer(params=parameters)
    return descent, torch.no_grad()(partial(inspect.unwrap(type(descent).step), descent))

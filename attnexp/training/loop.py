"""The training loop: batches in, rows of metrics out. No files, no Hydra."""

import inspect
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.optim import Optimizer

from attnexp.architectures.base import Architecture
from attnexp.batch import Batch
from attnexp.data.base import Dataset
from attnexp.tasks.base import Task

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

    Budgets: training ends after `max_epochs`, or after `max_steps` updates, or at the first epoch
    that ends after `max_minutes`; also once the validation metric `stop_metric` reaches `stop_at`,
    or after `patience` epochs without a lower loss: of the validation set, or of training where the
    data have none. With a validation set the parameters of its lowest loss are kept. Training has
    converged, and ends, when no parameter has moved in either of the last two epochs by more than
    `tolerance` times the longest move of its tensor.

    Raises ValueError for a number that is not positive.
    """

    max_epochs: int
    max_steps: int | None = None
    max_minutes: float | None = None
    batch_size: int | None = None
    clip_norm: float | None = None
    stop_metric: str | None = None
    stop_at: float | None = None
    patience: int | None = None
    tolerance: float | None = None
    attention_every: int | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, int | float) and not value > 0:
                raise ValueError(f"{name} must be greater than 0, got {value}")
        if (self.stop_metric is None) != (self.stop_at is None):
            raise ValueError(
                "stop_metric and stop_at go together: "
                f"got stop_metric {self.stop_metric} and stop_at {self.stop_at}"
            )


@dataclass(frozen=True)
class Epoch:
    """One row of metrics.csv. `loss` is the mean over the epoch's steps, each before its update.

    `validation` holds the metrics of the validation set, where there is one. `converged` is true of
    the last epoch where training went on until nothing moved. `ended` says why else this is the
    last epoch although others were planned.
    """

    epoch: int
    step: int
    loss: float
    lr: float
    seconds: float
    validation: Mapping[str, float] = field(default_factory=dict)
    converged: bool = False
    ended: str = ""


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

    `generator` orders the examples. The learning rate of step s of n planned ones is
    lr * schedule(s / n).

    Raises TrainingDivergedError when the loss is infinite or NaN, and ValueError when the model
    has nothing to train, or `stop_metric` is not measured.
    """
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if not parameters:
        raise ValueError("the model has no parameters to train")
    require_validation(settings, dataset)
    descent, update = without_compiler(optimizer, parameters)
    base_rates = [group["lr"] for group in descent.param_groups]
    size = settings.batch_size or len(dataset.train)
    planned = planned_steps(dataset, settings)
    best = Best(model)
    motion = None if settings.tolerance is None else Motion(parameters, settings.tolerance)
    start, step = time.perf_counter(), 0
    for epoch in range(1, settings.max_epochs + 1):
        losses = []
        for batch in portions(dataset.train, size, generator):
            if step == planned:
                break
            factor = schedule(step / planned)
            for group, rate in zip(descent.param_groups, base_rates, strict=True):
                group["lr"] = rate * factor
            losses.append(update(partial(_loss_and_gradient, model, task, batch, settings)))
            step += 1
        loss = float(torch.stack(losses).mean())
        validation = validate(model, dataset, task) if math.isfinite(loss) else {}
        best.see(epoch, loss, validation)
        converged = motion is not None and motion.has_ceased()
        row = Epoch(
            epoch=epoch,
            step=step,
            loss=loss,
            lr=descent.param_groups[0]["lr"],
            seconds=time.perf_counter() - start,
            validation=validation,
            converged=converged,
        )
        ended = _end(row, settings, planned, epoch - best.epoch)
        yield replace(row, ended=ended)
        if not math.isfinite(loss):
            raise TrainingDivergedError(
                f"the loss is {loss} in epoch {epoch}; try a learning rate below "
                f"{base_rates[0]:g} (optim.lr)"
            )
        if ended or converged:
            break
    best.restore()


def require_validation(settings: TrainSettings, dataset: Dataset) -> None:
    """Raise ValueError where a target is set and the data have nothing to measure it on."""
    if settings.stop_metric is not None and dataset.validation is None:
        raise ValueError(
            f"train.stop_metric is {settings.stop_metric}, but these data have no validation set"
        )


def planned_steps(dataset: Dataset, settings: TrainSettings) -> int:
    """How many updates the budgets of epochs and steps allow."""
    size = settings.batch_size or len(dataset.train)
    steps = settings.max_epochs * math.ceil(len(dataset.train) / size)
    return min(steps, settings.max_steps or steps)


def validate(model: Architecture, dataset: Dataset, task: Task) -> Mapping[str, float]:
    """The task's metrics on the validation set, or nothing where the data have none."""
    if dataset.validation is None:
        return {}
    model.eval()
    with torch.no_grad():
        measured = task.validate(model, dataset.validation)
    model.train()
    return measured


class Best:
    """The epoch of the lowest loss so far, and its parameters if the loss is of validation."""

    def __init__(self, model: Architecture) -> None:
        self.model = model
        self.epoch = 0
        self._loss = math.inf
        self._state: dict[str, Tensor] | None = None

    def see(self, epoch: int, loss: float, validation: Mapping[str, float]) -> None:
        """Remember the epoch if its loss is the lowest, and the model as it is.

        Without validation only the epoch: a training loss is measured before the last update.
        """
        loss = validation.get("loss", loss)
        if not loss < self._loss:
            return
        self.epoch, self._loss = epoch, loss
        if validation:
            self._state = {name: value.clone() for name, value in self.model.state_dict().items()}

    def restore(self) -> None:
        """Give the model the parameters remembered."""
        if self._state is not None:
            self.model.load_state_dict(self._state)


class Motion:
    """How far parameters move in an epoch, each tensor beside its own longest move so far.

    A tensor that moves by no more than `tolerance` times that is still.
    """

    def __init__(self, parameters: Sequence[nn.Parameter], tolerance: float) -> None:
        self._parameters = parameters
        self._tolerance = tolerance
        self._before = self._now()
        self._longest = self._moves()  # nothing has moved yet
        self._still = 0

    def has_ceased(self) -> bool:
        """Whether all tensors were still in this epoch and in the last one.

        One epoch is not enough: resilient backpropagation stands still when a gradient turns.
        """
        moves = self._moves()
        self._before = self._now()
        self._longest = torch.maximum(self._longest, moves)
        still = bool((moves <= self._tolerance * self._longest).all())
        self._still = self._still + 1 if still else 0
        return self._still >= 2

    def _now(self) -> list[Tensor]:
        return [parameter.detach().clone() for parameter in self._parameters]

    def _moves(self) -> Float[Tensor, " tensors"]:
        pairs = zip(self._parameters, self._before, strict=True)
        return torch.stack([(now.detach() - before).abs().max() for now, before in pairs])


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


def _loss_and_gradient(
    model: Architecture, task: Task, batch: Batch, settings: TrainSettings
) -> Float[Tensor, ""]:
    """What an optimizer may call as often as it likes within one step."""
    with torch.enable_grad():
        model.zero_grad()
        loss = task.loss(model(batch), batch)
        loss.backward()
    if settings.clip_norm is not None:
        nn.utils.clip_grad_norm_(model.parameters(), settings.clip_norm)
    return loss.detach()


def _end(row: Epoch, settings: TrainSettings, planned: int, stale: int) -> str:
    """Why training ends after this row although epochs are left, or nothing.

    Raises ValueError where the validation does not measure `stop_metric`.
    """
    if row.epoch == settings.max_epochs:
        return ""
    if row.step == planned:
        return f"train.max_steps = {settings.max_steps} reached in epoch {row.epoch}"
    if settings.stop_metric is not None and settings.stop_at is not None:
        if settings.stop_metric not in row.validation:
            raise ValueError(
                f"train.stop_metric must be one of {', '.join(row.validation)}, "
                f"got {settings.stop_metric}"
            )
        if row.validation[settings.stop_metric] >= settings.stop_at:
            return (
                f"validation {settings.stop_metric} reached {settings.stop_at} in epoch {row.epoch}"
            )
    if settings.patience is not None and stale >= settings.patience:
        which = "validation" if row.validation else "training"
        return f"no lower {which} loss for {stale} epochs, in epoch {row.epoch}"
    if settings.max_minutes is not None and row.seconds > 60 * settings.max_minutes:
        return f"train.max_minutes = {settings.max_minutes:g} reached in epoch {row.epoch}"
    return ""

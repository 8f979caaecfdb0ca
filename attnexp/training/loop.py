"""Trains a model and yields a row of metrics an epoch. It reads and writes no files."""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice

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
from attnexp.training.state import (
    State,
    load_optimizer_state,
    optimizer_state,
    random_states,
    set_random_states,
)
from attnexp.training.steps import Gradient, training_step


class Training:
    """The training of a model, in place, which may be left after any update and taken up again.

    `generator` orders the examples. The learning rate of step s of n planned ones is
    lr * schedule(s / n). The model computes in blocks of `autocast`.

    `state` is all that the training depends on, so that one that was taken up has the bits of one
    that was never left. `left` is such a state.

    Raises ValueError when the model has nothing to train, or no direction says when `stop_metric`
    has reached its target, and any error for a state that is not one of this training.
    """

    def __init__(
        self,
        model: Architecture,
        dataset: Dataset,
        task: Task,
        optimizer: OptimizerFactory,
        schedule: Schedule,
        settings: TrainSettings,
        generator: torch.Generator,
        autocast: Autocast = nullcontext,
        left: State | None = None,
    ) -> None:
        parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        if not parameters:
            raise ValueError("the model has no parameters to train")
        self._model = model
        self._train = dataset.train
        self._schedule = schedule
        self._generator = generator
        self._size = settings.batch_size or len(dataset.train)
        self._course = Course(model, dataset, task, settings, autocast)
        self._motion = ParameterMotion(
            [p.detach().unsqueeze(0) for p in parameters], settings.tolerance
        )
        self._descent = optimizer(params=parameters)
        self._rate = self._descent.param_groups[0]["lr"]
        self._begin_epoch()
        if left is not None:
            self._take_up(left)
        gradient = Gradient(model, task, settings.clip_norm, autocast)
        self._update = training_step(gradient, self._descent)

    def epochs(self, after_update: Callable[[], None] = lambda: None) -> Iterator[Epoch]:
        """Train, and yield a row an epoch; `after_update` is called after each update.

        Raises TrainingDivergedError when the loss or a parameter becomes infinite or NaN.
        """
        course = self._course
        while not course.over:
            batches = portions(self._train, self._size, self._generator)
            for batch in islice(batches, self._losses.count, None):
                if course.step == course.planned:
                    break
                self._factor = self._schedule(course.step / course.planned)
                self._losses.add(self._update(batch, self._factor))
                course.step += 1
                after_update()
            losses, rate = self._losses.values(), self._rate * self._factor
            self._begin_epoch()
            yield course.end_epoch(losses, rate, self._motion.has_ceased()[0])
            course.require_finite(self._rate)
        course.best.restore()

    def state(self) -> State:
        """Return all that the rest of the training depends on, as it is after an update."""
        return {
            "model": self._model.state_dict(),
            "random": random_states(self._model),
            "optimizer": optimizer_state(self._descent),
            "motion": self._motion.state(0),
            "order": self._order,
            "losses": self._losses.values(),
            "factor": self._factor,
            **self._course.state(),
        }

    def _begin_epoch(self) -> None:
        self._order = self._generator.get_state()
        self._losses = EpochLosses(math.ceil(len(self._train) / self._size))
        self._factor = 1.0

    def _take_up(self, left: State) -> None:
        self._model.load_state_dict(left["model"])
        load_optimizer_state(self._descent, left["optimizer"])
        self._motion.take_up([left["motion"]])
        for loss in left["losses"]:
            self._losses.add(loss)
        self._factor = left["factor"]
        self._course.take_up(left)
        set_random_states(self._model, left["random"])
        self._generator.set_state(left["order"])
        self._order = left["order"]


class EpochLosses:
    """The losses of the updates of an epoch, at most `updates` of them, of one model or of many.

    They are in one tensor: a small one kept from each update would split the large blocks that the
    update frees, and the memory of the process would grow with every update.
    """

    def __init__(self, updates: int) -> None:
        self._updates = updates
        self.count = 0
        self._all = torch.empty(0)

    def add(self, losses: Float[Tensor, "*models"]) -> None:
        """Record the losses of an update."""
        if self.count == 0:
            self._all = losses.new_empty(*losses.shape, self._updates)
        self._all[..., self.count] = losses
        self.count += 1

    def values(self) -> Float[Tensor, "*models updates"]:
        """Return the losses of all updates so far."""
        return self._all[..., : self.count]

    def mean(self) -> Float[Tensor, "*models"]:
        """Return the mean over the updates."""
        return self.values().mean(dim=-1)


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
        self._fault = ""
        self._start = time.perf_counter()

    def state(self) -> State:
        """Return where the run stands within an epoch."""
        return {
            "step": self.step,
            "epoch": self._epoch,
            "over": self.over,
            "seconds": time.perf_counter() - self._start,
            "target": self._target.epochs,
            "best": self.best.state(),
        }

    def take_up(self, left: State) -> None:
        """Go on from a state."""
        self.step, self._epoch, self.over = left["step"], left["epoch"], left["over"]
        self._start = time.perf_counter() - left["seconds"]
        self._target.epochs = left["target"]
        self.best.take_up(left["best"])

    def end_epoch(self, losses: Float[Tensor, " updates"], rate: float, converged: bool) -> Epoch:
        """Validate at the end of an epoch, and return its row; training may be over then.

        `losses` are those of the epoch's updates and `rate` is the learning rate of the last one.
        """
        self._epoch += 1
        loss = float(losses.mean())
        self._fault = self._fault_of(losses)
        validation = {} if self._fault else validate(*self._run)
        if not math.isfinite(validation.get("loss", 0.0)):
            self._fault = f"the validation loss is {validation['loss']} after update {self.step}"
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

    def require_finite(self, rate: float) -> None:
        """Raise TrainingDivergedError where a loss or parameter of the last epoch is not finite.

        `rate` is the learning rate before the schedule.
        """
        if self._fault:
            raise TrainingDivergedError(
                f"{self._fault}, in epoch {self._epoch}; try a learning rate below "
                f"{rate:g} (optim.lr)"
            )

    def _fault_of(self, losses: Float[Tensor, " updates"]) -> str:
        """Return what is infinite or NaN after an epoch, or an empty text."""
        infinite = (~losses.isfinite()).nonzero()
        if len(infinite):
            first = int(infinite[0])
            update = self.step - len(losses) + first + 1
            return f"the loss is {float(losses[first])} at update {update}"
        if not is_finite(self._run[0]):
            return f"parameters are no longer finite after update {self.step}"
        return ""


def is_finite(model: torch.nn.Module) -> bool:
    """Return whether no parameter is infinite or NaN."""
    return all(bool(parameter.isfinite().all()) for parameter in model.parameters())


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

"""Trains a model and yields a row of metrics per epoch. It reads and writes no files."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from attnexp.core.batch import Batch
from attnexp.data.base import Dataset
from attnexp.training.base import Epoch, TrainingDivergedError, TrainSettings
from attnexp.training.early_stopping import (
    BestEpoch,
    ParameterMotion,
    Target,
    reason_to_end,
)
from attnexp.training.prepared_run import PreparedRun
from attnexp.training.record.measures import measure
from attnexp.training.state import (
    State,
    load_optimizer_state,
    optimizer_state,
    random_states,
    set_random_states,
)
from attnexp.training.updates import Gradient, training_step


class Training:
    """Trains the model of a run in place. Training can stop after any update, and be resumed.

    The learning rate of step s of n planned ones is lr * schedule(s, n). On a GPU the steps run as
    CUDA graphs unless `graphs` is false.

    `state` is an earlier result of the method `state`: a training that continues from there has the
    same bits as one that was never interrupted.

    Raises ValueError if the model has no parameters to train, and for a `stop_metric` that `Target`
    refuses. A state of another training may raise any error.
    """

    def __init__(self, run: PreparedRun, state: State | None = None) -> None:
        model, settings = run.model, run.settings
        parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        if not parameters:
            raise ValueError("the model has no parameters to train")
        self._run = run
        self._size = settings.batch_size or len(run.dataset.train)
        self._progress = RunProgress(run)
        self._motion = ParameterMotion(
            [p.detach().unsqueeze(0) for p in parameters], settings.tolerance
        )
        self._descent = run.optimizer(params=parameters)
        self._rate = self._descent.param_groups[0]["lr"]
        self._gradient = Gradient(model, run.task, settings.clip_norm, run.precision.autocast)
        self._begin_epoch()
        if state is not None:
            self._load_state(state)
        self._update = training_step(self._gradient, self._descent, run.config["graphs"])

    def epochs(self, after_update: Callable[[], None] = lambda: None) -> Iterator[Epoch]:
        """Train, and yield a row per epoch; `after_update` is called after each update.

        Raises TrainingDivergedError if the loss or a parameter becomes infinite or NaN.
        """
        progress = self._progress
        while not progress.over:
            whole = self._run.dataset.epoch(self._run.order)
            batches = portions(whole, self._size, self._run.order)
            for batch in islice(batches, self._losses.count, None):
                if progress.step == progress.planned:
                    break
                self._factor = self._run.schedule(progress.step, progress.planned)
                self._losses.add(self._update(batch, self._factor))
                progress.step += 1
                after_update()
            losses, rate = self._losses.values().cpu(), self._rate * self._factor
            norm, finite = float(self._gradient.longest), is_finite(self._run.model)
            self._begin_epoch()
            yield progress.end_epoch(losses, rate, self._motion.has_ceased()[0], norm, finite)
            progress.require_finite(self._rate)
        progress.best.restore()

    def state(self) -> State:
        """Return the state after an update: all that the rest of the training depends on."""
        return {
            "model": self._run.model.state_dict(),
            "random": random_states(self._run.model),
            "optimizer": optimizer_state(self._descent),
            "motion": self._motion.state(0),
            "order": self._order,
            "losses": self._losses.values(),
            "longest": float(self._gradient.longest),
            "factor": self._factor,
            **self._progress.state(),
        }

    def _begin_epoch(self) -> None:
        self._order = self._run.order.get_state()
        self._losses = EpochLosses(math.ceil(len(self._run.dataset.train) / self._size))
        self._gradient.longest.zero_()
        self._factor = 1.0

    def _load_state(self, state: State) -> None:
        self._run.model.load_state_dict(state["model"])
        load_optimizer_state(self._descent, state["optimizer"])
        self._motion.load_states([state["motion"]])
        for loss in state["losses"]:
            self._losses.add(loss)
        self._gradient.longest.fill_(state["longest"])
        self._factor = state["factor"]
        self._progress.load_state(state)
        set_random_states(self._run.model, state["random"])
        self._run.order.set_state(state["order"])
        self._order = state["order"]


class EpochLosses:
    """The losses of an epoch's updates, of one model or of several; an epoch has at most `updates`.

    All losses are in one tensor. A small tensor kept from each update would split the large blocks
    that the update frees, and the memory of the process would grow with every update.
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


class RunProgress:
    """The progress of one run: its updates, its epochs, and whether training is over.

    `step` counts the updates, of which the budgets allow `planned`. In a run that trains a second
    time both count from the second start; the rows and the state count from the first.
    """

    def __init__(self, run: PreparedRun) -> None:
        self.planned = planned_steps(run.dataset, run.settings)
        self.step = 0
        self.over = False
        self.best = BestEpoch(run.model)
        self._run = run
        self._target = Target(run.settings, run.task, run.dataset)
        self._epoch = 0
        self._fault, self._at_once = "", False
        self._start = time.perf_counter()
        second = run.second
        self._before = (0, 0, 0.0) if second is None else second.before

    def state(self) -> State:
        """Return the progress after an update."""
        return {
            "step": self._before[1] + self.step,
            "epoch": self._before[0] + self._epoch,
            "over": self.over,
            "seconds": time.perf_counter() - self._start,
            "target": self._target.epochs,
            "best": self.best.state(),
            **({} if self._run.second is None else {"second": self._run.second.state()}),
        }

    def load_state(self, state: State) -> None:
        """Continue from a state that `state` returned."""
        self.step, self.over = state["step"] - self._before[1], state["over"]
        self._epoch = state["epoch"] - self._before[0]
        self._start = time.perf_counter() - state["seconds"]
        self._target.epochs = state["target"]
        self.best.load_state(state["best"])

    def end_epoch(
        self,
        losses: Float[Tensor, " updates"],
        rate: float,
        converged: bool,
        norm: float,
        finite: bool,
    ) -> Epoch:
        """Validate at the end of an epoch, and return its row. Sets `over` if training has ended.

        `losses` are those of the epoch's updates, and `rate` is the learning rate of the last one.
        `norm` is the length of the longest gradient, if gradients are clipped. `converged` says
        that no parameter moves any more, `finite` that no parameter is infinite or NaN.
        """
        self._epoch += 1
        loss = float(losses.mean())
        self._fault = self._fault_of(losses, finite)
        self._at_once = self._epoch == 1 and not bool(losses[0].isfinite())
        validation = {} if self._fault else validate(self._run)
        if not math.isfinite(validation.get("loss", 0.0)):
            self._fault = f"the validation loss is {validation['loss']} after update {self.step}"
        self.best.update(self._epoch, loss, validation)
        if validation:
            self._target.update(validation)
        row = Epoch(
            epoch=self._epoch,
            step=self.step,
            loss=loss,
            lr=rate,
            seconds=time.perf_counter() - self._start,
            validation=validation,
            converged=converged,
            gradient_norm=None if self._run.settings.clip_norm is None else norm,
        )
        stale = self._epoch - self.best.epoch
        ended = reason_to_end(row, self._run.settings, self._target, self.planned, stale)
        self.over = bool(ended) or converged or self._epoch == self._run.settings.max_epochs
        if ended and self._run.second is not None:
            ended += " after the second start"
        epochs, steps, seconds = self._before
        return replace(
            row,
            epoch=epochs + row.epoch,
            step=steps + row.step,
            seconds=seconds + row.seconds,
            ended=ended,
        )

    def require_finite(self, rate: float) -> None:
        """Raise TrainingDivergedError if a loss or parameter of the last epoch was infinite or NaN.

        `rate` is the learning rate before the schedule, which the message advises to lower.
        """
        if self._fault:
            advice = (
                "no parameter was changed before: look at the data and at code of your own"
                if self._at_once
                else f"try a learning rate below {rate:g} (optim.lr)"
            )
            raise TrainingDivergedError(f"{self._fault}, in epoch {self._epoch}; {advice}")

    def _fault_of(self, losses: Float[Tensor, " updates"], finite: bool) -> str:
        """Return a sentence on an infinite or NaN value of an epoch, or an empty text."""
        infinite = (~losses.isfinite()).nonzero()
        if len(infinite):
            first = int(infinite[0])
            update = self.step - len(losses) + first + 1
            return f"the loss is {float(losses[first])} at update {update}"
        if not finite:
            return f"parameters are no longer finite after update {self.step}"
        return ""


def are_finite(stacks: Sequence[Shaped[Tensor, "models *_"]]) -> list[bool]:
    """Return, for each model, whether none of its parameters is infinite or NaN."""
    sound = [stack.isfinite().reshape(len(stack), -1).all(dim=1) for stack in stacks]
    finite: list[bool] = torch.stack(sound).all(dim=0).tolist()
    return finite


def is_finite(model: torch.nn.Module) -> bool:
    """Return whether no parameter is infinite or NaN."""
    stacks = [parameter.detach().unsqueeze(0) for parameter in model.parameters()]
    return not stacks or are_finite(stacks)[0]


def planned_steps(dataset: Dataset, settings: TrainSettings) -> int:
    """Return the number of updates that the budgets of epochs and steps allow."""
    size = settings.batch_size or len(dataset.train)
    steps = settings.max_epochs * math.ceil(len(dataset.train) / size)
    return min(steps, settings.max_steps or steps)


def validate(run: PreparedRun) -> Mapping[str, float]:
    """Return the task's metrics on the validation set, or nothing if the data have none."""
    whole = run.dataset.validation
    return {} if whole is None else measure(run, lambda model, _: run.task.validate(model, whole))


def portions(whole: Batch, size: int, generator: torch.Generator) -> Iterator[Batch]:
    """Yield the examples of a batch in random order, `size` at a time.

    A batch of at most `size` examples is yielded whole and in its own order.
    """
    if size >= len(whole):
        yield whole
        return
    order = torch.randperm(len(whole), generator=generator).to(whole.queries.device)
    for index in order.split(size):
        yield whole.select(index)

"""The end of training before its last epoch, and the parameters that it keeps."""

import math
from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from attnexp.architectures.base import Architecture
from attnexp.data.base import Dataset
from attnexp.tasks.base import Direction, Task
from attnexp.training.base import Epoch, TrainSettings
from attnexp.training.state import State


class BestEpoch:
    """The epoch with the lowest loss so far, and its parameters if it is a validation loss."""

    def __init__(self, model: Architecture) -> None:
        self.model = model
        self.epoch = 0
        self._loss = math.inf
        self._state: dict[str, Tensor] | None = None

    def update(self, epoch: int, loss: float, validation: Mapping[str, float]) -> None:
        """Record an epoch if its loss is the lowest, with the parameters if there is validation.

        A training loss is the mean over an epoch's steps, so it does not belong to one set of
        parameters.
        """
        loss = validation.get("loss", loss)
        if not loss < self._loss:
            return
        self.epoch, self._loss = epoch, loss
        if validation:
            self._state = {name: value.clone() for name, value in self.model.state_dict().items()}

    def state(self) -> State:
        """Return the best epoch so far, its loss and its parameters."""
        return {"epoch": self.epoch, "loss": self._loss, "model": self._state}

    def load_state(self, state: State) -> None:
        """Continue from a state that `state` returned."""
        self.epoch, self._loss, self._state = state["epoch"], state["loss"], state["model"]

    def restore(self) -> None:
        """Give the model the parameters of the best epoch, if they were recorded."""
        if self._state is not None:
            self.model.load_state_dict(self._state)


class ParameterMotion:
    """How far parameters move in an epoch, relative to the longest move of their tensor.

    The move of a tensor is the largest absolute change of one of its entries. A tensor is still in
    an epoch if its move is at most `tolerance` times its longest move so far. Without a tolerance
    no tensor is still. The first axis of each tensor is that of the models that train together.
    """

    def __init__(
        self, parameters: Sequence[Shaped[Tensor, "models *_"]], tolerance: float | None
    ) -> None:
        self._parameters = parameters
        self._tolerance = tolerance
        self._before = self._now()
        self._longest = self._moves()  # nothing has moved yet
        self._still = torch.zeros_like(self._longest[0], dtype=torch.int64)

    def has_ceased(self) -> list[bool]:
        """Return, for each model, whether all its tensors were still in two epochs in a row.

        Call this once at the end of each epoch. One still epoch is not enough: Rprop does not move
        a parameter in the update in which its gradient changes sign.
        """
        if self._tolerance is None:
            return [False] * len(self._still)
        moves = self._moves()
        self._before = self._now()
        self._longest = torch.maximum(self._longest, moves)
        still = (moves <= self._tolerance * self._longest).all(dim=0)
        self._still = (self._still + 1) * still
        ceased: list[bool] = (self._still >= 2).tolist()
        return ceased

    def keep(
        self, parameters: Sequence[Shaped[Tensor, "models *_"]], rows: Int[Tensor, " models"]
    ) -> None:
        """Continue with the models at `rows` alone; `parameters` are their tensors from now on."""
        self._parameters = parameters
        self._before = [before[rows] for before in self._before]
        self._longest, self._still = self._longest[:, rows], self._still[rows]

    def state(self, row: int) -> State:
        """Return the state of one model."""
        return {
            "before": [before[row] for before in self._before],
            "longest": self._longest[:, row],
            "still": self._still[row],
        }

    def load_states(self, states: Sequence[State]) -> None:
        """Continue from states that `state` returned, one for each model."""
        device = self._longest.device
        before = zip(*(each["before"] for each in states), strict=True)
        self._before = [torch.stack(rows).to(device) for rows in before]
        self._longest = torch.stack([each["longest"] for each in states], dim=1).to(device)
        self._still = torch.stack([each["still"] for each in states]).to(device)

    def _now(self) -> list[Tensor]:
        return [parameter.clone() for parameter in self._parameters]

    def _moves(self) -> Float[Tensor, "tensors models"]:
        pairs = zip(self._parameters, self._before, strict=True)
        changes = [(now - before).abs().reshape(len(now), -1) for now, before in pairs]
        return torch.stack([change.amax(dim=1) for change in changes])


class Target:
    """The validation metric at which training may end, and a count of the epochs at it.

    The target is met once `stop_metric` has been at `stop_at` or better after `stop_epochs` epochs
    in a row, which `epochs` counts. The metric of one head, such as `gold_mass.layer1.head2`, has
    the direction of the metric. Without a `stop_metric` there is no target.

    Raises ValueError if the data have no validation set, and for a metric that is not validated or
    does not rank.
    """

    def __init__(self, settings: TrainSettings, task: Task, dataset: Dataset) -> None:
        self._settings = settings
        self.epochs = 0
        name = settings.stop_metric
        if name is None:
            return
        if dataset.validation is None:
            raise ValueError(f"train.stop_metric is {name}, but these data have no validation set")
        ranking: dict[str, Direction] = {"loss": "lower"}
        ranking |= {key: metric.better for key, metric in task.validated.items() if metric.better}
        metric = name.partition(".")[0]
        if metric not in ranking:
            raise ValueError(f"train.stop_metric must be one of {', '.join(ranking)}, got {name}")
        self._sign = -1 if ranking[metric] == "lower" else 1

    def update(self, validation: Mapping[str, float]) -> None:
        """Record the validation of an epoch.

        Raises ValueError if `validation` has no `stop_metric`.
        """
        name, goal = self._settings.stop_metric, self._settings.stop_at
        if name is None or goal is None:
            return
        if name not in validation:
            raise ValueError(
                f"train.stop_metric must be one of {', '.join(validation)}, got {name}"
            )
        reached = self._sign * validation[name] >= self._sign * goal
        self.epochs = self.epochs + 1 if reached else 0

    @property
    def reached(self) -> str:
        """A clause that says that the target was reached, an empty text before."""
        needed = self._settings.stop_epochs
        if self._settings.stop_metric is None or self.epochs < needed:
            return ""
        often = f" in {needed} epochs in a row," if needed > 1 else ""
        return f"validation {self._settings.stop_metric} reached {self._settings.stop_at}{often}"


def reason_to_end(
    row: Epoch, settings: TrainSettings, target: Target, planned: int, stale: int
) -> str:
    """Return why training ends after this row although epochs are left, or an empty text.

    `target` includes the row's validation, `planned` is the number of updates that the budgets
    allow, and `stale` the number of epochs since the lowest loss.
    """
    if row.epoch == settings.max_epochs:
        return ""
    if row.step == planned:
        return f"train.max_steps = {settings.max_steps} reached in epoch {row.epoch}"
    if target.reached:
        return f"{target.reached} in epoch {row.epoch}"
    if settings.patience is not None and stale >= settings.patience:
        which = "validation" if row.validation else "training"
        return f"no lower {which} loss for {stale} epochs, in epoch {row.epoch}"
    if settings.max_minutes is not None and row.seconds > 60 * settings.max_minutes:
        return f"train.max_minutes = {settings.max_minutes:g} reached in epoch {row.epoch}"
    return ""

"""The types that training shares: its settings, a row of its metrics, its errors."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from attnexp.scores.base import require_positive

Schedule = Callable[[int, int], float]
"""The factor of the learning rate at update s, from 0, of n planned ones, given s and n."""


class TrainingDivergedError(RuntimeError):
    """A loss, a parameter or a metric is infinite or NaN. The message says which."""


class NotReplicableError(Exception):
    """A run cannot train as a replica. The message has the reason."""


@dataclass(frozen=True)
class TrainSettings:
    """The length of training, and the size of its portions.

    An epoch is one pass over the training batch, in portions of `batch_size` examples or, if it is
    None, all at once. Gradients longer than `clip_norm` are scaled down to it. With
    `attention_every` = n the test attention is kept before training and after every n epochs.

    Budgets: training ends after `max_epochs`, or after `max_steps` updates, or at the first epoch
    that ends after `max_minutes`; also once the validation metric `stop_metric` has been at
    `stop_at` or better after `stop_epochs` epochs in a row, or after `patience` epochs without a
    lower loss: of the validation set, or of training if the data have none. With a validation set
    the parameters of its lowest loss are kept. Training has converged, and ends, when no parameter
    has moved in either of the last two epochs by more than `tolerance` times the longest move of
    its tensor.

    Raises ValueError for a number that is not positive.
    """

    max_epochs: int
    max_steps: int | None = None
    max_minutes: float | None = None
    batch_size: int | None = None
    clip_norm: float | None = None
    stop_metric: str | None = None
    stop_at: float | None = None
    stop_epochs: int = 1
    patience: int | None = None
    tolerance: float | None = None
    attention_every: int | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, int | float):
                require_positive(name, value)
        if (self.stop_metric is None) != (self.stop_at is None):
            raise ValueError(
                "stop_metric and stop_at go together: "
                f"got stop_metric {self.stop_metric} and stop_at {self.stop_at}"
            )


@dataclass(frozen=True)
class Epoch:
    """One row of metrics.csv. `loss` is the mean over the epoch's steps, each before its update.

    `validation` holds the metrics of the validation set, if there is one. `converged` is true in
    the last epoch if training ended because no parameter moved any more. `ended` is another reason
    for which this is the last epoch although others were planned, or empty. `gradient_norm` is the
    length of the epoch's longest gradient before it was clipped, None without clipping.
    """

    epoch: int
    step: int
    loss: float
    lr: float
    seconds: float
    validation: Mapping[str, float] = field(default_factory=dict)
    converged: bool = False
    ended: str = ""
    gradient_norm: float | None = None

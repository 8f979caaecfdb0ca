"""The contract of a task."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from jaxtyping import Float
from torch import Tensor

from attnexp.architectures.base import Architecture
from attnexp.batch import Batch, Prediction
from attnexp.data.base import Dataset


@dataclass(frozen=True)
class Evaluation:
    """What a trained model is worth: metrics, test predictions as rows, remarks.

    `details` are metrics cut into parts, such as accuracy by length.
    """

    metrics: Mapping[str, float]
    rows: list[dict[str, object]]
    notes: tuple[str, ...] = ()
    details: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Attended:
    """Examples of the test set, always the same ones, and a model's attention on them."""

    shown: Batch
    weights: Mapping[str, Float[Tensor, "batch layers heads _ _"]]


class Task(ABC):
    """The loss and the metrics of a kind of data. Stateless.

    `primary` is the metric by which runs are compared first. `selection` is the one by which a
    search chooses settings: it has not seen the test set, so that the test stays one. `better` says
    of every metric that can be compared whether "lower" or "higher" is better; other metrics
    describe and do not rank.
    """

    primary: ClassVar[str]
    selection: ClassVar[str]
    better: ClassVar[Mapping[str, Literal["lower", "higher"]]]

    @abstractmethod
    def loss(self, prediction: Prediction, batch: Batch) -> Float[Tensor, ""]:
        """What training makes small."""

    @abstractmethod
    def validate(self, model: Architecture, batch: Batch) -> dict[str, float]:
        """Metrics on held-out examples during training; `loss` is among them."""

    @abstractmethod
    def evaluate(self, model: Architecture, dataset: Dataset) -> Evaluation:
        """Measure a model on the test set."""

    @abstractmethod
    def attend(self, model: Architecture, dataset: Dataset) -> Attended:
        """The attention that a run keeps.

        These three are called without gradients, on the model's device and in evaluation mode.
        """

"""The contract of a task."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from jaxtyping import Float
from torch import Tensor

from attnexp.architectures.architecture import Architecture
from attnexp.batch import Batch, Prediction
from attnexp.data.dataset import Dataset


@dataclass(frozen=True)
class Evaluation:
    """What a trained model is worth: metrics, test predictions as rows, attention, remarks.

    `shown` is the part of the test set whose attention is kept, and `weights` is that attention.
    """

    metrics: Mapping[str, float]
    rows: list[dict[str, object]]
    shown: Batch
    weights: Mapping[str, Float[Tensor, "batch layers heads _ _"]]
    notes: tuple[str, ...] = field(default=())


class Task(ABC):
    """The loss and the metrics of a kind of data. Stateless.

    `primary` is the metric by which runs are compared first. `better` says of every metric that can
    be compared whether "lower" or "higher" is better; other metrics describe and do not rank.
    """

    primary: ClassVar[str]
    better: ClassVar[Mapping[str, Literal["lower", "higher"]]]

    @abstractmethod
    def loss(self, prediction: Prediction, batch: Batch) -> Float[Tensor, ""]:
        """What training makes small."""

    @abstractmethod
    def evaluate(self, model: Architecture, dataset: Dataset) -> Evaluation:
        """Measure a model on the test set. Called without gradients, on the model's device."""

"""The contract of a task, and how a metric is declared."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from jaxtyping import Bool, Float, Int
from torch import Tensor

from attnexp.architectures.base import Architecture
from attnexp.attention.base import may_be_empty
from attnexp.core.batch import Batch, Prediction
from attnexp.data.base import Dataset

Direction = Literal["lower", "higher"]


@dataclass(frozen=True)
class Metric:
    """A number that describes a trained model, declared in one place.

    - `measure` computes the number from the task's measurements of one split. It returns None if
      there is no such number, such as an alignment score without gold keys.
    - `doc` describes the number in the documentation, `unit` is its unit.
    - `better` says which values are better. A metric without it describes runs and does not rank
      them.
    - A `headline` is shown while a run trains and at its end. The other metrics are in
      summary.json.
    - A `validated` metric is also measured on the validation set after each epoch. metrics.csv has
      it as `val_NAME`, without `test_`. If the metric `selects`, the summary has it under that name
      too.
    - The first step at which a validated metric is above its `milestone`, such as 0.9, is recorded
      as `NAME_90_step`.
    - `companions` are the metrics that tables show next to this one, by the heads of their columns,
      such as the metric of guessing by `chance`.
    """

    name: str
    measure: Callable[[Any], Float[Tensor, ""] | float | None]
    doc: str
    better: Direction | None = None
    unit: str = ""
    headline: bool = False
    validated: bool = False
    selects: bool = False
    milestone: float | None = None
    companions: Mapping[str, str] = field(default_factory=dict)

    @property
    def validation_name(self) -> str:
        """The name of the metric on the validation set, without `test_`."""
        return self.name.removeprefix("test_")


@dataclass(frozen=True)
class Evaluation:
    """The evaluation of a trained model: metrics, test predictions as rows, notes.

    `details` are metrics cut into parts, such as accuracy by length. `response` are predictions
    over a grid of inputs, as rows, if the inputs have names. `floors` has, for each metric of
    guessing, the guess that it measures.
    """

    metrics: Mapping[str, float]
    rows: list[dict[str, object]]
    notes: tuple[str, ...] = ()
    details: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    response: Sequence[Mapping[str, object]] = ()
    floors: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Attended:
    """Examples of the test set, the same ones at each call, and a model's attention on them."""

    shown: Batch
    weights: Mapping[str, Float[Tensor, "batch layers heads _ _"]]


class Task(ABC):
    """The loss and the metrics of a kind of data. A task has no state.

    `metrics` declares every metric. `primary` names the metric by which runs are compared first.
    `selection` names the metric by which a search selects settings; it does not depend on the test
    set.
    """

    primary: ClassVar[str]
    selection: ClassVar[str]
    metrics: ClassVar[tuple[Metric, ...]]

    @property
    def better(self) -> dict[str, Direction]:
        """The direction of every metric in the summary that ranks, by its name there."""
        ranking = [(metric, metric.better) for metric in self.metrics if metric.better is not None]
        return {metric.name: way for metric, way in ranking} | {
            f"val_{metric.validation_name}": way for metric, way in ranking if metric.selects
        }

    @property
    def validated(self) -> dict[str, Metric]:
        """The metrics that are measured on the validation set, by their names without `test_`."""
        return {metric.validation_name: metric for metric in self.metrics if metric.validated}

    @abstractmethod
    def loss(self, prediction: Prediction, batch: Batch) -> Float[Tensor, ""]:
        """Return the loss, which training minimizes."""

    @abstractmethod
    def validate(self, model: Architecture, batch: Batch) -> dict[str, float]:
        """Return the metrics of held-out examples during training; `loss` is among them."""

    @abstractmethod
    def evaluate(
        self, model: Architecture, dataset: Dataset, untrained: Iterable[Architecture] = ()
    ) -> Evaluation:
        """Measure a model on the test set.

        `untrained` are models of the same shape with other first parameters, each made when it is
        needed. Their metrics are those of chance.
        """

    @abstractmethod
    def by_example(
        self,
        outputs: Float[Tensor, "batch targets outputs"],
        batch: Batch,
        dataset: Dataset,
        decoded: Int[Tensor, "batch targets"] | None = None,
    ) -> dict[str, Float[Tensor, " examples"]]:
        """Return the metrics of the answer to each example. Their mean is the metric of the split.

        `decoded` are the answers if they were decoded step by step, fed back. Without them, the
        answers are the most probable `outputs`.
        """

    def of_texts(
        self, decoded: Int[Tensor, "batch targets"], batch: Batch, dataset: Dataset
    ) -> dict[str, float]:
        """Return the metrics of decoded answers that are not means over examples, such as BLEU."""
        return {}

    @abstractmethod
    def attend(self, model: Architecture, dataset: Dataset) -> Attended:
        """Return the attention that a run keeps.

        Callers of `validate`, `evaluate` and `attend` turn gradients off and evaluation mode on,
        with all data on the model's device.
        """


class ScoreOverflowError(ArithmeticError):
    """Scores left the range of their floating-point numbers."""


def require_sound_weights(
    model: Architecture,
    weights: Float[Tensor, "batch layers heads queries keys"],
    mask: Bool[Tensor, "batch #queries _"],
) -> None:
    """Raise ScoreOverflowError for weights that no finite scores could have given.

    Such weights are not finite, or are a row of zeros although the row may attend to keys. Rows of
    zeros are sound if the scores or normalizers of the model can make them.

    `mask` says which keys a query may attend to. It may cover a part of the keys, such as the
    source of a joint sequence: then rows count if they may attend to one of these.
    """
    if not weights.isfinite().all():
        raise ScoreOverflowError(
            "the scores overflowed: some attention weights are not numbers. Try smaller settings "
            "of the model, such as its width or initial_strength"
        )
    if may_be_empty(model):
        return
    empty = (weights.sum(dim=-1) == 0) & mask.any(dim=-1)[:, None, None]
    if empty.any():
        raise ScoreOverflowError(
            f"the scores overflowed: {int(empty.sum())} of {empty.numel()} queries have no weight "
            "on any key, because all their scores are minus infinity. Try a smaller model.width"
        )


def measured(metrics: Mapping[str, Metric], content: Any) -> dict[str, float]:
    """Return the metrics of a task's measurements by name, without those that are None."""
    values = {name: metric.measure(content) for name, metric in metrics.items()}
    return {name: float(value) for name, value in values.items() if value is not None}

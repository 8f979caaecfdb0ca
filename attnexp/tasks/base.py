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

    - `measure` computes it from the task's measurements of one split; None if it does not exist,
      such as an alignment score without gold.
    - `doc` describes it in the documentation, `unit` is its unit.
    - `better` says which values are better; without it the metric describes and does not rank.
    - A `headline` is shown while a run trains and at its end, others are in summary.json.
    - A `validated` metric is also measured on the validation set after each epoch, as `val_NAME`
      in metrics.csv, `test_` left out; one that `selects` is in the summary under that name.
    - Training records as `NAME_90_step` the step at which a validated metric first passes its
      `milestone`, 0.9.
    - `companions` names the metrics that are shown next to it in tables, by the heads of their
      columns, such as the metric of guessing by `chance`.
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
        """The name of the metric on the validation set."""
        return self.name.removeprefix("test_")


@dataclass(frozen=True)
class Evaluation:
    """The evaluation of a trained model: metrics, test predictions as rows, notes.

    `details` are metrics cut into parts, such as accuracy by length. `response` are predictions
    over a grid of inputs, as rows, if the inputs have names. `floors` says of metrics of guessing
    which guess they are of, by their names.
    """

    metrics: Mapping[str, float]
    rows: list[dict[str, object]]
    notes: tuple[str, ...] = ()
    details: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    response: Sequence[Mapping[str, object]] = ()
    floors: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Attended:
    """Examples of the test set, always the same ones, and a model's attention on them."""

    shown: Batch
    weights: Mapping[str, Float[Tensor, "batch layers heads _ _"]]


class Task(ABC):
    """The loss and the metrics of a kind of data. Stateless.

    `metrics` declares every metric. `primary` names the one by which runs are compared first,
    `selection` the one by which a search selects settings, which does not depend on the test set.
    """

    primary: ClassVar[str]
    selection: ClassVar[str]
    metrics: ClassVar[tuple[Metric, ...]]

    @property
    def better(self) -> dict[str, Direction]:
        """The direction of every final metric that ranks, by its name in the summary."""
        ranking = [(metric, metric.better) for metric in self.metrics if metric.better is not None]
        return {metric.name: way for metric, way in ranking} | {
            f"val_{metric.validation_name}": way for metric, way in ranking if metric.selects
        }

    @property
    def validated(self) -> dict[str, Metric]:
        """The metrics of the validation set by the names that they have there."""
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

        `untrained` are models of the same shape with other first parameters, each made on demand:
        their metrics are those of chance.
        """

    @abstractmethod
    def by_example(
        self,
        outputs: Float[Tensor, "batch targets outputs"],
        batch: Batch,
        dataset: Dataset,
        decoded: Int[Tensor, "batch targets"] | None = None,
    ) -> dict[str, Float[Tensor, " examples"]]:
        """Return the metrics of the answer to each example, whose mean is the metric.

        `decoded` are answers that were fed back, if there are such; otherwise the answers are those
        of the outputs.
        """

    def of_texts(
        self, decoded: Int[Tensor, "batch targets"], batch: Batch, dataset: Dataset
    ) -> dict[str, float]:
        """Return the metrics of decoded answers that are not means over examples, such as BLEU."""
        return {}

    @abstractmethod
    def attend(self, model: Architecture, dataset: Dataset) -> Attended:
        """Return the attention that a run keeps.

        `validate`, `evaluate` and `attend` are called without gradients, on the model's device and
        in evaluation mode.
        """


class ScoreOverflowError(ArithmeticError):
    """Scores left the range of their floating-point numbers."""


def require_sound_weights(
    model: Architecture,
    weights: Float[Tensor, "batch layers heads queries keys"],
    mask: Bool[Tensor, "batch #queries _"],
) -> None:
    """Raise ScoreOverflowError for weights that no finite scores could have given.

    The mask says which keys a query may attend to. It may be of a part of the keys, such as the
    source of a joint sequence: then the rows of queries that may attend to one of these count.

    These are weights that are not finite, and rows of zeros although keys are allowed, unless the
    model's scores or normalizers make such rows.
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
    """Return the metrics of a task's measurements by name, without those that do not exist."""
    values = {name: metric.measure(content) for name, metric in metrics.items()}
    return {name: float(value) for name, value in values.items() if value is not None}

"""The contract of a data set."""

from abc import ABC
from collections.abc import Mapping
from copy import copy
from types import MappingProxyType
from typing import Any, ClassVar

import torch

from attnexp.core.batch import Batch, DataSpec


class Dataset(ABC):
    """Holds three disjoint splits, each one batch, and the sizes that a model must know.

    A subclass sets `spec`, `train`, `validation` and `test` in its constructor, whose keyword
    arguments are its settings, and annotates `spec` with its kind. It draws only from the
    `generator` that it is given, so that one seed gives the same data whatever model is trained on
    them. `validation` is None if the training loss is itself a validation, as leave-one-out is.
    """

    spec: DataSpec
    floors: ClassVar[tuple[str, ...]] = ()
    """The metrics whose floor a run measures, the value that is reached without reading a key: see
    `attnexp.data.floors`."""
    packages: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """The packages that the constructor imports, each with what pip installs for it. A command says
    which one is missing before its first job."""
    chance: Mapping[str, float] = MappingProxyType({})
    """The metrics of a guess of the data's own on the test set, by name, if the data define one."""
    notes: tuple[str, ...] = ()
    """Sentences for readers of the numbers, such as how many examples were left out."""
    splits_rows: ClassVar[bool] = False
    """Whether each seed splits the same rows in another way, and does not draw new examples."""
    overlap: float = 0.0
    """n_test / n_train if each seed splits the same rows in another way, and 0 if it draws new
    examples. Such splits are not independent (Nadeau and Bengio 2003)."""
    train: Batch
    validation: Batch | None
    test: Batch

    @classmethod
    def fixed_by(cls, settings: Mapping[str, Any]) -> str | None:
        """Return the setting because of which no seed draws the data, None if seeds draw them.

        `settings` are those of the constructor. If the data are fixed, a seed is that of the model
        alone, and `data_seed` is refused.
        """
        return None

    def epoch(self, generator: torch.Generator) -> Batch:
        """Return the examples of the next pass over the data: `train`.

        Data that draw new examples for each pass override this method. They draw as many examples
        as `train` has from `generator`, that of the order of training, and return them on the
        device of `train`.
        """
        return self.train

    def to(self, device: torch.device, dtype: torch.dtype | None = None) -> "Dataset":
        """Return the same data set with its batches on `device`, and their numbers as `dtype`."""
        moved = copy(self)
        moved.train, moved.test = self.train.to(device, dtype), self.test.to(device, dtype)
        moved.validation = None if self.validation is None else self.validation.to(device, dtype)
        return moved

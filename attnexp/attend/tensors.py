"""Tensors described in words: by kind and shape, by their numbers, or by a file of numbers."""

import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from attnexp.core.errors import (
    RequestError,
    choices_text,
    nearest_text,
    refusal,
    shortened_value,
    with_choices,
)
from attnexp.runs.text_files import as_text

if TYPE_CHECKING:
    from torch import Generator, Tensor

MOST = 2**20
"""The most numbers in one tensor."""

MOST_AXES = 3
"""Batch, queries or keys, features."""

SHOWN = 40
"""The most characters of a description in a message."""

KINDS = ("arange", "eye", "normal", "ones", "uniform", "zeros")
"""The tensors that `KIND:SHAPE` makes: 0, 1, 2, ..., identity matrices, draws, ones, zeros."""


@dataclass(frozen=True)
class Description:
    """A description of a tensor: a text, or nested lists of numbers.

    `where` is the option or the key of a YAML file that holds it. Files are sought from `folder`.
    """

    where: str
    content: Any
    folder: Path

    def __str__(self) -> str:
        return shortened_value(str(self.content), SHOWN)

    def tensor(self, generator: "Generator") -> "Tensor":
        """Return the tensor, of one to three axes and float32.

        Raises RequestError for a description that is not understood, for numbers that are not
        finite, and for more than `MOST` of them, before anything is allocated.
        """
        import torch

        if made := re.fullmatch(r"([a-z]+):([0-9x]+)", str(self.content)):
            return self._made(made[1], made[2], generator)
        with np.errstate(over="ignore"):
            array = self._array()
            self._check_shape(array.shape)
            single = np.array(array, dtype=np.float32)
        beyond = single[~np.isfinite(single)]
        if beyond.size:
            hides = "scores" in self.where and np.isneginf(beyond).all()
            advice = ": --mask hides a key" if hides else ""
            raise self._error(f"holds a number that is not finite in 32 bits{advice}")
        return torch.from_numpy(single)

    def lengths(self, generator: "Generator") -> "Tensor":
        """Return the tensor as whole numbers. Raises RequestError for others, and as `tensor`."""
        numbers = self.tensor(generator)
        if numbers.dim() > 2 or not numbers.equal(numbers.round()):
            raise self._error("must be whole numbers: 2,6 per sequence, 1,3;2,4 per query")
        return numbers.long()

    def truths(self, generator: "Generator") -> "Tensor":
        """Return the tensor as truth values. Raises RequestError for others than 1 and 0."""
        numbers = self.tensor(generator)
        if not numbers.equal(numbers.bool().float()):
            raise self._error("must be 1 where a query sees a key, and 0 elsewhere")
        return numbers.bool()

    def _made(self, kind: str, sizes: str, generator: "Generator") -> "Tensor":
        import torch

        if kind not in KINDS:
            choices = f"choose {choices_text(KINDS)}"
            raise self._error(
                with_choices("has an unknown kind", nearest_text(kind, KINDS), choices)
            )
        if not re.fullmatch(r"[1-9]\d{0,9}(x[1-9]\d{0,9})*", sizes):
            raise self._error("must have a shape of positive integers, such as 2x10x4")
        shape = tuple(map(int, sizes.split("x")))
        shape = shape * 2 if kind == "eye" and len(shape) == 1 else shape
        self._check_shape(shape)
        makers: Mapping[str, Callable[[], Tensor]] = {
            "arange": lambda: torch.arange(math.prod(shape), dtype=torch.float32).view(shape),
            "eye": lambda: torch.eye(*shape[-2:]).expand(shape),
            "normal": lambda: torch.randn(shape, generator=generator),
            "ones": lambda: torch.ones(shape),
            "uniform": lambda: torch.rand(shape, generator=generator),
            "zeros": lambda: torch.zeros(shape),
        }
        return makers[kind]()

    def _check_shape(self, shape: Sequence[int]) -> None:
        if not 1 <= len(shape) <= MOST_AXES:
            raise self._error(f"has {len(shape)} axes: expected one to three, as in 2x10x4")
        if min(shape) < 1:
            raise self._error(f"is empty: its shape is {shape_text(shape)}")
        require_few(f"{self.where} {self}", shape)

    def _array(self) -> NDArray[Any]:
        """Return the numbers of nested lists, of a file or of a text such as `1,2;3,4`."""
        text = str(self.content)
        path = self.folder / text
        try:
            if isinstance(self.content, list):
                return np.array(self.content, dtype=np.float64)
            if path.suffix == ".npy":
                return _numbers_of(open_memmap(path, mode="r"))
            if path.suffix == ".csv":
                return _rows(as_text(text, path.read_bytes()))
            rows = _rows(text.replace(";", "\n"))
            return rows if ";" in text else rows[0]
        except OSError as error:
            raise RequestError(f"{self.where}: {path} cannot be read: {refusal(error)}") from error
        except (ValueError, TypeError, OverflowError) as error:
            raise self._error(
                f"is not a tensor ({shortened_value(' '.join(str(error).split()), 100)}): write "
                f"KIND:SHAPE as in normal:2x1x20; numbers as in 1,2;3,4; or a file, .npy or .csv"
            ) from error

    def _error(self, what: str) -> RequestError:
        return RequestError(f"{self.where}: '{self}' {what}")


def _rows(text: str) -> NDArray[np.float64]:
    """Return the rows of CSV text without a header. Raises ValueError for other text."""
    if not text.strip():
        raise ValueError("it is empty")
    return np.loadtxt(io.StringIO(text), delimiter=",", ndmin=2, comments=None)


def _numbers_of(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind not in "biuf":
        raise ValueError(f"it has the type {array.dtype}")
    return array


def fitted(tensors: "Mapping[str, Tensor]") -> "dict[str, Tensor]":
    """Return tensors with the axes batch, queries or keys, features, all of one batch.

    One axis of queries, keys or values is points of one feature, one of scores is those of one
    query. A tensor without a batch, or with a batch of 1, is the same in every sequence; lengths
    may be given per sequence or per query.

    Raises RequestError with all shapes if they do not fit.
    """
    whole = {name: _with_batch(name, tensor) for name, tensor in tensors.items()}
    scored = whole.get("scores")
    queries = whole["queries"].shape[1] if scored is None else scored.shape[1]
    keys = whole["keys"].shape[1] if scored is None else scored.shape[2]
    batch = max(len(tensor) for tensor in whole.values())
    for name, tensor in whole.items():
        if len(tensor) not in (1, batch):
            raise _misfit(f"{name} have {len(tensor)} sequences, others {batch}", tensors)
    if "values" in whole and whole["values"].shape[1] != keys:
        raise _misfit(f"there are {keys} keys and not as many values", tensors)
    lens = whole.get("valid_lens")
    if lens is not None and lens.dim() == 2 and lens.shape[1] != queries:
        raise _misfit(f"there are {queries} queries in a sequence, not {lens.shape[1]}", tensors)
    mask = whole.get("mask")
    if mask is not None and mask.shape[1:] != (queries, keys):
        raise _misfit(f"a mask has a row of {keys} keys for each of {queries} queries", tensors)
    require_few("scores", (batch, queries, keys))
    for name, tensor in whole.items():
        require_few(name, (batch, *tensor.shape[1:]))
    if "values" in whole:
        require_few("contexts", (batch, queries, whole["values"].shape[2]))
    return {name: tensor.expand(batch, *tensor.shape[1:]) for name, tensor in whole.items()}


def _with_batch(name: str, tensor: "Tensor") -> "Tensor":
    if name == "valid_lens" or tensor.dim() == MOST_AXES:
        return tensor
    if tensor.dim() == 1:
        tensor = tensor.unsqueeze(0 if name in ("scores", "mask") else 1)
    return tensor.unsqueeze(0)


def _misfit(why: str, tensors: "Mapping[str, Tensor]") -> RequestError:
    shapes = ", ".join(f"{name} {shape_text(tensor.shape)}" for name, tensor in tensors.items())
    return RequestError(f"the shapes do not fit, {why}: {shapes}")


def require_few(what: str, shape: Sequence[int]) -> None:
    """Raise RequestError for a shape of too many numbers."""
    if math.prod(shape) > MOST:
        raise RequestError(
            f"{what}: {shape_text(shape)} are {math.prod(shape):,} numbers, expected at most "
            f"{MOST:,}"
        )


def shape_text(shape: Sequence[int]) -> str:
    """Return a shape as `2 x 10 x 4`."""
    return " x ".join(map(str, shape))

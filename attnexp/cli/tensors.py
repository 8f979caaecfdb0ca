"""Tensors as people describe them: by kind and shape, by their numbers, or by a file of numbers."""

import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.lib import format as npy
from numpy.typing import NDArray
from torch import Generator, Tensor

from attnexp.errors import RequestError, choices_text, nearest_text, shortened
from attnexp.runs.files import MIB, UnreadableRunError, read_bytes, text_of

MOST = 2**20
"""Numbers of one tensor: more than anybody looks at."""

MOST_AXES = 3
"""Batch, queries or keys, features."""

MOST_BYTES = 16 * MIB
"""Bytes of a file of numbers."""

SHOWN = 40
"""Letters of a description in a message."""

Shape = tuple[int, ...]

KINDS: Mapping[str, Callable[[Shape, Generator], Tensor]] = {
    "arange": lambda shape, _: torch.arange(math.prod(shape), dtype=torch.float32).view(shape),
    "eye": lambda shape, _: torch.eye(*shape[-2:]).expand(shape if len(shape) > 1 else shape * 2),
    "normal": lambda shape, generator: torch.randn(shape, generator=generator),
    "ones": lambda shape, _: torch.ones(shape),
    "uniform": lambda shape, generator: torch.rand(shape, generator=generator),
    "zeros": lambda shape, _: torch.zeros(shape),
}
"""What `KIND:SHAPE` makes: 0, 1, 2, ..., identity matrices, draws, ones, zeros."""


@dataclass(frozen=True)
class Description:
    """A tensor as it was described: `--keys` or a key of a YAML file, and text or nested lists.

    Files are sought from `folder`.
    """

    where: str
    content: Any
    folder: Path

    def __str__(self) -> str:
        return shortened(str(self.content), SHOWN)

    def tensor(self, generator: Generator) -> Tensor:
        """Return the tensor, of one to three axes and float32.

        Raises RequestError for what describes none, for numbers that are not finite, and before
        anything is allocated for too many.
        """
        if isinstance(self.content, list):
            array = self._nested()
        elif made := re.fullmatch(r"([a-z]+):([0-9x]+)", str(self.content)):
            return self._made(made[1], made[2], generator)
        elif Path(str(self.content)).suffix in FILES:
            array = self._file()
        else:
            array = self._numbers(str(self.content))
        self._check_shape(array.shape)
        with np.errstate(over="ignore"):
            single = array.astype(np.float32)
        if not np.isfinite(single).all():
            raise self._error("holds a number that is not finite in 32 bits")
        return torch.from_numpy(single)

    def whole(self, generator: Generator) -> Tensor:
        """Return the tensor as whole numbers. Raises RequestError for others, and as `tensor`."""
        numbers = self.tensor(generator)
        if numbers.dim() > 2 or not numbers.equal(numbers.round()):
            raise self._error("must be whole numbers: 2,6 a sequence, 1,3;2,4 a query")
        return numbers.long()

    def _made(self, kind: str, sizes: str, generator: Generator) -> Tensor:
        if kind not in KINDS:
            raise self._error(
                f"is of no kind that there is: choose {choices_text(KINDS)}."
                f"{nearest_text(kind, KINDS)}"
            )
        if not re.fullmatch(r"[1-9]\d{0,9}(x[1-9]\d{0,9})*", sizes):
            raise self._error("has no shape such as 2x10x4, whole numbers from 1 on")
        shape = tuple(map(int, sizes.split("x")))
        self._check_shape(shape * 2 if kind == "eye" and len(shape) == 1 else shape)
        return KINDS[kind](shape, generator)

    def _check_shape(self, shape: Shape) -> None:
        if not 1 <= len(shape) <= MOST_AXES:
            raise self._error(f"has {len(shape)} axes: expected one to three, as in 2x10x4")
        if min(shape) < 1:
            raise self._error(f"is empty: its shape is {shape_text(shape)}")
        require_few(f"{self.where} {self}", shape)

    def _nested(self) -> NDArray[np.float64]:
        try:
            return np.array(self.content, dtype=np.float64)
        except (ValueError, TypeError, OverflowError) as error:
            raise self._error("must be lists of numbers, all of one length") from error

    def _numbers(self, text: str) -> NDArray[np.float64]:
        """Return `1,2,3` as one axis, `1,2;3,4` as two and `1,2,3;` as a single row."""
        rows = text.split(";")
        try:
            array = rows_of(rows[:-1] if rows[-1].strip() == "" and rows[1:] else rows)
        except ValueError:
            raise self._error(
                f"is no tensor: write KIND:SHAPE as in normal:2x1x20, with {choices_text(KINDS)}; "
                "numbers as in 1,2;3,4; or a file, .npy or .csv"
            ) from None
        return array if rows[1:] else array[0]

    def _file(self) -> NDArray[Any]:
        path = self.folder / str(self.content)
        try:
            content = read_bytes(path, MOST_BYTES)
            return FILES[path.suffix](path, content)
        except (FileNotFoundError, UnreadableRunError) as error:
            raise RequestError(f"{self.where}: {error}") from error
        except ValueError as error:
            why = " ".join(str(error).split())
            raise self._error(f"holds no rows of numbers: {why}") from error

    def _error(self, what: str) -> RequestError:
        return RequestError(f"{self.where}: '{self}' {what}")


def rows_of(rows: Sequence[str]) -> NDArray[np.float64]:
    """Return rows of numbers between commas. Raises ValueError, which names a bad row."""
    numbers: list[list[float]] = []
    for place, row in enumerate(rows, start=1):
        try:
            numbers.append([float(cell) for cell in row.split(",")])
        except ValueError:
            raise ValueError(f"row {place} is '{shortened(row, SHOWN)}'") from None
        if len(numbers[-1]) != len(numbers[0]):
            raise ValueError(
                f"row {place} has {len(numbers[-1])} numbers, the first has {len(numbers[0])}"
            )
    return np.array(numbers)


def read_csv(path: Path, content: bytes) -> NDArray[np.float64]:
    """Return the rows of a CSV file without a header. Raises ValueError for other content."""
    return rows_of([row for row in text_of(path, content).splitlines() if row.strip()])


def read_npy(path: Path, content: bytes) -> NDArray[Any]:
    """Return an array of numbers, without a copy. Raises ValueError for other content.

    NumPy would allocate what the header of a file claims before it reads.
    """
    file = io.BytesIO(content)
    version = npy.read_magic(file)
    if version not in NPY_HEADERS:
        raise ValueError(f"it has version {version[0]}.{version[1]} of the format")
    shape, by_columns, dtype = NPY_HEADERS[version](file)
    if dtype.kind not in "biuf" or min(shape, default=0) < 0:
        raise ValueError(f"it has the type {dtype} and the shape {shape}")
    if len(content) - file.tell() < math.prod(shape) * dtype.itemsize:
        raise ValueError("it is cut short")
    flat = np.frombuffer(content, dtype, math.prod(shape), file.tell())
    return flat.reshape(shape, order="F" if by_columns else "C")


NPY_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
"""How the header of an .npy file is read, by its version. Later ones are for names of fields."""


FILES: Mapping[str, Callable[[Path, bytes], NDArray[Any]]] = {".csv": read_csv, ".npy": read_npy}
"""How a file of numbers is read, by how its name ends."""


def fitted(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return tensors with the axes batch, queries or keys, features, all of one batch.

    One axis of queries or keys is points of one feature, one of scores is those of one query, and
    values are laid out key by key. What has no batch, or a batch of 1, is the same in every
    sequence; lengths may be one a sequence or one a query.

    Raises RequestError with all shapes where they do not fit.
    """
    whole = {name: _with_batch(name, tensor) for name, tensor in tensors.items()}
    scored = whole.get("scores")
    queries = whole["queries"].shape[1] if scored is None else scored.shape[1]
    keys = whole["keys"].shape[1] if scored is None else scored.shape[2]
    if "values" in whole and tensors["values"].dim() == 1 and not tensors["values"].numel() % keys:
        whole["values"] = tensors["values"].view(1, keys, -1)
    batch = max(len(tensor) for tensor in whole.values())
    for name, tensor in whole.items():
        if len(tensor) not in (1, batch):
            raise _misfit(f"{name} have {len(tensor)} sequences, others {batch}", tensors)
    if "values" in whole and whole["values"].shape[1] != keys:
        raise _misfit(f"there are {keys} keys and not as many values", tensors)
    lens = whole.get("valid_lens")
    if lens is not None and lens.dim() == 2 and lens.shape[1] != queries:
        raise _misfit(f"there are {queries} queries in a sequence, not {lens.shape[1]}", tensors)
    require_few("scores", (batch, queries, keys))
    for name, tensor in whole.items():
        require_few(name, (batch, *tensor.shape[1:]))
    if "values" in whole:
        require_few("contexts", (batch, queries, whole["values"].shape[2]))
    return {name: tensor.expand(batch, *tensor.shape[1:]) for name, tensor in whole.items()}


def _with_batch(name: str, tensor: Tensor) -> Tensor:
    """Return a tensor whose first axis is the batch."""
    if name == "valid_lens" or tensor.dim() == MOST_AXES:
        return tensor
    if tensor.dim() == 1:
        tensor = tensor.unsqueeze(0 if name == "scores" else 1)
    return tensor.unsqueeze(0)


def _misfit(why: str, tensors: Mapping[str, Tensor]) -> RequestError:
    shapes = ", ".join(f"{name} {shape_text(tensor.shape)}" for name, tensor in tensors.items())
    return RequestError(f"the shapes do not fit, {why}: {shapes}")


def require_few(what: str, shape: Sequence[int]) -> None:
    """Raise RequestError for a shape of too many numbers."""
    if math.prod(shape) > MOST:
        raise RequestError(
            f"{what}: {shape_text(shape)} are {math.prod(shape):,} numbers, and at most {MOST:,} "
            "are looked at"
        )


def shape_text(shape: Sequence[int]) -> str:
    """Return a shape as `2 x 10 x 4`."""
    return " x ".join(map(str, shape))

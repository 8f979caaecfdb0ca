"""The images of the book's chapter on classification, from files that are on this machine."""

import gzip
import math
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, UInt8
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

from attnexp.d2l.training import DataModule

UNSIGNED_BYTES = 8
"""The third byte of an IDX file whose numbers are bytes. The fourth is the number of axes."""


class FashionMNIST(DataModule):
    """Grey images of clothing in ten classes, Xiao, Rasul and Vollgraf (2017).

    A batch is images (examples, 1, *resize), numbers from 0 to 1, and classes (examples,). Images
    of another size than 28 x 28 are interpolated bilinearly.

    Nothing is downloaded. The four files of the data set, such as train-images-idx3-ubyte.gz, are
    in `root`/FashionMNIST/raw, as torchvision puts them there; `root` is ../data.

    Raises FileNotFoundError if a file is not there, and ValueError for one that is not in the
    format IDX, or whose images and classes differ in number.
    """

    def __init__(self, batch_size: int = 64, resize: tuple[int, int] = (28, 28)) -> None:
        super().__init__()
        self.batch_size = batch_size
        self.resize = resize
        self.train = self._images("train")
        self.val = self._images("t10k")

    def get_dataloader(self, train: bool) -> "DataLoader[tuple[Tensor, ...]]":
        """Return batches of images and classes, shuffled in training."""
        data = self.train if train else self.val
        return DataLoader(data, self.batch_size, shuffle=train, collate_fn=self._batch)

    def _images(self, split: str) -> TensorDataset:
        folder = Path(self.root) / "FashionMNIST" / "raw"
        images = _idx(folder / f"{split}-images-idx3-ubyte", axes=3)
        classes = _idx(folder / f"{split}-labels-idx1-ubyte", axes=1)
        if len(images) != len(classes):
            raise ValueError(
                f"{folder} must have a class for each image of {split}, got {len(images)} images "
                f"and {len(classes)} classes"
            )
        return TensorDataset(images, classes)

    def _batch(
        self, examples: list[tuple[Tensor, Tensor]]
    ) -> tuple[Float[Tensor, "examples 1 height width"], Int[Tensor, " examples"]]:
        images = torch.stack([image for image, _ in examples]).unsqueeze(1) / 255
        if images.shape[2:] != torch.Size(self.resize):
            images = F.interpolate(images, self.resize, mode="bilinear", antialias=True)
        return images, torch.stack([own for _, own in examples]).long()


def _idx(path: Path, axes: int) -> UInt8[Tensor, "..."]:
    """Return the bytes of a file in the format IDX, or of the file with .gz behind its name."""
    packed = path.with_name(f"{path.name}.gz")
    if not path.exists() and not packed.exists():
        raise FileNotFoundError(
            f"{path}.gz is not there: attnexp downloads nothing, and "
            f"torchvision.datasets.FashionMNIST({str(path.parents[2])!r}, download=True) does"
        )
    content = path.read_bytes() if path.exists() else gzip.decompress(packed.read_bytes())
    head = 4 + 4 * axes
    shape = np.frombuffer(content[4:head], dtype=">u4").astype(int).tolist()
    marked = content[:4] == bytes([0, 0, UNSIGNED_BYTES, axes])
    if not marked or len(content) != head + math.prod(shape):
        raise ValueError(f"{path} must be an IDX file of bytes with {axes} axes")
    return torch.from_numpy(np.frombuffer(content[head:], dtype=np.uint8).copy()).view(shape)

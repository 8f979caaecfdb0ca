"""FashionMNIST of attnexp.d2l, from files that the tests write byte by byte."""

import gzip
import re
import struct

import pytest
import torch
from idx_files import FOLDER, write_images

from attnexp import d2l


@pytest.fixture(autouse=True)
def notebook(tmp_path, monkeypatch):
    """A notebook's folder, next to data."""
    (tmp_path / "notebook").mkdir()
    monkeypatch.chdir(tmp_path / "notebook")
    return tmp_path / "data"


def test_batches_have_the_pixels_and_classes_of_the_files(notebook):
    images, classes = write_images(notebook, train=5, t10k=3)
    data = d2l.FashionMNIST(batch_size=3)
    found = list(data.val_dataloader())
    assert len(found) == 1
    pixels, labels = found[0]
    assert (pixels.dtype, labels.dtype) == (torch.float32, torch.int64)
    assert labels.tolist() == classes["t10k"]
    for i, image in enumerate(images["t10k"]):
        shares = [value / 255 for value in image]
        assert pixels[i, 0].flatten().tolist() == pytest.approx(shares)


def test_training_is_shuffled_and_each_image_keeps_its_class(notebook):
    images, classes = write_images(notebook, train=40, t10k=1)
    pairs = {
        (tuple(image), own) for image, own in zip(images["train"], classes["train"], strict=True)
    }
    torch.manual_seed(0)
    rows = []
    for pixels, labels in d2l.FashionMNIST(batch_size=16).train_dataloader():
        for image, label in zip(pixels, labels.tolist(), strict=True):
            rows.append((tuple((image * 255).round().int().flatten().tolist()), label))
    assert set(rows) == pairs
    assert [label for _, label in rows] != classes["train"]


def test_images_are_resized(notebook):
    write_images(notebook, train=1, t10k=2, value=51)
    (pixels, _) = next(iter(d2l.FashionMNIST(resize=(96, 64)).val_dataloader()))
    assert pixels.shape == (2, 1, 96, 64)
    torch.testing.assert_close(pixels, torch.full_like(pixels, 0.2))


def test_files_that_are_not_there_are_named():
    with pytest.raises(FileNotFoundError, match=r"train-images-idx3-ubyte\.gz is not there: "):
        d2l.FashionMNIST()


DAMAGES = {
    "cut short": lambda content: content[:-1],
    "of other numbers": lambda content: b"\0\0\x0d\3" + content[4:],
    "of other axes": lambda content: b"\0\0\x08\2" + content[4:],
    "too long": lambda content: struct.pack(">4B3I", 0, 0, 8, 3, 2**31, 2**31, 2**31),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_file_of_another_format_is_refused(notebook, damage):
    write_images(notebook, train=2, t10k=2)
    path = notebook / FOLDER / "t10k-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(damage(gzip.decompress(path.read_bytes()))))
    with pytest.raises(ValueError, match="t10k-images-idx3-ubyte must be an IDX file of bytes"):
        d2l.FashionMNIST()


def test_images_without_classes_are_refused(notebook):
    write_images(notebook, train=2, t10k=2)
    raw = notebook / FOLDER
    (raw / "t10k-labels-idx1-ubyte.gz").write_bytes(
        (raw / "train-labels-idx1-ubyte.gz").read_bytes()
    )
    d2l.FashionMNIST()
    write_images(notebook, train=3, t10k=2, only="train-images")
    sentence = "must have a class for each image of train, got 3 images and 2 classes"
    with pytest.raises(ValueError, match=re.escape(sentence)):
        d2l.FashionMNIST()

"""Writes the files of Fashion-MNIST, with random pixels."""

import gzip
import random
import struct

FOLDER = "FashionMNIST/raw"


def write_images(folder, value=None, only="", **numbers):
    """Write some images of each split; return their pixels and classes by split.

    All pixels are `value`, or random. Only files whose name begins with `only` are written.
    """
    draw = random.Random(0)
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    images, classes = {}, {}
    for split, number in numbers.items():
        images[split] = [
            [draw.randrange(256) if value is None else value for _ in range(28 * 28)]
            for _ in range(number)
        ]
        classes[split] = [i % 10 for i in range(number)]
        pixels = bytes(pixel for image in images[split] for pixel in image)
        files = {
            f"{split}-images-idx3-ubyte": struct.pack(">4B3I", 0, 0, 8, 3, number, 28, 28) + pixels,
            f"{split}-labels-idx1-ubyte": struct.pack(">4BI", 0, 0, 8, 1, number)
            + bytes(classes[split]),
        }
        for name, content in files.items():
            if name.startswith(only):
                (folder / FOLDER / f"{name}.gz").write_bytes(gzip.compress(content))
    return images, classes

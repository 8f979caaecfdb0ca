"""A generator of a seed, and the examples of a batch as lists."""

import pytest
import torch

from attnexp.data.text import symbols


@pytest.fixture
def generator():
    """Makes a generator from a seed, 0 where none is given."""
    return lambda seed=0: torch.Generator().manual_seed(seed)


@pytest.fixture
def examples():
    """Source, target and alignment of each example, without padding and end symbols."""

    def lists(batch):
        for source, target, places, mask, target_mask in zip(
            batch.keys,
            batch.targets,
            batch.alignment,
            batch.mask[:, 0],
            batch.target_mask,
            strict=True,
        ):
            length = int(target_mask.sum()) - 1
            yield source[mask].tolist()[:-1], target[:length].tolist(), places[:length].tolist()

    return lists


@pytest.fixture
def asked_of():
    """The queries of each example and (place, symbol) of each target, without padding."""

    def lists(data, batch):
        vocab = data.spec.target_vocab
        for i in range(len(batch)):
            counts = batch.target_mask[i]
            due = symbols(batch.targets[i][counts], vocab)
            sequence = [symbol for symbol in symbols(batch.queries[i], vocab) if symbol != "<pad>"]
            yield sequence, list(zip(batch.asked[i][counts].tolist(), due, strict=True))

    return lists

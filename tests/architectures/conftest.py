"""A small sequence batch with unequal prime sizes, and models to go with it."""

from functools import partial

import pytest
import torch
from hydra.utils import instantiate

LENGTHS = (7, 2, 4)


@pytest.fixture(autouse=True, scope="package")
def one_thread():
    """For tensors this small, handing work to other threads takes longer than doing it."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def spec():
    from attnexp.core.batch import Seq2SeqSpec

    source = tuple(f"s{i}" for i in range(13))
    target = tuple(f"t{i}" for i in range(11))
    return Seq2SeqSpec(source, target, max_source=7, max_target=5, pad=0, bos=1, eos=2)


@pytest.fixture
def batch(spec):
    """3 examples, 7 source symbols, 5 target symbols."""
    from attnexp.core.batch import Batch

    generator = torch.Generator().manual_seed(5)
    lengths = torch.tensor(LENGTHS)
    mask = torch.arange(7) < lengths[:, None]
    source = torch.randint(3, 13, (3, 7), generator=generator)
    source[torch.arange(3), lengths - 1] = spec.eos
    source = source.masked_fill(~mask, spec.pad)
    targets = torch.randint(3, 11, (3, 5), generator=generator)
    target_mask = torch.arange(5) < torch.tensor([5, 3, 2])[:, None]
    targets = targets.masked_fill(~target_mask, spec.pad)
    queries = torch.cat([torch.full((3, 1), spec.bos), targets[:, :-1]], dim=1)
    return Batch(queries, source, source, targets, mask[:, None], target_mask)


@pytest.fixture
def scored(settings_of):
    """A score factory from a file of conf/model."""
    return lambda name: partial(instantiate, settings_of("model", name))

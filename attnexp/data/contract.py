"""The contract of a data set, as checks that a test can run.

A check takes a function from a generator to the data set, and raises AssertionError with a sentence
if the data set breaks the contract.
"""

from collections.abc import Callable, Mapping

import torch

from attnexp.core.batch import Batch
from attnexp.data.base import Dataset

DatasetMaker = Callable[[torch.Generator], Dataset]


def has_spec_and_sets(make: DatasetMaker) -> None:
    """The constructor sets `spec`, `train`, `validation` and `test`."""
    dataset = make(torch.Generator().manual_seed(0))
    for name in ("spec", "train", "validation", "test"):
        if not hasattr(dataset, name):
            raise AssertionError(f"the constructor sets no {name}")


def repeats_with_its_seed(make: DatasetMaker) -> None:
    """The same seed gives the same bits, and another seed other data."""
    first, again, other = (make(torch.Generator().manual_seed(seed)) for seed in (0, 0, 1))
    if first.spec != again.spec:
        raise AssertionError("the sizes or symbols differ when the same seed is given again")
    for split, batch in splits(first).items():
        for name, tensor in batch.tensors().items():
            if not torch.equal(tensor, splits(again)[split].tensors()[name]):
                raise AssertionError(
                    f"the {name} of {split} differ when the same seed is given again: draw "
                    "from `generator` alone"
                )
    for split, batch in splits(first).items():
        drawn = splits(other)[split]
        fields = ("keys", "values", "targets")
        if all(torch.equal(getattr(batch, name), getattr(drawn, name)) for name in fields):
            raise AssertionError(f"the examples of {split} are the same for every seed")


def leaves_the_global_generator(make: DatasetMaker) -> None:
    """Nothing is drawn from PyTorch's global generator, from which models draw."""
    before = torch.get_rng_state()
    make(torch.Generator().manual_seed(3))
    if not torch.equal(torch.get_rng_state(), before):
        raise AssertionError("it draws from PyTorch's global generator: pass generator=...")


def has_finite_numbers(make: DatasetMaker) -> None:
    """No number is NaN or infinite."""
    for split, batch in splits(make(torch.Generator().manual_seed(0))).items():
        for name, tensor in batch.tensors().items():
            if tensor.is_floating_point() and not tensor.isfinite().all():
                raise AssertionError(f"the {name} of {split} hold NaN or an infinite number")


def has_as_many_values_as_keys(make: DatasetMaker) -> None:
    """Every key has a value, and every target an entry in the mask of targets."""
    for split, batch in splits(make(torch.Generator().manual_seed(0))).items():
        if batch.keys.shape[:2] != batch.values.shape[:2]:
            raise AssertionError(
                f"{split} has {batch.keys.shape[1]} keys and {batch.values.shape[1]} values"
            )
        if batch.targets.shape[:2] != batch.target_mask.shape:
            raise AssertionError(
                f"{split} has {batch.targets.shape[1]} targets and a mask for "
                f"{batch.target_mask.shape[-1]}"
            )


DATA_CONTRACT: tuple[Callable[[DatasetMaker], None], ...] = (
    has_spec_and_sets,
    repeats_with_its_seed,
    leaves_the_global_generator,
    has_finite_numbers,
    has_as_many_values_as_keys,
)


def splits(dataset: Dataset) -> Mapping[str, Batch]:
    """Return the batches of a data set by name, without a validation set if there is none."""
    found = {"train": dataset.train, "validation": dataset.validation, "test": dataset.test}
    return {name: batch for name, batch in found.items() if batch is not None}

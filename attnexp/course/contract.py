"""What every score and every data set promises, whoever wrote it.

A promise is a function of what makes the object. It raises BrokenPromiseError where the promise is
not kept. attnexp's own tests hold attnexp's choices against them, `attnexp exercise check` a
student's.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call

from attnexp.batch import Batch
from attnexp.data.base import Dataset
from attnexp.scores.base import Score

ScoreMaker = Callable[[int, int], Score]
"""Makes a score for queries and keys of these sizes, with the same parameters each time."""

DatasetMaker = Callable[[torch.Generator], Dataset]
"""Makes a data set from a generator."""

BATCH = (2, 11)
QUERIES, KEYS, DIM = 3, 5, 7
"""Unequal primes, so that swapped axes cannot pass."""


class BrokenPromiseError(Exception):
    """A promise of the contract is not kept. The text says how."""


def vectors(*batch: int, query_dim: int = DIM, key_dim: int = DIM) -> tuple[Tensor, Tensor]:
    """Return random queries and keys in float64, with the leading axes asked for."""
    generator = torch.Generator().manual_seed(3)
    queries = torch.randn(*batch, QUERIES, query_dim, generator=generator, dtype=torch.float64)
    keys = torch.randn(*batch, KEYS, key_dim, generator=generator, dtype=torch.float64)
    return queries, keys


def takes_any_leading_axes(make: ScoreMaker) -> None:
    """A score has a row for each query and a column for each key, after any leading axes."""
    score = _double(make)
    for batch in ((), (2,), BATCH):
        _require_shape(score(*vectors(*batch)), (*batch, QUERIES, KEYS))


def scores_a_batch_as_its_examples(make: ScoreMaker) -> None:
    """The scores of a batch are those of its examples, one by one."""
    score = _double(make)
    queries, keys = vectors(*BATCH)
    singles = torch.stack(
        [
            torch.stack([score(q, k) for q, k in zip(*row, strict=True)])
            for row in zip(queries, keys, strict=True)
        ]
    )
    _require_close(score(queries, keys), singles, "a batch has other scores than its examples")


def permutes_columns_with_keys(make: ScoreMaker) -> None:
    """Keys in another order have their scores in that order."""
    score = _double(make)
    queries, keys = vectors()
    order = torch.tensor([4, 2, 0, 1, 3])
    moved, still = score(queries, keys[order]), score(queries, keys)[:, order]
    _require_close(moved, still, "the score of a key depends on its place or on other keys")


def permutes_rows_with_queries(make: ScoreMaker) -> None:
    """Queries in another order have their scores in that order."""
    score = _double(make)
    queries, keys = vectors()
    order = torch.tensor([2, 0, 1])
    moved, still = score(queries[order], keys), score(queries, keys)[order]
    _require_close(moved, still, "the score of a query depends on its place or on other queries")


def keeps_the_dtype(make: ScoreMaker) -> None:
    """Scores have the type of the queries and keys: float32 or float64."""
    queries, keys = vectors()
    for dtype in (torch.float32, torch.float64):
        found = make(DIM, DIM).to(dtype)(queries.to(dtype), keys.to(dtype)).dtype
        if found != dtype:
            raise BrokenPromiseError(f"queries and keys of {dtype} have scores of {found}")


def gives_no_nan(make: ScoreMaker) -> None:
    """No score is NaN or plus infinity, not even of equal or of large vectors."""
    queries, keys = vectors()
    scores = _double(make)(queries, torch.cat([keys, queries, 1e3 * keys]))
    if scores.isnan().any() or (scores == torch.inf).any():
        raise BrokenPromiseError("a score is NaN or plus infinity, of equal or of large vectors")


def has_finite_gradients(make: ScoreMaker) -> None:
    """Gradients are finite where a query equals a key."""
    queries, _ = vectors()
    queries.requires_grad_()
    scores = _double(make)(queries, queries)
    # A constant beside it, so that a score that does not depend on the queries has a gradient: 0.
    (scores.masked_fill(scores == -torch.inf, 0.0).sum() + 0 * queries.sum()).backward()
    if queries.grad is None or not queries.grad.isfinite().all():
        raise BrokenPromiseError("a gradient is not finite where a query equals a key")


def has_right_gradients(make: ScoreMaker) -> None:
    """Gradients are those of finite differences, in queries, keys and parameters."""
    score = _double(make)
    queries, keys = vectors()

    def finite(queries: Tensor, keys: Tensor, *parameters: Tensor) -> Tensor:
        named = dict(zip(dict(score.named_parameters()), parameters, strict=True))
        scores = functional_call(score, named, (queries, keys))
        # A constant beside it, so that a score without parameters has a gradient too: zero.
        still = 0 * (queries.sum() + keys.sum())
        return scores.masked_fill(scores == -torch.inf, 0.0) + still

    inputs = [queries, keys, *score.parameters()]
    leaves = [tensor.detach().clone().requires_grad_() for tensor in inputs]
    if not torch.autograd.gradcheck(finite, leaves, raise_exception=False):
        raise BrokenPromiseError("a gradient is not that of finite differences")


def loads_what_it_saved(make: ScoreMaker) -> None:
    """The parameters are all that a score learns: with them another has the same scores."""
    first, second = _double(make), _double(make)
    with torch.no_grad():
        for parameter in first.parameters():
            parameter.add_(1.0)
    second.load_state_dict(first.state_dict())
    same = "another score with the same parameters has other scores"
    _require_close(second(*vectors()), first(*vectors()), same)


def works_in_one_dimension(make: ScoreMaker) -> None:
    """Queries and keys may be points on a line."""
    scores = make(1, 1).double()(*vectors(query_dim=1, key_dim=1))
    _require_shape(scores, (QUERIES, KEYS))


def takes_unequal_dimensions_or_says_no(make: ScoreMaker) -> None:
    """Unequal dimensions of queries and keys work, or are refused in a sentence that names them."""
    try:
        score = make(2, DIM).double()
    except ValueError as error:
        if f"got 2 and {DIM}" not in str(error):
            raise BrokenPromiseError(
                f"the error for unequal dimensions does not say `got 2 and {DIM}`: use "
                "require_equal_dims of attnexp.scores.base"
            ) from error
        return
    _require_shape(score(*vectors(query_dim=2, key_dim=DIM)), (QUERIES, KEYS))


def agrees_with_its_dot_product(make: ScoreMaker) -> None:
    """The dot product form, where a score has one, gives the same weights."""
    score = _double(make)
    queries, keys = vectors(*BATCH)
    projected = score.project_queries(queries), score.project_keys(keys)
    dot = score.as_dot_product(*projected)
    if dot is None:
        return
    plain = score.compare(*projected).softmax(dim=-1)
    _require_close(
        (dot[0] @ dot[1].mT).softmax(dim=-1),
        plain,
        "as_dot_product has other weights than compare: a subclass must replace both",
    )


SCORE_CONTRACT: tuple[Callable[[ScoreMaker], None], ...] = (
    takes_any_leading_axes,
    scores_a_batch_as_its_examples,
    permutes_columns_with_keys,
    permutes_rows_with_queries,
    keeps_the_dtype,
    gives_no_nan,
    has_finite_gradients,
    has_right_gradients,
    loads_what_it_saved,
    works_in_one_dimension,
    takes_unequal_dimensions_or_says_no,
    agrees_with_its_dot_product,
)
"""What every score promises."""


def repeats_with_its_seed(make: DatasetMaker) -> None:
    """One seed means the same bits, and another seed other data."""
    first, again, other = (make(torch.Generator().manual_seed(seed)) for seed in (0, 0, 1))
    if first.spec != again.spec:
        raise BrokenPromiseError(
            "the sizes or symbols are others when the same seed is given again"
        )
    for split, batch in splits(first).items():
        for name, tensor in batch.tensors().items():
            if not torch.equal(tensor, splits(again)[split].tensors()[name]):
                raise BrokenPromiseError(
                    f"the {name} of {split} are others when the same seed is given again: draw "
                    "from `generator` alone"
                )
    for split, batch in splits(first).items():
        drawn = splits(other)[split]
        if torch.equal(batch.keys, drawn.keys) and torch.equal(batch.values, drawn.values):
            raise BrokenPromiseError(f"keys and values of {split} are the same whatever the seed")


def leaves_the_global_generator(make: DatasetMaker) -> None:
    """Nothing is drawn from PyTorch's global generator, from which models draw."""
    before = torch.get_rng_state()
    make(torch.Generator().manual_seed(3))
    if not torch.equal(torch.get_rng_state(), before):
        raise BrokenPromiseError("it draws from PyTorch's global generator: pass generator=...")


def has_finite_numbers(make: DatasetMaker) -> None:
    """No number is NaN or infinite."""
    for split, batch in splits(make(torch.Generator().manual_seed(0))).items():
        for name, tensor in batch.tensors().items():
            if tensor.is_floating_point() and not tensor.isfinite().all():
                raise BrokenPromiseError(f"the {name} of {split} hold NaN or an infinite number")


def has_as_many_values_as_keys(make: DatasetMaker) -> None:
    """Every key has a value, every target a place in the mask of targets."""
    for split, batch in splits(make(torch.Generator().manual_seed(0))).items():
        if batch.keys.shape[:2] != batch.values.shape[:2]:
            raise BrokenPromiseError(
                f"{split} has {batch.keys.shape[1]} keys and {batch.values.shape[1]} values"
            )
        if batch.targets.shape[:2] != batch.target_mask.shape:
            raise BrokenPromiseError(
                f"{split} has {batch.targets.shape[1]} targets and a mask for "
                f"{batch.target_mask.shape[-1]}"
            )


DATA_CONTRACT: tuple[Callable[[DatasetMaker], None], ...] = (
    repeats_with_its_seed,
    leaves_the_global_generator,
    has_finite_numbers,
    has_as_many_values_as_keys,
)
"""What every data set promises."""


def splits(dataset: Dataset) -> Mapping[str, Batch]:
    """Return the batches of a data set by name, without a validation set where there is none."""
    found = {"train": dataset.train, "validation": dataset.validation, "test": dataset.test}
    return {name: batch for name, batch in found.items() if batch is not None}


def promise_of(check: Callable[..., Any]) -> str:
    """Return in a sentence what a check of the contract holds an object to."""
    return (check.__doc__ or check.__name__).partition("\n")[0]


def _double(make: ScoreMaker) -> Score:
    return make(DIM, DIM).double()


def _require_shape(scores: Tensor, shape: tuple[int, ...]) -> None:
    if tuple(scores.shape) != shape:
        raise BrokenPromiseError(
            f"scores have the shape {tuple(scores.shape)}, where queries x keys are {shape}"
        )


def _require_close(found: Tensor, expected: Tensor, otherwise: str) -> None:
    same = found.shape == expected.shape and found.dtype == expected.dtype
    if not same or not torch.allclose(found, expected, rtol=1e-7, atol=1e-7, equal_nan=False):
        raise BrokenPromiseError(otherwise)

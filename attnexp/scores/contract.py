"""The contract of a scoring function, as checks that a test can run.

A check takes a function that makes the score, and raises AssertionError with a sentence if the
score breaks the contract. A test runs them all:

    @pytest.mark.parametrize("check", SCORE_CONTRACT, ids=lambda check: check.__name__)
    def test_contract(check):
        check(MyScore)
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.func import functional_call

from attnexp.scores.base import Score

ScoreMaker = Callable[[int, int], Score]
"""Makes a score for queries and keys of these sizes, with the same parameters each time."""

Maker = TypeVar("Maker", bound=Callable[..., nn.Module])

BATCH = (2, 11)
QUERIES, KEYS, DIM = 3, 5, 7
"""Unequal primes, so that a score with swapped axes fails."""

MANY_KEYS = 24
"""The keys with which declared facts are tested: more than a rule for few keys reaches."""


def with_other_parameters(make: Maker) -> tuple[Maker, ...]:
    """Return makers of a module as it is made, and with two draws of its parameters from N(0, 1).

    What a module declares is true of what it learns, too.
    """

    def drawn(seed: int) -> Any:
        def made(*sizes: Any, **settings: Any) -> nn.Module:
            module = make(*sizes, **settings)
            generator = torch.Generator().manual_seed(seed)
            with torch.no_grad():
                for parameter in filter(lambda each: each.requires_grad, module.parameters()):
                    parameter.copy_(torch.randn(parameter.shape, generator=generator))
            return module

        return made

    return make, drawn(1), drawn(2)


def at_any_parameters(
    check: Callable[[Maker], None],
) -> Callable[[Maker], None]:
    """Return a check that is made with each of `with_other_parameters`."""

    @wraps(check)
    def of_each(make: Maker) -> None:
        for each in with_other_parameters(make):
            check(each)

    return of_each


def vectors(
    *batch: int, query_dim: int = DIM, key_dim: int = DIM, number: int = KEYS
) -> tuple[Tensor, Tensor]:
    """Return random queries and a `number` of keys in float64, with the leading axes `batch`."""
    generator = torch.Generator().manual_seed(3)
    queries = torch.randn(*batch, QUERIES, query_dim, generator=generator, dtype=torch.float64)
    keys = torch.randn(*batch, number, key_dim, generator=generator, dtype=torch.float64)
    return queries, keys


def another_order(number: int) -> Tensor:
    """Return the places 0, 1, ... in another order, in which few keys keep theirs."""
    return torch.randperm(number, generator=torch.Generator().manual_seed(5))


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
    require_close(score(queries, keys), singles, "a batch has other scores than its examples")


def permutes_columns_with_keys(make: ScoreMaker) -> None:
    """Keys in another order have their scores in that order, exactly if `treats_keys_alike`."""
    queries, keys = vectors(number=MANY_KEYS)
    order = another_order(MANY_KEYS)
    found = True
    for each in with_other_parameters(make):
        score = _double(each)
        scores = score(queries, keys)
        sound = not bool(scores.isnan().any())
        require(sound, "a score is NaN, with parameters as they are made or drawn from N(0, 1)")
        found &= is_close(score(queries, keys[order]), scores[:, order])
    why = "alike in any order" if found else "the score of a key depends on its place or on others"
    declared = make(DIM, DIM).treats_keys_alike
    require(declared == found, f"treats_keys_alike must be {found}: {why}")


@at_any_parameters
def permutes_rows_with_queries(make: ScoreMaker) -> None:
    """Queries in another order have their scores in that order."""
    score = _double(make)
    queries, keys = vectors()
    order = torch.tensor([2, 0, 1])
    moved, still = score(queries[order], keys), score(queries, keys)[order]
    require_close(moved, still, "the score of a query depends on its place or on other queries")


def keeps_the_dtype(make: ScoreMaker) -> None:
    """Scores have the type of the queries and keys: float32 or float64."""
    queries, keys = vectors()
    for dtype in (torch.float32, torch.float64):
        found = make(DIM, DIM).to(dtype)(queries.to(dtype), keys.to(dtype)).dtype
        require(found == dtype, f"queries and keys of {dtype} have scores of {found}")


def gives_no_nan(make: ScoreMaker) -> None:
    """No score is NaN or plus infinity, not even of equal or of large vectors."""
    queries, keys = vectors()
    scores = _double(make)(queries, torch.cat([keys, queries, 1e3 * keys]))
    sound = not (scores.isnan() | (scores == torch.inf)).any()
    require(sound, "a score is NaN or plus infinity, of equal or of large vectors")


def has_finite_gradients(make: ScoreMaker) -> None:
    """Gradients are finite for a query that equals a key."""
    queries, _ = vectors()
    queries.requires_grad_()
    scores = _double(make)(queries, queries)
    # Plus a constant, so that a score that does not depend on the queries has a gradient: 0.
    (scores.masked_fill(scores == -torch.inf, 0.0).sum() + 0 * queries.sum()).backward()
    finite = queries.grad is not None and bool(queries.grad.isfinite().all())
    require(finite, "a gradient is not finite where a query equals a key")


def has_right_gradients(make: ScoreMaker) -> None:
    """Gradients are those of finite differences, in queries, keys and parameters."""
    score = _double(make)
    queries, keys = vectors()

    def finite(queries: Tensor, keys: Tensor, *parameters: Tensor) -> Tensor:
        named = dict(zip(dict(score.named_parameters()), parameters, strict=True))
        scores = functional_call(score, named, (queries, keys))
        # Plus a constant, so that a score without parameters has a gradient too: zero.
        still = 0 * (queries.sum() + keys.sum())
        return scores.masked_fill(scores == -torch.inf, 0.0) + still

    inputs = [queries, keys, *score.parameters()]
    leaves = [tensor.detach().clone().requires_grad_() for tensor in inputs]
    right = torch.autograd.gradcheck(finite, leaves, raise_exception=False, fast_mode=True)
    require(right, "a gradient is not that of finite differences")


def loads_what_it_saved(make: ScoreMaker) -> None:
    """A score learns only its parameters: another with equal ones has the same scores."""
    first, second = _double(make), _double(make)
    with torch.no_grad():
        for parameter in first.parameters():
            parameter.add_(1.0)
    second.load_state_dict(first.state_dict())
    same = "another score with the same parameters has other scores"
    require_close(second(*vectors()), first(*vectors()), same)


def works_in_one_dimension(make: ScoreMaker) -> None:
    """Queries and keys may be points on a line."""
    scores = make(1, 1).double()(*vectors(query_dim=1, key_dim=1))
    _require_shape(scores, (QUERIES, KEYS))


def takes_unequal_dimensions_or_says_no(make: ScoreMaker) -> None:
    """Unequal dimensions of queries and keys work, or are refused in a sentence that names them."""
    try:
        score = make(2, DIM).double()
    except ValueError as error:
        named = f"got 2 and {DIM}" in str(error)
        require(named, "the error does not name both dimensions: use require_equal_dims")
        return
    _require_shape(score(*vectors(query_dim=2, key_dim=DIM)), (QUERIES, KEYS))


@at_any_parameters
def declares_minus_infinity(make: ScoreMaker) -> None:
    """`compact` is true if keys far away, or zero vectors, have the score minus infinity."""
    score = _double(make)
    queries, keys = vectors(number=MANY_KEYS)
    none = torch.zeros(1, DIM, dtype=torch.float64)
    scores = score(torch.cat([queries, none]), torch.cat([1e3 * keys, none]))
    found = bool((scores == -torch.inf).any())
    require(score.compact or not found, "compact must be True: a score is minus infinity")


@at_any_parameters
def agrees_with_its_dot_product(make: ScoreMaker) -> None:
    """The dot product form of a score, if there is one, gives the same weights."""
    score = _double(make)
    queries, keys = vectors(*BATCH)
    projected = score.project_queries(queries), score.project_keys(keys)
    dot = score.as_dot_product(*projected)
    if dot is None:
        return
    plain = score.compare(*projected).softmax(dim=-1)
    require_close(
        (dot[0] @ dot[1].mT).softmax(dim=-1),
        plain,
        "as_dot_product has other weights than compare: a subclass must replace both",
    )


@at_any_parameters
def is_even_as_declared(make: ScoreMaker) -> None:
    """A score is the same with -w as with w for each parameter w that is declared `even`."""
    score = _double(make)
    queries, keys = vectors()
    for name, parameter in score.named_parameters(recurse=False):
        if name in score.even:
            turned = functional_call(score, {name: -parameter}, (queries, keys))
            require_close(
                turned, score(queries, keys), f"{name} is even, and -{name} is not {name}"
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
    declares_minus_infinity,
    agrees_with_its_dot_product,
    is_even_as_declared,
)


def _double(make: ScoreMaker) -> Score:
    return make(DIM, DIM).double()


def require(holds: bool, otherwise: str) -> None:
    """Raise AssertionError with a sentence unless a condition holds."""
    if not holds:
        raise AssertionError(otherwise)


def require_close(found: Tensor, expected: Tensor, otherwise: str) -> None:
    """Raise AssertionError unless two tensors are equal up to rounding, in shape and dtype too."""
    require(is_close(found, expected), otherwise)


def is_close(found: Tensor, expected: Tensor) -> bool:
    """Return whether two tensors are equal up to rounding, in shape and dtype too."""
    same = found.shape == expected.shape and found.dtype == expected.dtype
    return same and torch.allclose(found, expected, rtol=1e-7, atol=1e-7)


def _require_shape(scores: Tensor, shape: tuple[int, ...]) -> None:
    found = tuple(scores.shape)
    require(found == shape, f"scores have the shape {found}, where queries x keys are {shape}")

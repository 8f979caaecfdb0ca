"""The contract of a law, as checks that a test can run.

A check takes a function that makes the law, such as its class, and raises AssertionError with a
sentence if the law breaks the contract.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from attnexp.probe.laws.base import Law, Rows
from attnexp.scores.contract import require, require_close

LawMaker = Callable[[], Law]

BATCH, HEADS, QUERIES, KEYS = 2, 3, 5, 7
"""Unequal primes, so that swapped axes cannot pass."""


def draw_rows(seed: int = 0, gold: bool = True, scale: float = 1.0) -> Rows:
    """Return rows of random weights in float64, whose sum is `scale`.

    The last two keys of the first example are not valid, and its first query has no gold key.
    """
    generator = torch.Generator().manual_seed(11)
    valid = torch.ones(BATCH, HEADS, QUERIES, KEYS, dtype=torch.bool)
    valid[0, ..., -2:] = False
    drawn = torch.rand(valid.shape, generator=generator, dtype=torch.float64) * valid
    keys = torch.randint(0, KEYS - 2, (BATCH, QUERIES), generator=generator)
    keys[0, 0] = -1
    draws = torch.Generator().manual_seed(seed)
    return Rows(
        scale * drawn / drawn.sum(dim=-1, keepdim=True),
        valid,
        keys if gold else None,
        lambda: torch.rand(valid.shape, generator=draws, dtype=torch.float64),
    )


def keeps_shape_and_precision(make: LawMaker) -> None:
    """The new weights have the shape and the dtype of the old ones, and are finite."""
    rows = draw_rows()
    found = make().replace(rows)
    require(found.shape == rows.weights.shape, f"weights became {[*found.shape]}")
    require(found.dtype == rows.weights.dtype, f"weights became {found.dtype}")
    require(bool(found.isfinite().all()), "a weight is not finite")


def gives_no_weight_to_hidden_keys(make: LawMaker) -> None:
    """A key that a row may not attend to has weight 0."""
    rows = draw_rows()
    require(bool((make().replace(rows)[~rows.valid] == 0).all()), "a hidden key has a weight")


def keeps_the_sum_of_a_row_as_declared(make: LawMaker) -> None:
    """Each row keeps its sum if the law declares `keeps_sum`, whatever the sum is."""
    law = make()
    if law.keeps_sum:
        for scale in (1.0, 0.25):
            rows = draw_rows(scale=scale)
            require_close(law.replace(rows).sum(dim=-1), rows.sums[..., 0], "a sum has changed")


def changes_nothing_in_place(make: LawMaker) -> None:
    """The law is a pure function: the weights that it reads stay as they are."""
    rows = draw_rows()
    before = rows.weights.clone()
    make().replace(rows)
    require(bool((rows.weights == before).all()), "the law has changed the weights in place")


def draws_as_declared(make: LawMaker) -> None:
    """Other random numbers give other weights if the law declares `draws`, and only then."""
    one, again, other = (make().replace(draw_rows(seed)) for seed in (0, 0, 1))
    require(bool((one == again).all()), "the same random numbers gave other weights")
    differ = not bool((one == other).all())
    word = "draws" if differ else "does not draw"
    require(differ == make().draws, f"the law {word}, and declares draws={make().draws}")


def reads_gold_as_declared(make: LawMaker) -> None:
    """Other gold keys give other weights if the law declares `needs_gold`, and only then."""
    rows = draw_rows()
    assert rows.gold is not None
    moved = Rows(rows.weights, rows.valid, (rows.gold + 1) % (KEYS - 2), draw_rows().random)
    differ = not bool((make().replace(draw_rows()) == make().replace(moved)).all())
    word = "reads" if differ else "does not read"
    declared = make().needs_gold
    require(differ == declared, f"the law {word} gold keys, and declares needs_gold={declared}")


def takes_rows_one_by_one(make: LawMaker) -> None:
    """A row does not depend on the other rows, apart from the random draws."""
    law, rows = make(), draw_rows()
    if law.draws:
        return

    def only(some: Tensor) -> Tensor:
        return some[..., 1:2, :]

    gold = None if rows.gold is None else rows.gold[:, 1:2]
    alone = law.replace(Rows(only(rows.weights), only(rows.valid), gold, rows.random))
    require_close(alone, only(law.replace(rows)), "a row depends on others")


LAW_CONTRACT = (
    keeps_shape_and_precision,
    gives_no_weight_to_hidden_keys,
    keeps_the_sum_of_a_row_as_declared,
    changes_nothing_in_place,
    draws_as_declared,
    reads_gold_as_declared,
    takes_rows_one_by_one,
)

"""Associative recall with each pair in one symbol."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from attnexp.core.batch import Batch
from attnexp.data.drawn import DrawnSequences
from attnexp.data.mqar import pair_families
from attnexp.data.sequences import (
    FIRST,
    PAD,
    Drawn,
    Families,
    arrangements,
    given_batch,
    numbered,
    stack,
)


@dataclass(eq=False, repr=False)
class StackedRecall(DrawnSequences):
    """source = n pairs of a key and a value, each pair one symbol; the targets are the values.

    The control of multi-query associative recall (`MultiQueryRecall`), after data/stacked_mqar.py
    of HazyResearch/zoology: there a key and its value are symbols that follow each other, so that a
    layer must first bring them together, and here they are together from the start. The code stacks
    fixed vectors of key and value; here a table has a learned vector for each of the `num_keys` *
    `num_values` pairs. The n keys of an example are all different, and so are its values. There are
    `min_pairs` to `max_pairs` pairs, in equal shares, and all lists of pairs are different. The
    queries are the keys in random order, and nothing is fed back. The gold alignment is the place
    of the pair. A guess is the n values in random order.

    Example:
        source     k5=2 k0=7 k3=1
        queries    k3 k5 k0
        target     1 2 7
        alignment  2 0 1

    Raises ValueError for a set without examples, an empty range of pairs, fewer keys or values than
    pairs, and more examples than there are different lists of pairs.
    """

    floors = ("exact_match", "token_accuracy")

    num_train: int = 20_000
    min_pairs: int = 4
    max_pairs: int = 8
    num_keys: int = 16
    num_values: int = 16

    def __post_init__(self, generator: torch.Generator) -> None:
        keys, values = self.num_keys, self.num_values
        trained, tested = self.ranges_of("pairs")
        if min(keys, values) < self.max_pairs:
            raise ValueError(
                f"num_keys and num_values must be at least max_pairs ({self.max_pairs}), because "
                f"those of an example are all different, got {keys} and {values}"
            )
        pairs = numbered(keys * values, lambda i: f"k{i // values}={i % values}")
        targets = [*numbered(keys, "k{}".format), *numbered(values)]
        self.draw_sets(generator, trained, tested, pairs, targets)
        told = self.test.target_mask.sum(dim=-1).double()
        self.chance = {
            "exact_match": float((-(told + 1).lgamma()).exp().mean()),
            "token_accuracy": len(told) / float(told.sum()),
        }

    def families(self, numbers: Sequence[int]) -> Families:
        return pair_families(numbers, self.num_keys, self.num_values)

    def batch_of(self, drawn: Drawn, generator: torch.Generator) -> Batch:
        sources, queries, targets, orders = [], [], [], []
        for pairs, digits in drawn.items():
            key_digits, value_digits = digits.split(pairs, dim=1)
            keys, values = arrangements(key_digits), arrangements(value_digits)
            order = torch.rand(keys.shape, generator=generator).argsort(dim=1)
            sources.append(FIRST + keys * self.num_values + values)
            queries.append(FIRST + keys.gather(1, order))
            targets.append(FIRST + self.num_keys + values.gather(1, order))
            orders.append(order)
        most = max(drawn)
        target = stack(targets, most)
        return given_batch(
            queries=stack(queries, most),
            source=stack(sources, most),
            target=target,
            asked=torch.arange(most).where(target != PAD, 0),
            alignment=stack(orders, most, fill=-1),
        )

"""Associative recall with each pair in one symbol."""

from functools import partial

import torch

from attnexp.batch import Batch, Seq2SeqSpec
from attnexp.data.base import Dataset
from attnexp.data.mqar import guessed
from attnexp.data.sequences import (
    FIRST,
    PAD,
    Drawn,
    Families,
    arrangements,
    check_memory,
    check_range,
    check_sizes,
    draw_sets,
    given_batch,
    sequence_spec,
    stack,
)


class StackedRecall(Dataset):
    """source = n pairs of a key and a value, each pair one symbol; say the value of each key.

    The control of multi-query associative recall (`MultiQueryRecall`), after data/stacked_mqar.py
    of HazyResearch/zoology: there a key and its value are symbols that follow each other, so that a
    layer must first bring them together, and here they are together from the start. The code stacks
    fixed vectors of key and value; here a table has a learned vector for each of the `num_keys` *
    `num_values` pairs. The n keys of an example are all different, and so are its values. There are
    `min_pairs` to `max_pairs` pairs, in equal shares, and all lists of pairs are different. The
    queries are the keys in random order, and nothing is fed back. The gold alignment is the place
    of the pair.

    Example:
        source     k5=2 k0=7 k3=1
        queries    k3 k5 k0
        target     1 2 7
        alignment  2 0 1

    Raises ValueError for a set without examples, an empty range of pairs, fewer keys or values than
    pairs, and more examples than there are different lists of pairs.
    """

    spec: Seq2SeqSpec

    def __init__(
        self,
        generator: torch.Generator,
        num_train: int = 20_000,
        num_validation: int = 500,
        num_test: int = 500,
        min_pairs: int = 4,
        max_pairs: int = 8,
        num_keys: int = 16,
        num_values: int = 16,
    ) -> None:
        check_sizes(num_train, num_validation, num_test)
        check_range("min_pairs", min_pairs, "max_pairs", max_pairs)
        if min(num_keys, num_values) < max_pairs:
            raise ValueError(
                f"num_keys and num_values must be at least max_pairs ({max_pairs}), because those "
                f"of an example are all different, got {num_keys} and {num_values}"
            )
        numbers = range(min_pairs, max_pairs + 1)
        sizes = (num_train, num_validation, num_test)
        check_memory(sizes, max_pairs, len(numbers), num_keys * num_values)
        self.train, self.validation, self.test = draw_sets(
            sizes,
            Families(
                {
                    pairs: [num_keys - i for i in range(pairs)]
                    + [num_values - i for i in range(pairs)]
                    for pairs in numbers
                },
                f"{min_pairs} to {max_pairs} pairs of {num_keys} keys and {num_values} values",
            ),
            None,
            partial(_asked, num_keys=num_keys, num_values=num_values, generator=generator),
            generator,
        )
        keys, values = [f"k{i}" for i in range(num_keys)], [str(i) for i in range(num_values)]
        pairs = [f"{key}={value}" for key in keys for value in values]
        self.spec = sequence_spec(pairs, [*keys, *values], self.train, self.test)
        self.chance = guessed(self.test)


def _asked(drawn: Drawn, num_keys: int, num_values: int, generator: torch.Generator) -> Batch:
    """Return the batch of the pairs that the digits mean, the keys of each in random order."""
    sources, queries, targets, orders = [], [], [], []
    for pairs, digits in drawn.items():
        key_digits, value_digits = digits.split(pairs, dim=1)
        keys, values = arrangements(key_digits), arrangements(value_digits)
        order = torch.rand(keys.shape, generator=generator).argsort(dim=1)
        sources.append(FIRST + keys * num_values + values)
        queries.append(FIRST + keys.gather(1, order))
        targets.append(FIRST + num_keys + values.gather(1, order))
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

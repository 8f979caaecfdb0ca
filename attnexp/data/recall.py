"""Associative recall: the source gives pairs of keys and values, then asks for values."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from attnexp.core.batch import Batch
from attnexp.data.drawn import DrawnSequences
from attnexp.data.sequences import (
    FIRST,
    Drawn,
    Families,
    arrangements,
    arranging,
    check_positive,
    numbered,
    sequence_batch,
    stack,
)


@dataclass(eq=False, repr=False)
class Recall(DrawnSequences):
    """source = k_1 v_1 ... k_n v_n, then m of the keys again; target = the values of those m.

    Multi-query associative recall as a task of an encoder and a decoder, easier than the published
    one (`MultiQueryRecall`): with 8 keys and 8 values every symbol is frequent, there are at most
    four pairs and two queries, with nothing between them. The keys of an example are all
    different, and none is asked for twice; values may repeat. The gold alignment is the place of
    the value.

    Keys are named k0, k1, ... and values 0, 1, ...; source and target share one vocabulary of
    `num_keys` + `num_values` symbols and the special ones. There are `min_pairs` to `max_pairs`
    pairs in a source, n, and 1 to `max_queries` queries, m, at most n. All sources are different,
    so the three sets are disjoint; all (n, m) are equally frequent as far as that allows. At the
    defaults a quarter of the tests have the pairs and the queries of a training example, in another
    order of the pairs, which a model without positions cannot tell apart. Sources
    with few pairs and a single query are easy: a transformer can start with them. The test set may
    have other numbers of pairs, `test_min_pairs` to `test_max_pairs`, which training and validation
    then never see unless they are within their range too; an end that is None is that of training.

    Example:
        source     k0 2 k3 1 k1 2 k1 k3
        target     2 1
        alignment  5 3 -1

    Raises ValueError for a set without examples, no pair, no query or no value, an empty range of
    pairs, more pairs than keys, more queries than pairs, and more examples than there are
    different sources.
    """

    floors = ("exact_match",)

    num_train: int = 30_000
    min_pairs: int = 1
    max_pairs: int = 4
    max_queries: int = 2
    num_keys: int = 8
    num_values: int = 8
    test_min_pairs: int | None = None
    test_max_pairs: int | None = None

    def __post_init__(self, generator: torch.Generator) -> None:
        trained, tested = self.ranges_of("pairs")
        check_positive("max_queries", self.max_queries)
        check_positive("num_values", self.num_values)
        most = max(self.max_pairs, (tested or trained)[-1])
        if self.num_keys < most:
            raise ValueError(
                f"num_keys must be at least the number of pairs, up to {most}, because the keys of "
                f"an example are all different, got {self.num_keys}"
            )
        if self.max_queries > self.max_pairs:
            raise ValueError(
                f"max_queries must be at most max_pairs ({self.max_pairs}), because no key is "
                f"asked for twice, got {self.max_queries}"
            )
        symbols = [*numbered(self.num_keys, "k{}".format), *numbered(self.num_values)]
        self.draw_sets(generator, trained, tested, symbols, symbols, shapes=self.max_queries)

    def longest(self, number: int) -> int:
        return 2 * number + min(number, self.max_queries)

    def families(self, numbers: Sequence[int]) -> Families:
        num_keys, num_values = self.num_keys, self.num_values
        return Families(
            {
                (pairs, queries): arranging(num_keys, pairs)
                + arranging(pairs, queries)
                + [num_values] * pairs
                for pairs in numbers
                for queries in range(1, min(pairs, self.max_queries) + 1)
            },
            f"{numbers[0]} to {numbers[-1]} pairs of {num_keys} keys and {num_values} values",
        )

    def batch_of(self, drawn: Drawn, generator: torch.Generator) -> Batch:
        sources, targets, alignments = [], [], []
        for (pairs, queries), block in drawn.items():
            key_digits, asked_digits, values = block.split([pairs, queries, pairs], dim=1)
            keys = FIRST + arrangements(key_digits)
            values = FIRST + self.num_keys + values
            asked = arrangements(asked_digits)
            stated = torch.stack([keys, values], dim=2).flatten(1)
            sources.append(torch.cat([stated, keys.gather(1, asked)], dim=1))
            targets.append(values.gather(1, asked))
            alignments.append(2 * asked + 1)
        longest = max(2 * pairs + queries for pairs, queries in drawn)
        most = max(queries for _, queries in drawn)
        return sequence_batch(
            stack(sources, longest), stack(targets, most), stack(alignments, most, fill=-1)
        )

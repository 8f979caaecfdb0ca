"""Associative recall: what belongs to what, as told a moment ago."""

import torch

from attnexp.data.dataset import Dataset
from attnexp.data.sequences import (
    FIRST,
    arrangements,
    check_positive,
    check_range,
    check_sizes,
    draw_distinct,
    sequence_batch,
    sequence_spec,
    split,
    stack,
)


class Recall(Dataset):
    """source = k_1 v_1 ... k_n v_n, then m of the keys again; target = the values of those m.

    Multi-query associative recall (Arora et al. 2023, "Zoology"), as a task of an encoder and a
    decoder. The keys of an example are all different, and so are the keys asked for; values are
    free to repeat. The gold alignment is the place of the value.

    Keys are named k0, k1, ... and values 0, 1, ...; source and target share one vocabulary of
    `num_keys` + `num_values` symbols and the special ones. The number of pairs n is `min_pairs` to
    `max_pairs`, the number of queries m is `num_queries`. All sources are different, so the three
    sets are disjoint; numbers of pairs are equally frequent as far as that allows.

    Example:
        source     k0 2 k3 1 k1 2 k1 k3 <eos>
        target     2 1 <eos>
        alignment  5 3 -1

    Raises ValueError for a set without examples, no pair, no query or no value, an empty range of
    pairs, more pairs than keys, more queries than pairs, and more examples than there are
    different sources.
    """

    def __init__(
        self,
        generator: torch.Generator,
        num_train: int = 10_000,
        num_validation: int = 500,
        num_test: int = 500,
        min_pairs: int = 2,
        max_pairs: int = 8,
        num_queries: int = 2,
        num_keys: int = 16,
        num_values: int = 16,
    ) -> None:
        check_sizes(num_train, num_validation, num_test)
        check_range("min_pairs", min_pairs, "max_pairs", max_pairs)
        check_positive("num_queries", num_queries)
        check_positive("num_values", num_values)
        if num_keys < max_pairs:
            raise ValueError(
                f"num_keys must be at least max_pairs ({max_pairs}), because the keys of an "
                f"example are all different, got {num_keys}"
            )
        if num_queries > min_pairs:
            raise ValueError(
                f"num_queries must be at most min_pairs ({min_pairs}), because no key is asked "
                f"for twice, got {num_queries}"
            )
        sizes = (num_train, num_validation, num_test)
        counts = range(min_pairs, max_pairs + 1)
        digits = draw_distinct(
            sum(sizes),
            [
                [num_keys - i for i in range(pairs)]
                + [pairs - i for i in range(num_queries)]
                + [num_values] * pairs
                for pairs in counts
            ],
            f"{min_pairs} to {max_pairs} pairs of {num_keys} keys and {num_values} values with "
            f"{num_queries} queries",
            generator,
        )
        sources, targets, alignments = [], [], []
        for pairs, block in zip(counts, digits, strict=True):
            key_digits, asked_digits, values = block.split([pairs, num_queries, pairs], dim=1)
            keys = FIRST + arrangements(key_digits, num_keys)
            values = FIRST + num_keys + values
            asked = arrangements(asked_digits, pairs)
            told = torch.stack([keys, values], dim=2).flatten(1)
            sources.append(torch.cat([told, keys.gather(1, asked)], dim=1))
            targets.append(values.gather(1, asked))
            alignments.append(2 * asked + 1)
        longest = 2 * max_pairs + num_queries
        whole = sequence_batch(stack(sources, longest), torch.cat(targets), torch.cat(alignments))
        symbols = [f"k{i}" for i in range(num_keys)] + [str(i) for i in range(num_values)]
        self.spec = sequence_spec(symbols, symbols, longest, num_queries)
        self.train, self.validation, self.test = split(whole, sizes, generator)

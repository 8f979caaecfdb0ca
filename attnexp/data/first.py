"""The first symbol of a sequence, whatever follows."""

import torch

from attnexp.batch import Batch, Seq2SeqSpec
from attnexp.data.base import Dataset
from attnexp.data.sequences import (
    FIRST,
    Drawn,
    Families,
    check_memory,
    check_range,
    check_sizes,
    draw_sets,
    question_batch,
    sequence_spec,
    stack,
    tested_range,
)

BITS = 2


class First(Dataset):
    """source = ^b_1 b_2 ... b_n, random bits of which the first is marked; target = b_1.

    The language FIRST of Chiang and Cholak (2022), section 4: the n - 1 symbols behind the first
    say nothing, and there are more of them the longer the sequence is. The mark (^0, ^1) stands for
    the paper's position vector, whose first entry is [i = 1] and all others 0, so that lengths
    beyond those of training have no new positions: choose `arch.positions=none`. The answer is
    due at one query behind the source, and the gold alignment is 0. Lengths are `min_length` to
    `max_length`, and all sources are different. The test set may have other lengths,
    `test_min_length` to `test_max_length`; an end that is None is that of training.

    Example:
        source     ^1 0 0 1
        target     1
        alignment  0

    Raises ValueError for a set without examples, a length below 1, an empty range of lengths, and
    more examples than there are different sources.
    """

    spec: Seq2SeqSpec

    def __init__(
        self,
        generator: torch.Generator,
        num_train: int = 10_000,
        num_validation: int = 500,
        num_test: int = 200,
        min_length: int = 50,
        max_length: int = 50,
        test_min_length: int | None = None,
        test_max_length: int | None = None,
    ) -> None:
        check_sizes(num_train, num_validation, num_test)
        check_range("min_length", min_length, "max_length", max_length)
        tested = tested_range("length", min_length, max_length, test_min_length, test_max_length)
        check_memory((num_train, num_validation, 0), max_length, max_length - min_length + 1, 4)
        if tested is not None:
            check_memory((0, 0, num_test), tested[-1], len(tested), 4)
        self.train, self.validation, self.test = draw_sets(
            (num_train, num_validation, num_test),
            _families(range(min_length, max_length + 1)),
            None if tested is None else _families(tested),
            _marked,
            generator,
        )
        bits = [str(bit) for bit in range(BITS)]
        symbols = [*bits, *(f"^{bit}" for bit in bits)]
        self.spec = sequence_spec(symbols, bits, self.train, self.test)
        self.chance = {"exact_match": 1 / BITS}


def _families(lengths: range) -> Families:
    return Families(
        {length: [BITS] * length for length in lengths}, f"lengths {lengths[0]} to {lengths[-1]}"
    )


def _marked(drawn: Drawn) -> Batch:
    """Return the batch of the bits that the digits are."""
    bits = stack([block + FIRST for block in drawn.values()], max(drawn))
    marked = bits[:, :1] + BITS
    return question_batch(
        source=torch.cat([marked, bits[:, 1:]], dim=1),
        target=bits[:, 0],
        alignment=torch.zeros(len(bits), dtype=torch.int64),
    )

"""Associative recall with keys of two parts."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from attnexp.core.batch import Batch
from attnexp.data.drawn import DrawnSequences
from attnexp.data.mqar import FILLER, drawn_slots
from attnexp.data.sequences import (
    MOST_CODES,
    Drawn,
    Families,
    arrangements,
    arranging,
    check_positive,
    given_batch,
    numbered,
)


class CompositionalRecall(DrawnSequences):
    """a_1 b_1 v_1 ... a_n b_n v_n, then a stream of keys a b; the target is the value of both.

    Multi-query associative recall (`MultiQueryRecall`) with keys of two symbols, after
    data/compositional_ar.py of HazyResearch/zoology (Arora et al. 2023, "Zoology", is the paper of
    the repository). An example has g = `side` first symbols and g second ones, and each of the
    n = g^2 combinations is told once, in random order, with a value of its own. So no part of a key
    alone has a value: it leaves g of them. The stream asks for each key once, in one of
    s = (length - 3n) / 3 slots, rounded down, of which slot i, i = 1, ..., s, begins at symbol
    3i - 3 of the stream and is drawn with

        P(slot i) ~ i^(power - 1),     without repetition, in the order of the source.

    Source and stream are together `length` symbols long. Of `vocab_size` symbols one is the filler
    (.), a third of the others, rounded down, first symbols (a0, a1, ...), as many second ones (b0,
    b1, ...), and the rest values (0, 1, ...); the special symbols come on top. As in
    `MultiQueryRecall`, the decoder's input is given, and a value is due at the second symbol of its
    key. The gold alignment is the place of the value. All sources are different, so the three sets
    are disjoint.

    The data differ from the code: there the rest of the stream is random symbols by default, and
    the sets are not kept apart. The code has no default of `length` and `vocab_size`, and these are
    those of its example; n = 4 and the power are its defaults.

    Example of length 24 with two first and two second symbols, as source, queries and targets:
        source     a5 b1 2 a0 b1 7 a0 b4 3 a5 b4 8
        queries    a0 b4 . a5 b1 . a5 b4 . a0 b1 .
        target     3 2 8 7
        alignment  8 2 11 5

    Raises ValueError for a set without examples, a side below 1, a length below six symbols per
    key, too few symbols for the keys or more than can be counted, a power below 0 or above 1, and
    more examples than there are different sources.
    """

    floors = ("exact_match", "token_accuracy")

    def __init__(
        self,
        generator: torch.Generator,
        num_train: int = 100_000,
        num_validation: int = 500,
        num_test: int = 1_000,
        side: int = 2,
        length: int = 30,
        vocab_size: int = 150,
        power: float = 0.01,
    ) -> None:
        check_positive("side", side)
        keys = side**2
        if length < 6 * keys:
            raise ValueError(
                f"length must be at least {6 * keys}, because each of {keys} keys takes three "
                f"symbols in the source and three in the stream, got {length}"
            )
        if vocab_size < 3 * keys - 1:
            raise ValueError(
                f"vocab_size must be at least {3 * keys - 1}, because a third of the symbols are "
                f"values and an example has {keys} different ones, got {vocab_size}"
            )
        if not 0 <= power <= 1:
            raise ValueError(f"power must be within 0 to 1, got {power}")
        self._length, self._power = length, power
        self._num_parts = (vocab_size - 1) // 3
        self._num_values = vocab_size - 1 - 2 * self._num_parts
        if math.comb(self._num_parts, side) > MOST_CODES:
            raise ValueError(
                f"vocab_size must be smaller: {side} of {self._num_parts:,} symbols make more "
                f"choices than can be counted, got {vocab_size}"
            )
        symbols = [
            ".",
            *numbered(self._num_parts, "a{}".format),
            *numbered(self._num_parts, "b{}".format),
            *numbered(self._num_values),
        ]
        sizes = (num_train, num_validation, num_test)
        super().__init__(generator, sizes, [side], None, symbols, symbols)

    def longest(self, number: int) -> int:
        return self._length

    def families(self, numbers: Sequence[int]) -> Families:
        (side,) = numbers
        parts = math.comb(self._num_parts, side)
        orders, values = arranging(side**2, side**2), arranging(self._num_values, side**2)
        named = (
            f"{side} of {self._num_parts} first and of {self._num_parts} second symbols with "
            f"{self._num_values} values"
        )
        return Families({side: [parts, parts, *orders, *values]}, named)

    def batch_of(self, drawn: Drawn, generator: torch.Generator) -> Batch:
        ((side, digits),) = drawn.items()
        keys = side**2
        parts, order_digits, value_digits = digits.split([2, keys, keys], dim=1)
        cells = arrangements(order_digits)
        chosen = [combinations(part, self._num_parts, side) for part in parts.T]
        first = FILLER + 1 + chosen[0].gather(1, cells // side)
        second = FILLER + 1 + self._num_parts + chosen[1].gather(1, cells % side)
        values = FILLER + 1 + 2 * self._num_parts + arrangements(value_digits)
        free = self._length - 3 * keys
        slots = drawn_slots(len(digits), keys, free // 3, self._power, generator)
        begun, order = (3 * slots).sort(dim=1)
        stream = torch.full((len(digits), free), FILLER)
        stream = stream.scatter(1, begun, first.gather(1, order))
        return given_batch(
            queries=stream.scatter(1, begun + 1, second.gather(1, order)),
            source=torch.stack([first, second, values], dim=2).flatten(1),
            target=values.gather(1, order),
            asked=begun + 1,
            alignment=3 * order + 2,
        )


def combinations(
    numbers: Int[Tensor, " examples"], items: int, chosen: int
) -> Int[Tensor, "examples chosen"]:
    """Return the sets of `chosen` of `items` with these numbers, from 0 to C(items, chosen) - 1.

    The number of c_1 < ... < c_k is C(c_1, 1) + ... + C(c_k, k) (combinatorial number system).
    """
    found = []
    for size in range(chosen, 0, -1):
        counts = torch.tensor([math.comb(item, size) for item in range(items)])
        largest = torch.searchsorted(counts, numbers.contiguous(), right=True) - 1
        found.append(largest)
        numbers = numbers - counts[largest]
    return torch.stack(found[::-1], dim=1)

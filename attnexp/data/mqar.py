"""Multi-query associative recall."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from attnexp.core.batch import Batch
from attnexp.data.drawn import DrawnSequences
from attnexp.data.sequences import (
    FIRST,
    Drawn,
    Families,
    arrangements,
    arranging,
    check_least,
    given_batch,
    numbered,
    stack,
)

FILLER = FIRST
"""The id of the symbol that fills the stream between the keys that are asked for."""


@dataclass(eq=False, repr=False)
class MultiQueryRecall(DrawnSequences):
    """k_1 v_1 ... k_n v_n, then a stream that asks for each key once; the target is its value.

    Multi-query associative recall (MQAR) of Arora et al. (2023), "Zoology", section 3 and the code
    to figure 2 (HazyResearch/zoology). Pairs and stream are together `length` symbols long. The
    n keys of an example are all different, and so are its n values. A key is asked for in one of
    s = (length - 2n) / 2 slots, of which slot i, i = 1, ..., s, begins at symbol 2i - 2 of the
    stream and is drawn with a probability that falls as a power law,

        P(slot i) ~ i^(power - 1),     without repetition, in the order of the pairs.

    Everything else in the stream is one filler symbol. An answer is due at the query itself and is
    not in the stream, so the decoder's input is given (`Batch.asked`): the source is the pairs,
    without an end symbol, the queries are the stream, without a symbol for its beginning, and the
    targets are the values in the order of the stream. Of `vocab_size` symbols one is the filler
    (.), half are values (0, 1, ...) and the others keys (k0, k1, ...); source and target share
    them, the special symbols come on top. The gold alignment is the place of the value. There are
    `min_pairs` to `max_pairs` pairs in an example, in equal shares, and all lists of pairs are
    different, so the three sets are disjoint.

    The data differ from the code to figure 2: there every example of a set has the same number of
    pairs, 4 at length 64, 8 at 128 and 16 at 256, which `max_pairs` = 4 gives at length 64; the
    test has 3,000 examples, and the sets are not kept apart. An architecture that reads source and
    queries as one causal sequence has the input of that code.

    The test set may have other numbers of pairs, `test_min_pairs` to `test_max_pairs`; an end that
    is None is that of training.

    Example of length 12, as source, queries and targets:
        source     k5 2 k0 7
        queries    k0 . . . k5 . . .
        target     7 2
        alignment  3 1

    Raises ValueError for a set without examples, no pair, an empty range of pairs, an odd length
    or one below four symbols per pair, too few symbols for the pairs, a power below 0 or above 1,
    and more examples than there are different lists of pairs.
    """

    floors = ("exact_match", "token_accuracy")

    num_train: int = 100_000
    num_test: int = 1_000
    min_pairs: int = 4
    max_pairs: int = 16
    length: int = 64
    vocab_size: int = 8_192
    power: float = 0.01
    test_min_pairs: int | None = None
    test_max_pairs: int | None = None

    def __post_init__(self, generator: torch.Generator) -> None:
        trained, tested = self.ranges_of("pairs")
        most = max(self.max_pairs, (tested or trained)[-1])
        if self.length % 2 or self.length < 4 * most:
            raise ValueError(
                f"length must be even and at least {4 * most}, because {most} pairs and as many "
                f"slots take four symbols each, got {self.length}"
            )
        why = f"an example has {most} different keys, as many values and a filler"
        check_least("vocab_size", self.vocab_size, 2 * most + 1, why)
        if not 0 <= self.power <= 1:
            raise ValueError(f"power must be within 0 to 1, got {self.power}")
        self._num_values = self.vocab_size // 2
        self._num_keys = self.vocab_size - self._num_values - 1
        symbols = [".", *numbered(self._num_keys, "k{}".format), *numbered(self._num_values)]
        self.draw_sets(generator, trained, tested, symbols, symbols)

    def longest(self, number: int) -> int:
        return self.length

    def families(self, numbers: Sequence[int]) -> Families:
        return pair_families(numbers, self._num_keys, self._num_values)

    def batch_of(self, drawn: Drawn, generator: torch.Generator) -> Batch:
        sources, streams, targets, alignments, places = [], [], [], [], []
        for pairs, digits in drawn.items():
            key_digits, value_digits = digits.split(pairs, dim=1)
            keys = FILLER + 1 + arrangements(key_digits)
            values = FILLER + 1 + self._num_keys + arrangements(value_digits)
            free = self.length - 2 * pairs
            slots = drawn_slots(len(digits), pairs, free // 2, self.power, generator)
            asked, order = (2 * slots).sort(dim=1)
            stream = torch.full((len(digits), free), FILLER)
            sources.append(torch.stack([keys, values], dim=2).flatten(1))
            streams.append(stream.scatter(1, asked, keys.gather(1, order)))
            targets.append(values.gather(1, order))
            alignments.append(2 * order + 1)
            places.append(asked)
        most = max(drawn)
        return given_batch(
            queries=stack(streams, self.length - 2 * min(drawn)),
            source=stack(sources, 2 * most),
            target=stack(targets, most),
            asked=stack(places, most, fill=0),
            alignment=stack(alignments, most, fill=-1),
        )


def pair_families(numbers: Sequence[int], num_keys: int, num_values: int) -> Families:
    """Return the families of lists of this many pairs, in which no key and no value comes twice."""
    return Families(
        {pairs: arranging(num_keys, pairs) + arranging(num_values, pairs) for pairs in numbers},
        f"{numbers[0]} to {numbers[-1]} pairs of {num_keys} keys and {num_values} values",
    )


def drawn_slots(
    examples: int, pairs: int, slots: int, power: float, generator: torch.Generator
) -> Int[Tensor, "examples pairs"]:
    """Return different slots 0, 1, ... for pairs, drawn with P(slot i) ~ (i + 1)^(power - 1)."""
    if not examples:
        return torch.empty(0, pairs, dtype=torch.int64)
    chances = torch.arange(1.0, slots + 1).pow(power - 1).expand(examples, -1)
    return torch.multinomial(chances, pairs, generator=generator)

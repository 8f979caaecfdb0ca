"""Associative recall of keys that get new values."""

from collections.abc import Sequence

import torch

from attnexp.core.batch import Batch
from attnexp.data.drawn import DrawnSequences
from attnexp.data.mqar import FILLER, drawn_slots
from attnexp.data.sequences import (
    Drawn,
    Families,
    arrangements,
    arranging,
    check_positive,
    given_batch,
    numbered,
)


class ForgettingRecall(DrawnSequences):
    """k_1 v_1 ... k_n v_n, then u of the keys with new values; the target is the last value.

    Multi-query associative recall (`MultiQueryRecall`) in which a model must forget, after
    data/forgetting_mqar.py of HazyResearch/zoology (Arora et al. 2023, "Zoology", is the paper of
    the repository). The source has n = `num_pairs` pairs and u = `num_updates` updates, which are
    pairs of a key that was told and another value. The keys of the updates are drawn without
    repetition, in random order. The n + u values of an example are all different. The stream then
    asks for each of the n keys once, in one of s = (length - 2n - 2u) / 2 slots, of which slot i,
    i = 1, ..., s, begins at symbol 2i - 2 of the stream and is drawn with

        P(slot i) ~ i^(power - 1),     without repetition, in the order of the pairs.

    Source and stream are together `length` symbols long. Of `vocab_size` symbols one is the filler
    (.), half are values (0, 1, ...) and the others keys (k0, k1, ...); the special symbols come on
    top. As in `MultiQueryRecall`, the decoder's input is given and a value is due at its key. The
    gold alignment is the place of the last value of the key. All sources are different, so the
    three sets are disjoint.

    The data differ from the code: there a new value may be one that another key has, and may also
    be the old value of its own key, because the code compares it with the value of another one; the
    rest of the stream is random symbols by default; and the sets are not kept apart. The code has
    no default of `length` and `vocab_size`; n = 8, u = 4 and the power are its defaults.

    Example of length 16 with two pairs and one update, as source, queries and targets:
        source     k5 2 k0 7 k5 4
        queries    k0 . . . k5 . . . . .
        target     7 4
        alignment  3 5

    Raises ValueError for a set without examples, no pair, updates below 0 or above the pairs, an
    odd length or one below four symbols per pair and two per update, too few symbols for the pairs,
    a power below 0 or above 1, and more examples than there are different sources.
    """

    floors = ("exact_match", "token_accuracy")

    def __init__(
        self,
        generator: torch.Generator,
        num_train: int = 100_000,
        num_validation: int = 500,
        num_test: int = 1_000,
        num_pairs: int = 8,
        num_updates: int = 4,
        length: int = 64,
        vocab_size: int = 128,
        power: float = 0.01,
    ) -> None:
        check_positive("num_pairs", num_pairs)
        if not 0 <= num_updates <= num_pairs:
            raise ValueError(
                f"num_updates must be within 0 to num_pairs ({num_pairs}), got {num_updates}"
            )
        least = 4 * num_pairs + 2 * num_updates
        if length % 2 or length < least:
            raise ValueError(
                f"length must be even and at least {least}, because a pair and its slot take four "
                f"symbols and an update two, got {length}"
            )
        values = num_pairs + num_updates
        if vocab_size < 2 * values:
            raise ValueError(
                f"vocab_size must be at least {2 * values}, because half of the symbols are values "
                f"and an example has {values} different ones, got {vocab_size}"
            )
        if not 0 <= power <= 1:
            raise ValueError(f"power must be within 0 to 1, got {power}")
        self._updates, self._length, self._power = num_updates, length, power
        self._num_values = vocab_size // 2
        self._num_keys = vocab_size - self._num_values - 1
        symbols = [".", *numbered(self._num_keys, "k{}".format), *numbered(self._num_values)]
        sizes = (num_train, num_validation, num_test)
        super().__init__(generator, sizes, [num_pairs], None, symbols, symbols)

    def longest(self, number: int) -> int:
        return self._length

    def families(self, numbers: Sequence[int]) -> Families:
        (pairs,), updates = numbers, self._updates
        keys = arranging(self._num_keys, pairs) + arranging(pairs, updates)
        values = arranging(self._num_values, pairs + updates)
        named = (
            f"{pairs} pairs and {updates} updates of {self._num_keys} keys and "
            f"{self._num_values} values"
        )
        return Families({pairs: keys + values}, named)

    def batch_of(self, drawn: Drawn, generator: torch.Generator) -> Batch:
        ((pairs, digits),) = drawn.items()
        updates = self._updates
        key_digits, again_digits, value_digits = digits.split(
            [pairs, updates, pairs + updates], dim=1
        )
        keys, again = FILLER + 1 + arrangements(key_digits), arrangements(again_digits)
        values = FILLER + 1 + self._num_keys + arrangements(value_digits)
        told = torch.cat([keys, keys.gather(1, again)], dim=1)
        last = torch.arange(pairs).expand(len(digits), -1)
        last = last.scatter(1, again, torch.arange(pairs, pairs + updates).expand_as(again))
        free = self._length - 2 * (pairs + updates)
        slots = drawn_slots(len(digits), pairs, free // 2, self._power, generator)
        asked, order = (2 * slots).sort(dim=1)
        place = last.gather(1, order)
        stream = torch.full((len(digits), free), FILLER)
        return given_batch(
            queries=stream.scatter(1, asked, keys.gather(1, order)),
            source=torch.stack([told, values], dim=2).flatten(1),
            target=values.gather(1, place),
            asked=asked,
            alignment=2 * place + 1,
        )

"""Random patterns that are repeated."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from attnexp.core.batch import Batch
from attnexp.data.drawn import DrawnSequences
from attnexp.data.sequences import (
    FIRST,
    PAD,
    Drawn,
    Families,
    ascending,
    check_least,
    every_length,
    given_batch,
    numbered,
    stack,
)


@dataclass(eq=False, repr=False)
class Tiled(DrawnSequences):
    """x_1 ... x_L, a pattern of p random symbols again and again; the target at t is x_(t + 1).

    x_(t + p) = x_t, with the period p drawn for each example. An induction head, Olsson et al.
    (2022), "In-context Learning and Induction Heads", arXiv 2209.11895, leads to the answer: a
    layer brings each symbol together with the one before it, and the next looks up the place behind
    the earlier x_t. If p is fixed (`min_period` = `max_period`), a head that looks p - 1 places
    back is enough.

    The first symbol of a pattern is drawn from `vocab_size`, named 0, 1, ..., and the others, with
    repetition, from all symbols but the first. An answer is due at each x_t from the second period
    on that its pattern has once, so that one symbol says which comes next. Without repetition the
    symbol that was not read for the longest time would be the answer, which needs no look-up.

    The source is the first period, x_1 ... x_p, and the queries are x_(p + 1) ... x_(L - 1).
    `decoder_only` reads both as one causal sequence and does not see the end of the source; the
    lengths of the source in a summary are periods. The gold alignment is the place of
    x_(t + 1 - p), the answer one period earlier, if it is in the source, as it is for all answers
    of the second period but the last. Later answers have several right places, of which the nearest
    is in the queries, and no gold.

    Periods are `min_period` to `max_period`, in equal shares, and all patterns of a set are
    different. L = `length`, which the test set may have different: `test_lengths`. At equal lengths
    the three sets are disjoint; at others they may share a pattern.

    Example of length 9 with p = 4, in which 1 is not asked:
        source     4 1 0 1
        queries    4 1 0 1
        asked      0 2
        target     1 1
        alignment  1 3

    Raises ValueError for a set without examples, an empty range of periods, fewer than two symbols,
    a length below `max_period` + 2, empty `test_lengths`, and more examples than there are
    different patterns.
    """

    floors = ("exact_match", "token_accuracy")

    num_train: int = 6_400
    min_period: int = 4
    max_period: int = 12
    length: int = 32
    vocab_size: int = 8
    test_lengths: Sequence[int] | None = None

    def __post_init__(self, generator: torch.Generator) -> None:
        self._periods, _ = self.ranges_of("period")
        check_least("vocab_size", self.vocab_size, 2)
        trained = range(self.length, self.length + 1)
        tested = ascending("test_lengths", self.test_lengths, "length")
        why = f"the first answer comes after {self.max_period + 1} symbols"
        check_least("lengths", min(every_length(trained, tested)), self.max_period + 2, why)
        symbols = numbered(self.vocab_size)
        self.draw_sets(generator, trained, tested, symbols, symbols, shapes=len(self._periods))

    def families(self, numbers: Sequence[int]) -> Families:
        return Families(
            {
                (length, period): [self.vocab_size] + [self.vocab_size - 1] * (period - 1)
                for length in numbers
                for period in self._periods
            },
            f"patterns of {self._periods[0]} to {self._periods[-1]} of {self.vocab_size} symbols",
        )

    def batch_of(self, drawn: Drawn, generator: torch.Generator) -> Batch:
        sources, queries, targets, places, alignments = [], [], [], [], []
        for (length, period), digits in drawn.items():
            first, others = digits[:, :1], digits[:, 1:]
            pattern = FIRST + torch.cat([first, others + (others >= first)], dim=1)
            sequence = pattern[:, torch.arange(length) % period]
            once = (pattern.unsqueeze(2) == pattern.unsqueeze(1)).sum(dim=2) == 1
            due = once[:, torch.arange(period, length - 1) % period]
            # places that are asked come first, in their order
            asked = (~due).to(torch.int8).argsort(dim=1, stable=True)
            is_asked = due.gather(1, asked)
            sources.append(pattern)
            queries.append(sequence[:, period:-1])
            targets.append(sequence[:, period + 1 :].gather(1, asked).where(is_asked, PAD))
            places.append(asked.where(is_asked, 0))
            alignments.append((asked + 1).where(is_asked & (asked + 1 < period), -1))
        most = max(row.shape[1] for row in targets)
        return given_batch(
            queries=stack(queries, most),
            source=stack(sources, self._periods[-1]),
            target=stack(targets, most),
            asked=stack(places, most, fill=0),
            alignment=stack(alignments, most, fill=-1),
        )

"""A question that must be answered from all symbols, and one to which the answer is nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from attnexp.core.batch import Batch
from attnexp.data.drawn import DrawnSequences
from attnexp.data.sequences import (
    FIRST,
    Drawn,
    Families,
    check_positive,
    contents,
    given_batch,
    numbered,
    uniform,
)

START, TRIGGER, REST, NOTHING = "^", "?", ".", "-"


@dataclass(eq=False, repr=False)
class Trigger(DrawnSequences):
    """source = ^ x_1 ... x_n; the target of ? is the most frequent symbol, that of . is nothing.

    After the task of Ran-Milo (2026, arXiv 2603.11487), in which the mean of the vectors so far is
    due at a trigger, and zero otherwise. Here symbols take the place of vectors, and the most
    frequent one that of the mean: with equal weights it is the largest entry of the context. Of
    symbols that are equally frequent it is the first in the order of the vocabulary. Nothing is a
    symbol of its own (-). Each example has both queries, in random order, and nothing is fed back.
    Choose `arch=pooling`, whose answer can come from the weights alone: if they must sum to 1, they
    must go somewhere at the query . too, and to another place than at ?.

    x_1, ..., x_n are uniform over `vocab_size` symbols 0, 1, ...; there are `min_length` to
    `max_length` of them, in equal shares, and all sources are different. At the defaults 28% of the
    tests are a training source in another order, which a model without positions, such as
    `arch=pooling`, cannot tell apart. The gold alignment is that
    of the query . alone: the place of ^, so that `gold_mass` is the weight on the first symbol when
    nothing is asked for.

    Example:
        source     ^ 3 1 3 0
        queries    . ?
        target     - 3
        alignment  0 -1

    Raises ValueError for a set without examples, an empty range of lengths, no symbol, and more
    examples than there are different sources.
    """

    floors = ("exact_match", "token_accuracy")

    num_train: int = 20_000
    min_length: int = 5
    max_length: int = 15
    vocab_size: int = 8

    def __post_init__(self, generator: torch.Generator) -> None:
        check_positive("vocab_size", self.vocab_size)
        symbols = numbered(self.vocab_size)
        self.draw_sets(
            generator,
            *self.ranges_of("length"),
            source_symbols=[*symbols, START],
            target_symbols=[*symbols, TRIGGER, REST, NOTHING],
        )

    def families(self, numbers: Sequence[int]) -> Families:
        return uniform(numbers, self.vocab_size)

    def batch_of(self, drawn: Drawn, generator: torch.Generator) -> Batch:
        symbols = contents(drawn)
        examples, past = len(symbols), FIRST + self.vocab_size
        source = torch.cat([symbols.new_full((examples, 1), past), symbols], dim=1)
        counts = torch.stack([(symbols == i).sum(dim=1) for i in range(FIRST, past)], dim=1)
        most = FIRST + counts.argmax(dim=1)
        first = torch.rand(examples, 1, generator=generator) < 0.5
        asked = torch.cat([first, ~first], dim=1)
        trigger, rest, nothing = (past + i for i in range(3))
        return given_batch(
            queries=torch.full((examples, 2), rest).masked_fill(asked, trigger),
            source=source,
            target=most.unsqueeze(1).where(asked, nothing),
            asked=torch.arange(2).expand(examples, -1),
            alignment=-asked.long(),
        )

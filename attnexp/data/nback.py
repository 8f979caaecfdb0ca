"""The symbol a few places back."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from attnexp.core.batch import Batch
from attnexp.data.drawn import SequencesByLength
from attnexp.data.sequences import (
    FIRST,
    Drawn,
    Families,
    check_least,
    check_positive,
    every_length,
    given_batch,
    notes_on_lengths,
    numbered,
    stack,
    uniform,
)


@dataclass(eq=False, repr=False)
class NBack(SequencesByLength):
    """x_1 ... x_L, random symbols; the target at each of the last m places t is x_(t - n).

    The n-back task of Vasylenko et al. (2025), "Long-context generalization with sparse attention",
    after scripts/generate_data.py of deep-spin/asentmax, which has n = 2. The source is x_1 ...
    x_(L - m) and the queries are the other m = `num_answers` symbols, with an answer due at each,
    so that an architecture that reads source and queries as one causal sequence, `decoder_only`,
    has the input of the code. n = `steps`. Symbols are uniform over `vocab_size`, named 0, 1, ....
    The gold alignment is the place of x_(t - n) for the first n answers; the others have theirs in
    the queries.

    The data differ from the code: there an answer is due at every place, and one of its 16 symbols
    is in front of the sequence and is the answer of the first n places; training has 10 million
    examples; and the sets are not kept apart.

    Lengths L are `min_length` to `max_length`, in equal shares. The test set may have other
    lengths, `test_min_length` to `test_max_length`, or those in `test_lengths`. An end that is None
    is that of training. All sequences are different, so the three sets are disjoint.

    Example of length 8 with n = 2 and three answers:
        source     4 1 0 4 2
        queries    3 3 1
        target     4 2 3
        alignment  3 4 -1

    Raises ValueError for a set without examples, a setting below 1, a length below n + m, an empty
    range of lengths, `test_lengths` next to a range, and more examples than there are different
    sequences.
    """

    floors = ("exact_match", "token_accuracy")

    num_train: int = 20_000
    min_length: int = 32
    max_length: int = 64
    steps: int = 2
    num_answers: int = 16
    vocab_size: int = 16

    def __post_init__(self, generator: torch.Generator) -> None:
        trained, tested = self.lengths()
        for name in ("steps", "num_answers", "vocab_size"):
            check_positive(name, getattr(self, name))
        shortest, least = min(every_length(trained, tested)), self.steps + self.num_answers
        why = f"{self.num_answers} symbols have answers and {self.steps} come first"
        check_least("lengths", shortest, least, why)
        symbols = numbered(self.vocab_size)
        self.draw_sets(generator, trained, tested, symbols, symbols)
        self.notes = notes_on_lengths(tested, self._in_source, "symbols of an example")

    def _in_source(self, length: int) -> int:
        return length - self.num_answers

    def families(self, numbers: Sequence[int]) -> Families:
        return uniform(numbers, self.vocab_size)

    def batch_of(self, drawn: Drawn, generator: torch.Generator) -> Batch:
        sources, queries, targets, alignments = [], [], [], []
        for length, digits in drawn.items():
            sequence, told = FIRST + digits, self._in_source(length)
            back = torch.arange(told, length) - self.steps
            sources.append(sequence[:, :told])
            queries.append(sequence[:, told:])
            targets.append(sequence[:, back])
            alignments.append(back.where(back < told, -1).expand(len(digits), -1))
        asked = torch.arange(self.num_answers)
        target = torch.cat(targets)
        return given_batch(
            queries=torch.cat(queries),
            source=stack(sources, self._in_source(max(drawn))),
            target=target,
            asked=asked.expand(len(target), -1),
            alignment=torch.cat(alignments),
        )

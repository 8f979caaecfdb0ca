"""A bit of memory that is written, ignored and read."""

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
    every_length,
    given_batch,
    notes_on_lengths,
    stack,
)

SYMBOLS = ("0", "1", "w", "i", "r")
WRITE, IGNORE, READ = range(FIRST + 2, FIRST + 5)


@dataclass(eq=False, repr=False)
class FlipFlop(SequencesByLength):
    """source = w b i b w b ..., the query is r; target = the bit behind the last w.

    The flip-flop language of Liu et al. (2023, arXiv 2306.00946), in the form of Vasylenko et al.
    (2025), "Long-context generalization with sparse attention", after scripts/generate_data.py of
    deep-spin/asentmax. An instruction is a command and a random bit: w writes its bit, i is to be
    ignored, and r reads. The first instruction writes and the last one reads; each of the others
    writes with probability `write_prob` and is ignored otherwise. In Liu et al. instructions in
    between may read too. The bit that was read is due at r, the only query, so that `decoder_only`
    reads the sequence of the code. The gold alignment is the place of that bit.

    Lengths count instructions, r included: `min_length` to `max_length`, in equal shares, 16 to 32
    as published, which are 32 to 64 symbols. All but r and its bit are the source. The README of
    the code has `write_prob` 0.8; its default and its experiment have 0.1, as here. The test set
    may have other lengths, `test_min_length` to `test_max_length`, or those in `test_lengths`. An
    end that is None is that of training. All strings of bits are different, so the three sets are
    disjoint; in the code they are not kept apart, and training has 10 million examples.

    Example of length 5:
        source     w 1 i 0 w 0 i 1
        queries    r
        target     0
        alignment  5

    Raises ValueError for a set without examples, a length below 2, a probability outside 0 to 1, an
    empty range of lengths, `test_lengths` next to a range, and more examples than there are
    different strings of bits.
    """

    floors = ("exact_match", "token_accuracy")

    num_train: int = 20_000
    min_length: int = 16
    max_length: int = 32
    write_prob: float = 0.1

    def __post_init__(self, generator: torch.Generator) -> None:
        trained, tested = self.lengths()
        shortest = min(every_length(trained, tested))
        check_least("lengths", shortest, 2, "an instruction writes and one reads")
        if not 0 <= self.write_prob <= 1:
            raise ValueError(f"write_prob must be within 0 to 1, got {self.write_prob}")
        self.draw_sets(generator, trained, tested, SYMBOLS, SYMBOLS)
        self.notes = notes_on_lengths(tested, self._in_source, "instructions")

    def longest(self, number: int) -> int:
        return 2 * number

    @staticmethod
    def _in_source(length: int) -> int:
        return 2 * (length - 1)

    def families(self, numbers: Sequence[int]) -> Families:
        return Families(
            {length: [2] * (length - 1) for length in numbers},
            f"bits of {numbers[0]} to {numbers[-1]} instructions",
        )

    def batch_of(self, drawn: Drawn, generator: torch.Generator) -> Batch:
        sources, targets, places = [], [], []
        for digits in drawn.values():
            bits = FIRST + digits
            writes = torch.rand(digits.shape, generator=generator) < self.write_prob
            writes[:, 0] = True
            commands = torch.full_like(bits, IGNORE).masked_fill(writes, WRITE)
            last = (writes * torch.arange(bits.shape[1])).argmax(dim=1, keepdim=True)
            sources.append(torch.stack([commands, bits], dim=2).flatten(1))
            targets.append(bits.gather(1, last))
            places.append(2 * last + 1)
        target = torch.cat(targets)
        return given_batch(
            queries=torch.full_like(target, READ),
            source=stack(sources, self._in_source(max(drawn))),
            target=target,
            asked=torch.zeros_like(target),
            alignment=torch.cat(places),
        )

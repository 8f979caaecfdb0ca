"""Counting within runs of one symbol."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Int
from torch import Tensor

from attnexp.core.batch import Batch, Seq2SeqSpec
from attnexp.data.base import Dataset
from attnexp.data.sequences import (
    FIRST,
    PAD,
    check_memory,
    check_positive,
    check_sizes,
    even_shares,
    every_length,
    given_batch,
    length_ranges,
    numbered,
    sequence_spec,
    split,
    stack,
)

MOST_DRAWS = 100
"""How often an example is drawn until it differs from the others."""


class LocalCount(Dataset):
    """x_1 ... x_L, runs of equal symbols; the target at the last m places is the count in the run.

    The local count of Vasylenko et al. (2025), "Long-context generalization with sparse attention",
    after scripts/generate_data.py of deep-spin/asentmax. A run repeats a symbol 2 to `max_repeats`
    times, each number being equally likely, and the next run has another symbol; the last run ends
    with the sequence. The count at a place is the number of equal symbols of its run in front of
    it: 0 at the first one. The source is x_1 ... x_(L - m) and the queries are the other m =
    `num_answers` symbols, with an answer due at each, so that an architecture that reads source and
    queries as one causal sequence, `decoder_only`, has the input of the code. There are
    `vocab_size` symbols (s0, s1, ...); counts are 0, 1, .... A count comes from many places, so
    there is no gold alignment.

    The data differ from the code: there an answer is due at every place; the number of runs is
    L / ((max_repeats + 2) / 2), rounded down, and none is cut; training has 10 million examples;
    and the sets are not kept apart.

    Lengths L are `min_length` to `max_length`, in equal shares. The test set may have other
    lengths, `test_min_length` to `test_max_length`, or those in `test_lengths`. An end that is None
    is that of training. A sequence that was drawn before is drawn again, so that the three sets are
    disjoint.

    Example of length 9 with four answers:
        source   s4 s4 s0 s0 s0
        queries  s0 s3 s3 s4
        target   3 0 1 0

    Raises ValueError for a set without examples, fewer than two symbols or repeats, no answer, a
    length that is not above m, an empty range of lengths, `test_lengths` next to a range, and more
    examples than are found.
    """

    spec: Seq2SeqSpec
    floors = ("exact_match", "token_accuracy")

    def __init__(
        self,
        generator: torch.Generator,
        num_train: int = 20_000,
        num_validation: int = 500,
        num_test: int = 500,
        min_length: int = 64,
        max_length: int = 128,
        max_repeats: int = 48,
        num_answers: int = 16,
        vocab_size: int = 16,
        test_min_length: int | None = None,
        test_max_length: int | None = None,
        test_lengths: Sequence[int] | None = None,
    ) -> None:
        trained, tested = length_ranges(
            min_length, max_length, test_min_length, test_max_length, test_lengths
        )
        check_sizes(num_train, num_validation, num_test)
        check_positive("num_answers", num_answers)
        for name, value in {"max_repeats": max_repeats, "vocab_size": vocab_size}.items():
            if value < 2:
                raise ValueError(f"{name} must be at least 2, got {value}")
        shortest = min(every_length(trained, tested))
        if shortest <= num_answers:
            raise ValueError(f"lengths must be above num_answers ({num_answers}), got {shortest}")
        tested = trained if tested is None else tested
        known, unseen = _shares(num_train + num_validation, trained), _shares(num_test, tested)
        check_memory(num_train + num_validation, trained[-1], shapes=len(trained))
        check_memory(num_test, tested[-1], shapes=len(tested))
        self._max_repeats, self._answers, self._vocab_size = max_repeats, num_answers, vocab_size
        rows = {
            length: self._distinct(known.get(length, 0) + unseen.get(length, 0), length, generator)
            for length in sorted({*known, *unseen})
        }
        fitted = [rows[length][:count] for length, count in known.items()]
        tests = [rows[length][known.get(length, 0) :] for length in unseen]
        whole = self._batch(stack(fitted, trained[-1]))
        self.train, self.validation = split(whole, (num_train, num_validation), generator)
        (self.test,) = split(self._batch(stack(tests, tested[-1])), (num_test,), generator)
        symbols = [*numbered(max_repeats), *numbered(vocab_size, "s{}".format)]
        self.spec = sequence_spec(symbols, symbols, self.train, self.test)

    def _distinct(
        self, count: int, length: int, generator: torch.Generator
    ) -> Int[Tensor, "{count} {length}"]:
        rows = self._draw(count, length, generator)
        for _ in range(MOST_DRAWS):
            repeated = _repeated(rows)
            if not repeated.any():
                return rows
            rows[repeated] = self._draw(int(repeated.sum()), length, generator)
        raise ValueError(
            f"{count} different sequences of length {length} were not found in {MOST_DRAWS} draws "
            "of each: ask for fewer examples or allow more"
        )

    def _draw(
        self, count: int, length: int, generator: torch.Generator
    ) -> Int[Tensor, "{count} {length}"]:
        shape = (count, length // 2 + 1)
        ends = torch.randint(2, self._max_repeats + 1, shape, generator=generator).cumsum(dim=1)
        symbols = torch.randint(1, self._vocab_size, shape, generator=generator)
        symbols[:, 0] = torch.randint(self._vocab_size, (count,), generator=generator)
        place = torch.arange(length).expand(count, -1).contiguous()
        runs = torch.searchsorted(ends, place, right=True)
        return FIRST + self._max_repeats + symbols.cumsum(dim=1).gather(1, runs) % self._vocab_size

    def _batch(self, rows: Int[Tensor, "examples longest"]) -> Batch:
        lengths = (rows != PAD).sum(dim=1, keepdim=True)
        place = torch.arange(rows.shape[1]).expand_as(rows)
        begins = F.pad(rows[:, 1:] != rows[:, :-1], (1, 0), value=True)
        counts = place - (place * begins).cummax(dim=1).values
        told = lengths - self._answers
        asked = torch.arange(self._answers).expand(len(rows), -1)
        return given_batch(
            queries=rows.gather(1, told + asked),
            source=rows.where(place < told, PAD)[:, : int(told.max())],
            target=FIRST + counts.gather(1, told + asked),
            asked=asked,
        )


def _shares(total: int, lengths: Sequence[int]) -> dict[int, int]:
    return dict(zip(lengths, even_shares(total, [total] * len(lengths)), strict=True))


def _repeated(rows: Int[Tensor, "examples longest"]) -> Bool[Tensor, " examples"]:
    different, of_row = rows.unique(dim=0, return_inverse=True)
    place = torch.arange(len(rows))
    first = torch.full((len(different),), len(rows)).scatter_reduce(0, of_row, place, "amin")
    return first[of_row] != place

"""Random patterns that are repeated."""

from collections.abc import Sequence

import torch

from attnexp.core.batch import Batch
from attnexp.data.drawn import DrawnSequences
from attnexp.data.sequences import (
    FIRST,
    PAD,
    Drawn,
    Families,
    arrangements,
    arranging,
    every_length,
    given_batch,
    length_ranges,
    numbered,
    ranges,
    stack,
)


class Tiled(DrawnSequences):
    """x_1 ... x_L, a pattern of p random symbols again and again; the target at t is x_(t + 1).

    x_(t + p) = x_t, with the period p drawn for each example. Two ways lead to the answer. An
    induction head, Olsson et al. (2022), "In-context Learning and Induction Heads", arXiv
    2209.11895, brings each symbol together with the one before it and looks up the place behind
    the present symbol. The other is to say the symbol that was not read for the longest
    time, which needs no such lookup: a right answer does not show an induction head, its map does.
    If p is fixed (`min_period` = `max_period`), a head that looks p - 1 places back is enough.

    The symbols of a pattern are all different, so that one symbol says which comes next. They are
    drawn from `vocab_size`, named 0, 1, .... The source is the first period, x_1 ... x_p, the
    queries are x_(p + 1) ... x_(L - 1), and an answer is due at each of them: up to x_p nothing
    says when the pattern begins again. `decoder_only` reads source and queries as one causal
    sequence and does not see the end of the source; the lengths of the source in a summary are
    periods. The gold alignment is the place of x_(t + 1 - p), the answer one period earlier, for
    the p - 1 answers that have it in the source. The others have several right places, of which the
    nearest is in the queries, and no gold.

    Periods are `min_period` to `max_period`, in equal shares, and all patterns of a set are
    different. L = `length`, which the test set may have different: `test_lengths`. At equal lengths
    the three sets are disjoint; at others they may share a pattern.

    Example of length 9 with p = 4:
        source     4 1 0 7
        queries    4 1 0 7
        target     1 0 7 4
        alignment  1 2 3 -1

    Raises ValueError for a set without examples, an empty range of periods, fewer symbols than the
    longest period, a length below `max_period` + 2, empty `test_lengths`, and more examples than
    there are different patterns.
    """

    def __init__(
        self,
        generator: torch.Generator,
        num_train: int = 6_400,
        num_validation: int = 500,
        num_test: int = 500,
        min_period: int = 4,
        max_period: int = 12,
        length: int = 32,
        vocab_size: int = 16,
        test_lengths: Sequence[int] | None = None,
    ) -> None:
        self._periods, _ = ranges("period", min_period, max_period)
        if vocab_size < max_period:
            raise ValueError(
                f"vocab_size must be at least max_period ({max_period}), because the symbols of a "
                f"pattern are all different, got {vocab_size}"
            )
        trained, tested = length_ranges(length, length, test_lengths=test_lengths)
        shortest = min(every_length(trained, tested))
        if shortest < max_period + 2:
            raise ValueError(
                f"lengths must be at least {max_period + 2}, because the first answer comes after "
                f"{max_period + 1} symbols, got {shortest}"
            )
        self._vocab_size = vocab_size
        symbols = numbered(vocab_size)
        sizes, shapes = (num_train, num_validation, num_test), len(self._periods)
        super().__init__(generator, sizes, trained, tested, symbols, symbols, shapes)
        self.chance = _guessed(self.test)

    def families(self, numbers: Sequence[int]) -> Families:
        return Families(
            {
                (length, period): arranging(self._vocab_size, period)
                for length in numbers
                for period in self._periods
            },
            f"patterns of {self._periods[0]} to {self._periods[-1]} of {self._vocab_size} symbols",
        )

    def batch_of(self, drawn: Drawn, generator: torch.Generator) -> Batch:
        sources, queries, targets, alignments = [], [], [], []
        for (length, period), digits in drawn.items():
            sequence = (FIRST + arrangements(digits))[:, torch.arange(length) % period]
            sources.append(sequence[:, :period])
            queries.append(sequence[:, period:-1])
            targets.append(sequence[:, period + 1 :])
            back = torch.arange(1, length - period)
            alignments.append(back.where(back < period, -1).expand(len(digits), -1))
        most = max(row.shape[1] for row in targets)
        target = stack(targets, most)
        return given_batch(
            queries=stack(queries, most),
            source=stack(sources, self._periods[-1]),
            target=target,
            asked=torch.arange(most).where(target != PAD, 0),
            alignment=stack(alignments, most, fill=-1),
        )


def _guessed(batch: Batch) -> dict[str, float]:
    """Return the expected accuracy of answers that are symbols of the example at random.

    One answer is right with probability 1/p, all n answers of an example with p^-n.
    """
    periods = batch.mask.sum(dim=-1).double()
    answers = batch.target_mask.sum(dim=-1, keepdim=True)
    return {
        "exact_match": float((periods**-answers).mean()),
        "token_accuracy": float((answers / periods).sum() / answers.sum()),
    }

"""Pairs of texts as examples: splits without leaks, vocabularies of the training data, notes."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import torch
from jaxtyping import Int
from torch import Tensor

from attnexp.core.batch import Seq2SeqSpec
from attnexp.core.writing import Writing
from attnexp.data.base import Dataset
from attnexp.data.memory import require_memory
from attnexp.data.sequences import (
    BYTES_A_NAME,
    BYTES_A_SYMBOL,
    FIRST,
    PAD,
    SPECIALS,
    check_positive,
    sequence_batch,
    sequence_spec,
)

UNKNOWN = "<unk>"
"""The symbol that stands for all symbols that are not in a vocabulary. Its id is `FIRST`."""

RESERVED = frozenset({*SPECIALS, UNKNOWN})
"""The names that no symbol of a text may have."""

Symbols = tuple[str, ...]

Sources = Mapping[Symbols, Sequence[Symbols]]
"""The different targets of each source, all of which are right."""


class TextPairs(Dataset):
    """Texts and their targets in three `splits`: training, validation and test.

    A source with several targets is an example for each of them in training. In validation and
    test it is one example, whose target is the first; `references` holds the texts of all targets
    of each test example.

    The vocabularies are the symbols that occur at least `min_count` times in the training data.
    `<unk>` stands for all others. There is no gold alignment. `notes` are those given, and the
    numbers of test symbols that are read as `<unk>`.

    Raises ValueError for a `min_count` below 1, and for examples that do not fit in memory.
    """

    spec: Seq2SeqSpec
    references: tuple[tuple[str, ...], ...]
    splits_rows: ClassVar[bool] = True

    def __init__(
        self,
        splits: tuple[Sources, Sources, Sources],
        source_writing: Writing,
        target_writing: Writing,
        min_count: int,
        notes: Sequence[str],
    ) -> None:
        check_positive("min_count", min_count)
        trained, *held_out = splits
        train = [(source, each) for source, targets in trained.items() for each in targets]
        sets = [train, *map(_firsts, held_out)]
        sides = [
            _Side([[pair[side] for pair in pairs] for pairs in sets], min_count) for side in (0, 1)
        ]
        examples = sum(map(len, sets))
        require_memory(
            f"{examples:,} pairs of up to {sides[0].width:,} and {sides[1].width:,} symbols",
            sum(BYTES_A_SYMBOL * examples * s.width + BYTES_A_NAME * len(s.vocab) for s in sides),
        )
        self.train, self.validation, self.test = (
            sequence_batch(source, target)
            for source, target in zip(sides[0].ids(), sides[1].ids(), strict=True)
        )
        self.spec = replace(
            sequence_spec(sides[0].vocab, sides[1].vocab, self.train, self.test),
            source_writing=source_writing,
            target_writing=target_writing,
            unknown=FIRST,
        )
        self.references = tuple(
            tuple(target_writing.join(target) for target in targets)
            for targets in splits[-1].values()
        )
        self.overlap = len(sets[-1]) / len(train)
        told = (side.note(name) for side, name in zip(sides, ("source", "target"), strict=True))
        self.notes = (*notes, *filter(None, told))


class _Side:
    """The sources or the targets of all sets, and the vocabulary that training gives them."""

    def __init__(self, sets: Sequence[Sequence[Symbols]], min_count: int) -> None:
        counted = Counter(symbol for text in sets[0] for symbol in text)
        self.vocab = (UNKNOWN, *sorted(s for s, count in counted.items() if count >= min_count))
        self.width = max(len(text) for texts in sets for text in texts)
        self._ids = {symbol: FIRST + place for place, symbol in enumerate(self.vocab)}
        self._sets = sets
        self._trained = any(count < min_count for count in counted.values())

    def ids(self) -> Iterable[Int[Tensor, "examples width"]]:
        """Yield the ids of each set, all padded to the same width."""
        for texts in self._sets:
            rows = [[self._ids.get(symbol, FIRST) for symbol in text] for text in texts]
            yield torch.tensor([row + [PAD] * (self.width - len(row)) for row in rows])

    def note(self, name: str) -> str | None:
        """Return a sentence on test symbols that are not in the vocabulary, None if all are."""
        tested = [symbol for text in self._sets[-1] for symbol in text]
        unknown = sum(symbol not in self._ids for symbol in tested)
        if not unknown:
            return None
        untrained = "" if self._trained else ", which is not in training: min_count=2 trains it"
        return (
            f"{unknown:,} of {len(tested):,} {name} symbols of the test set are read as "
            f"{UNKNOWN}{untrained}"
        )


def gathered(pairs: Iterable[tuple[Symbols, Symbols]]) -> dict[Symbols, list[Symbols]]:
    """Return the different targets of each source, in the order in which they come."""
    targets: dict[Symbols, dict[Symbols, None]] = {}
    for source, target in pairs:
        targets.setdefault(source, {})[target] = None
    return {source: list(own) for source, own in targets.items()}


def drawn(sources: Sources, sizes: Sequence[int], generator: torch.Generator) -> list[Sources]:
    """Return sets of this many sources, drawn at random, and a last set with the remaining sources.

    The first sets do not depend on the sizes of the later ones.
    """
    names = list(sources)
    order = torch.randperm(len(names), generator=generator)
    parts = order.split([*sizes, len(names) - sum(sizes)])
    return [{names[place]: sources[names[place]] for place in part.tolist()} for part in parts]


def number_of_pairs(sources: Sources) -> int:
    """Return the number of different pairs of a source and a target."""
    return sum(map(len, sources.values()))


def _firsts(sources: Sources) -> list[tuple[Symbols, Symbols]]:
    return [(source, targets[0]) for source, targets in sources.items()]

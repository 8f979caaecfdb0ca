"""The base of data sets in which keys come again with the values that an example stated before."""

from abc import abstractmethod
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Int
from torch import Tensor

from attnexp.core.batch import Batch
from attnexp.data.sequences import (
    EOS,
    FIRST,
    PAD,
    Sequences,
    check_least,
    check_memory,
    given_batch,
    numbered,
    sequence_spec,
)


@dataclass(eq=False, repr=False)
class RepeatedPairs(Sequences):
    """Reads keys and values as a language model does, and asks for the values that come again.

    A sequence states pairs of a key and a value. If a key comes again, its value comes again too,
    and each symbol of that value is due at the symbol before it. The decoder's input is given: the
    queries are the sequence without its last symbol, and the source is the end symbol alone. There
    is no gold alignment, because the place of the value is among the queries, and an alignment
    names places in the source.

    A subclass draws sequences of at most `length` symbols in `draw`. Of `vocab_size` symbols half,
    rounded down, are keys (k0, k1, ...) and the others values (0, 1, ...); their ids follow each
    other from `FIRST`. Other settings are fields of the subclass, whose `__post_init__` checks them
    before it calls this one.

    A sequence that was drawn before is drawn again, so that the three sets are disjoint.

    Raises ValueError for a set without examples, for examples that do not fit in memory, and for
    more examples than there are different ones. That counts as proven if as many draws as there are
    examples find no new one.
    """

    floors = ("exact_match", "token_accuracy")

    num_train: int = 12_800
    num_test: int = 1_280
    length: int = 128
    vocab_size: int = 16

    def __post_init__(self, generator: torch.Generator) -> None:
        check_least("vocab_size", self.vocab_size, 2, "half are keys and half values")
        sizes, symbols = self.set_sizes(), self.symbols()
        check_memory(sum(sizes), self.length, shapes=1)
        rows, repeats = self._distinct(sum(sizes), generator)
        self.train, self.validation, self.test = (
            _batch(own, marks)
            for own, marks in zip(rows.split(sizes), repeats.split(sizes), strict=True)
        )
        self.spec = sequence_spec(symbols, symbols, self.train, self.test)

    @property
    def num_keys(self) -> int:
        """The number of symbols that are keys: half of `vocab_size`, rounded down."""
        return self.vocab_size // 2

    @property
    def num_values(self) -> int:
        """The number of symbols that are values: the rest of `vocab_size`."""
        return self.vocab_size - self.num_keys

    def symbols(self) -> list[str]:
        """Return the vocabulary without special symbols: keys, then values, then others."""
        return [*numbered(self.num_keys, "k{}".format), *numbered(self.num_values)]

    @abstractmethod
    def draw(
        self, examples: int, generator: torch.Generator
    ) -> tuple[Int[Tensor, "examples length"], Bool[Tensor, "examples length"]]:
        """Return sequences of ids, and whether each symbol belongs to a value that was told before.

        Sequences are padded with PAD at their end. Each sequence has a symbol of a value that was
        told before, and its first symbol is none.
        """

    def _distinct(
        self, count: int, generator: torch.Generator
    ) -> tuple[Int[Tensor, "count length"], Bool[Tensor, "count length"]]:
        rows, repeats = self.draw(count, generator)
        found = _first_rows(rows)
        while len(found) < count:
            more, marks = self.draw(count, generator)
            rows = torch.cat([rows[found], more])
            repeats = torch.cat([repeats[found], marks])
            known, found = len(found), _first_rows(rows)
            if len(found) == known:
                raise ValueError(
                    f"num_train + num_validation + num_test is {count}, but {count} draws found no "
                    f"example beyond {known} different ones: ask for fewer examples or allow more"
                )
        return rows[found[:count]], repeats[found[:count]]


def check_even_length(length: int) -> None:
    """Raise ValueError for a length that is odd or below 4, that of two pairs of two symbols."""
    if length % 2 or length < 4:
        raise ValueError(
            f"length must be even and at least 4, because pairs of two symbols are stated and told "
            f"again, got {length}"
        )


def first_places(codes: Int[Tensor, "examples places"]) -> Int[Tensor, "examples places"]:
    """Return, for each place of a row, the first place with the same number."""
    ordered, places = codes.sort(dim=1, stable=True)
    begins = F.pad(ordered[:, 1:] != ordered[:, :-1], (1, 0), value=True)
    heads = (torch.arange(codes.shape[1]) * begins).cummax(dim=1).values
    return torch.empty_like(codes).scatter(1, places, places.gather(1, heads))


def one_symbol_pairs(
    noise: Bool[Tensor, "examples slots"],
    num_keys: int,
    num_values: int,
    generator: torch.Generator,
) -> tuple[Int[Tensor, "examples 2*slots"], Bool[Tensor, "examples 2*slots"]]:
    """Return sequences k v k v ..., and whether each symbol is a value that was told before.

    A slot holds a key and its value, or two places of PAD if it is `noise`. The key of the last
    slot is drawn from the different keys before it, the other keys are drawn from all; all draws
    are uniform. Neither the last slot nor all slots before it may be noise.
    """
    examples, slots = noise.shape
    keys = torch.randint(num_keys, (examples, slots), generator=generator)
    values = torch.randint(num_values, (examples, slots), generator=generator)
    place = torch.arange(slots)
    # each slot of noise has a number of its own, so that it repeats nothing
    first = first_places(keys[:, :-1].where(~noise[:, :-1], num_keys + place[:-1]))
    new = (first == place[:-1]) & ~noise[:, :-1]
    first = torch.cat([first, torch.multinomial(new.double(), 1, generator=generator)], dim=1)
    pairs = torch.stack(
        [FIRST + keys.gather(1, first), FIRST + num_keys + values.gather(1, first)], dim=2
    )
    repeats = torch.stack([torch.zeros_like(noise), first < place], dim=2)
    return pairs.masked_fill(noise[..., None], PAD).flatten(1), repeats.flatten(1)


def _batch(rows: Int[Tensor, "examples length"], repeats: Bool[Tensor, "examples length"]) -> Batch:
    length = rows.shape[1]
    most = int(repeats.sum(dim=1).max())
    places = torch.arange(length).where(repeats, length).sort(dim=1).values[:, :most]
    counts = places < length
    last = (rows != PAD).sum(dim=1, keepdim=True) - 1
    return given_batch(
        queries=rows.where(torch.arange(length) < last, PAD)[:, :-1],
        source=torch.full((len(rows), 1), EOS),
        target=rows.gather(1, places.clamp(max=length - 1)).where(counts, PAD),
        asked=(places - 1).where(counts, 0),
    )


def _first_rows(rows: Int[Tensor, "examples length"]) -> Int[Tensor, " different"]:
    """Return the indices of the rows that no earlier row equals, in ascending order."""
    different, of_row = rows.unique(dim=0, return_inverse=True)
    none = torch.full((len(different),), len(rows))
    return none.scatter_reduce(0, of_row, torch.arange(len(rows)), "amin").sort().values

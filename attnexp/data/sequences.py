"""The parts of sequence data sets: special symbols, drawing without repetition, batches.

Inside this package a sequence is a row of content ids with PAD after its end. `sequence_batch` adds
the symbols that mark a beginning and an end.
"""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from itertools import accumulate, takewhile
from types import MappingProxyType
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor

from attnexp.core.batch import Batch, Seq2SeqSpec
from attnexp.core.writing import SEPARATED, Characters, Spaced, Writing
from attnexp.data.base import Dataset
from attnexp.data.memory import require_memory
from attnexp.runs.summary import LENGTHS

SPECIALS = ("<pad>", "<bos>", "<eos>")
PAD, BOS, EOS = range(len(SPECIALS))
FIRST = len(SPECIALS)
"""The id of the first content symbol."""

MOST_DIGITS = 10**7
"""The most digits of all families together. The time to count examples grows with them."""

BYTES_A_SYMBOL, BYTES_A_NAME = 200, 150
"""The memory, in bytes, of a position of an example in all its tensors, and of a symbol's name."""

MOST_CODES = 2**62
"""The most rows of digits that get a code each, well within 63 bits."""


@dataclass(eq=False, repr=False)
class Sequences(Dataset):
    """Holds sets of `num_train`, `num_validation` and `num_test` sequences.

    A subclass is a dataclass whose fields are its settings, in the order of the constructor. Its
    `__post_init__` receives the generator and makes the sets.
    """

    generator: InitVar[torch.Generator]
    num_train: int = 10_000
    num_validation: int = 500
    num_test: int = 500
    spec: Seq2SeqSpec = field(init=False)

    def set_sizes(self) -> tuple[int, int, int]:
        """Return the numbers of examples of the three sets.

        Raises ValueError for a set without examples.
        """
        for name in ("num_train", "num_validation", "num_test"):
            check_positive(name, getattr(self, name))
        return self.num_train, self.num_validation, self.num_test


def sequence_spec(
    source_symbols: Sequence[str], target_symbols: Sequence[str], train: Batch, test: Batch
) -> Seq2SeqSpec:
    """Return the vocabularies and sizes that a model must know, the longest lengths in the sets.

    Source and target are written in the same way, which depends on the symbols of the source.
    """
    writing = _writing(source_symbols)
    return Seq2SeqSpec(
        source_vocab=(*SPECIALS, *source_symbols),
        target_vocab=(*SPECIALS, *target_symbols),
        max_source=train.keys.shape[1],
        max_target=train.queries.shape[1],
        pad=PAD,
        bos=BOS,
        eos=EOS,
        test_max_source=test.keys.shape[1],
        test_max_target=test.queries.shape[1],
        source_writing=writing,
        target_writing=writing,
    )


def _writing(symbols: Sequence[str]) -> Writing:
    """Return the way of writing texts in which these symbols can be told apart."""
    if " " in symbols:
        return Characters()
    return Spaced() if any("," in symbol for symbol in symbols) else SEPARATED


def sequence_batch(
    source: Int[Tensor, "examples source"],
    target: Int[Tensor, "examples target"],
    alignment: Int[Tensor, "examples target"] | None = None,
) -> Batch:
    """Return a batch of content ids, ended by EOS. Queries are the targets shifted behind BOS.

    `alignment` is the position in `source` that each target symbol was made from, or -1, which is
    also that of the end symbol. It is None if the data have no alignment.
    """
    source, target = _ended(source), _ended(target)
    return Batch(
        queries=torch.cat([torch.full_like(target[:, :1], BOS), target[:, :-1]], dim=1),
        keys=source,
        values=source,
        targets=target,
        mask=(source != PAD).unsqueeze(1),
        target_mask=target != PAD,
        alignment=None if alignment is None else F.pad(alignment, (0, 1), value=-1),
    )


def given_batch(
    queries: Int[Tensor, "examples queries"],
    source: Int[Tensor, "examples source"],
    target: Int[Tensor, "examples target"],
    asked: Int[Tensor, "examples target"],
    alignment: Int[Tensor, "examples target"] | None = None,
) -> Batch:
    """Return a batch of data that give the decoder's input: no answer is fed back or ended.

    Target t is due at place `asked`[t] of the queries. A target that is PAD does not count. For
    `alignment` see `sequence_batch`.
    """
    return Batch(
        queries=queries,
        keys=source,
        values=source,
        targets=target,
        mask=(source != PAD).unsqueeze(1),
        target_mask=target != PAD,
        alignment=alignment,
        asked=asked,
    )


def question_batch(
    source: Int[Tensor, "examples source"],
    target: Int[Tensor, " examples"],
    alignment: Int[Tensor, " examples"],
) -> Batch:
    """Return a batch of one question each: the query is BOS, and one target symbol is due there.

    `alignment` is the position in `source` that the target was made from.
    """
    asked = torch.zeros(len(source), 1, dtype=torch.int64)
    queries = torch.full_like(asked, BOS)
    return given_batch(queries, source, target.unsqueeze(1), asked, alignment.unsqueeze(1))


def split(whole: Batch, sizes: Sequence[int], generator: torch.Generator) -> list[Batch]:
    """Return the examples in random order, cut into sets of these sizes."""
    order = torch.randperm(len(whole), generator=generator)
    return [whole.select(index) for index in order.split(list(sizes))]


def stack(
    rows: Sequence[Int[Tensor, "_ _"]], width: int, fill: int = PAD
) -> Int[Tensor, "examples {width}"]:
    """Return blocks of sequences of different lengths as rows of one tensor, padded to `width`."""
    return torch.cat([F.pad(block, (0, width - block.shape[1]), value=fill) for block in rows])


def check_positive(name: str, value: int) -> None:
    """Raise ValueError for a setting below 1."""
    check_least(name, value, 1)


def check_least(name: str, value: int, least: int, because: str = "") -> None:
    """Raise ValueError for a setting below `least`. `because` is a clause with the reason."""
    if value < least:
        reason = f" because {because}," if because else ""
        raise ValueError(f"{name} must be at least {least},{reason} got {value}")


def ranges(
    name: str, low: int, high: int, test_low: int | None = None, test_high: int | None = None
) -> tuple[range, range | None]:
    """Return the numbers of training and those of the test set, None if they are the same.

    The arguments are the settings `min_NAME`, `max_NAME`, `test_min_NAME` and `test_max_NAME`. An
    end of the test set that is None is that of training.

    Raises ValueError for an empty range, and for a number below 1.
    """
    trained = _range(f"min_{name}", low, f"max_{name}", high)
    if test_low is None and test_high is None:
        return trained, None
    low = low if test_low is None else test_low
    high = high if test_high is None else test_high
    return trained, _range(f"test_min_{name}", low, f"test_max_{name}", high)


def ascending(name: str, numbers: Sequence[int] | None, what: str) -> list[int] | None:
    """Return the numbers of a setting in ascending order, each once; None for None.

    `what` is the word for one of the numbers.

    Raises ValueError for an empty list, and for a number below 1.
    """
    if numbers is None:
        return None
    if not numbers:
        raise ValueError(f"{name} must name at least one {what}, got none")
    check_positive(name, min(numbers))
    return sorted(set(numbers))


def every_length(trained: Sequence[int], tested: Sequence[int] | None) -> list[int]:
    """Return the lengths of training, followed by those of the test set unless they are None."""
    return [*trained, *(tested or [])]


def notes_on_lengths(
    tested: Sequence[int] | None, symbols: Callable[[int], int], what: str
) -> tuple[str, ...]:
    """Return a note on how many symbols sources of each test length have, none for None.

    `symbols` returns the number of symbols for a length, and `what` says what lengths count.
    """
    if tested is None:
        return ()
    asked = [str(length) for length in tested]
    found = [str(symbols(length)) for length in tested]
    if isinstance(tested, range) and len(tested) > 1:
        asked, found = ([f"{each[0]} to {each[-1]}"] for each in (asked, found))
    first, *others = zip(found, asked, strict=True)
    told = [f"{first[0]} for {first[1]} {what}", *(f"{a} for {b}" for a, b in others)]
    return (LENGTHS + ", ".join(told),)


def _range(low_name: str, low: int, high_name: str, high: int) -> range:
    check_positive(low_name, low)
    if low > high:
        raise ValueError(
            f"{low_name} must be at most {high_name}, got {low_name} {low} and {high_name} {high}"
        )
    return range(low, high + 1)


def numbered(count: int, name: Callable[[int], str] = str) -> list[str]:
    """Return `count` symbols of a vocabulary, named after the numbers 0 to `count` - 1.

    Raises ValueError for more symbols than fit in memory.
    """
    require_memory(f"{count:,} symbols", BYTES_A_NAME * count)
    return [name(number) for number in range(count)]


def check_memory(examples: int, longest: int, shapes: int) -> None:
    """Raise ValueError for examples that do not fit in memory, or that are too many to count.

    `longest` is the number of symbols of the longest example, and `shapes` the number of different
    shapes, such as lengths.
    """
    if longest * shapes > MOST_DIGITS:
        raise ValueError(
            f"examples of up to {longest:,} symbols in {shapes:,} shapes are more than can be "
            f"counted: choose shorter ones, so that symbols x shapes is at most {MOST_DIGITS:,}"
        )
    require_memory(
        f"{examples:,} examples of up to {longest:,} symbols", BYTES_A_SYMBOL * examples * longest
    )


@dataclass(frozen=True)
class Families:
    """Examples that may be drawn, in families of one shape, such as a length.

    A family is a list of radices r_1, ..., r_n. Its members are the rows of digits (d_1, ..., d_n)
    with 0 <= d_i < r_i. `radices` holds the families by their shapes. `named` is what messages call
    them.
    """

    radices: Mapping[Any, Sequence[int]]
    named: str

    def sizes(self) -> dict[Any, int]:
        """Return the number of members of each family."""
        return {shape: math.prod(radices) for shape, radices in self.radices.items()}


def uniform(lengths: Sequence[int], symbols: int) -> Families:
    """Return the families of all sequences over this many symbols, by their lengths."""
    return Families(
        {length: [symbols] * length for length in lengths},
        f"lengths {lengths[0]} to {lengths[-1]} over {symbols} symbols",
    )


Drawn = Mapping[Any, Int[Tensor, "_ _"]]
"""The rows of digits that were drawn of each family, by its shape."""


def contents(drawn: Drawn) -> Int[Tensor, "examples longest"]:
    """Return the sequences that rows of digits of `uniform` families stand for, as content ids."""
    return stack([block + FIRST for block in drawn.values()], max(drawn))


def draw_apart(
    sizes: tuple[int, int, int], trained: Families, tested: Families, generator: torch.Generator
) -> tuple[Drawn, Drawn]:
    """Return rows for training and validation together, and others for the test set.

    The test set has the families `tested`. Each set is shared among its families as evenly as their
    sizes allow. The test set takes at most half of a family that training has too.

    Raises ValueError for sets with more examples than there are.
    """
    halves = {shape: size - size // 2 for shape, size in trained.sizes().items()}
    unseen = _shares("num_test", sizes[2], tested, halves, ", half of those that training has too,")
    known = _shares(
        "num_train + num_validation",
        sum(sizes[:2]),
        trained,
        unseen,
        ", without those of the test,",
    )
    rows = {
        shape: _distinct_rows(known.get(shape, 0) + unseen.get(shape, 0), digits, generator)
        for shape, digits in {**trained.radices, **tested.radices}.items()
    }
    fitted = {shape: rows[shape][:count] for shape, count in known.items()}
    return fitted, {shape: rows[shape][known.get(shape, 0) :] for shape in unseen}


def draw_distinct(total: int, families: Families, generator: torch.Generator) -> Drawn:
    """Return `total` different rows of digits, shared among families as evenly as sizes allow.

    The rows of a family are a uniform sample without repetition, so sets that are cut out of them
    are disjoint. A family that is too small for an even share, such as that of short sequences, is
    used up and leaves the rest to the larger ones.

    Raises ValueError if the families have fewer members than `total`.
    """
    shares = _shares("num_train + num_validation + num_test", total, families)
    return {
        shape: _distinct_rows(shares[shape], radices, generator)
        for shape, radices in families.radices.items()
    }


def _shares(
    asked: str,
    total: int,
    families: Families,
    taken: Mapping[Any, int] = MappingProxyType({}),
    but: str = "",
) -> dict[Any, int]:
    """Return how many examples each family gives to a set of `total`.

    `taken` has how many examples of a family are not available. Messages call the set `asked`, and
    the clause `but` says what is not available.

    Raises ValueError if fewer than `total` examples are available.
    """
    limits = {shape: size - taken.get(shape, 0) for shape, size in families.sizes().items()}
    there = sum(limits.values())
    if total > there:
        raise ValueError(
            f"{asked} is {total}, but {families.named}{but} make only {there} different examples: "
            "ask for fewer examples or allow more"
        )
    return dict(zip(limits, even_shares(total, list(limits.values())), strict=True))


def even_shares(total: int, limits: Sequence[int]) -> list[int]:
    """Return shares of `total`, none above its limit and otherwise equal up to one."""
    shares, left = [0] * len(limits), total
    for served, smallest in enumerate(sorted(range(len(limits)), key=limits.__getitem__)):
        shares[smallest] = min(limits[smallest], left // (len(limits) - served))
        left -= shares[smallest]
    return shares


def arranging(items: int, chosen: int) -> list[int]:
    """Return the radices of digits that choose some of `items` in order, see `arrangements`."""
    return [items - i for i in range(chosen)]


def arrangements(digits: Int[Tensor, "examples chosen"]) -> Int[Tensor, "examples chosen"]:
    """Return ordered choices without repetition out of some items, one for each row of digits.

    Digit i says which of the remaining items comes next, so of n items it is below n - i, as in
    `arranging`: the shuffle of Fisher and Yates with given draws. Different rows make different
    choices. Step i swaps place i with the place that it draws. Followed back from the last step,
    the item at a place is known without the other items, so their number does not matter.
    """
    drawn = digits + torch.arange(digits.shape[1])
    items = drawn.clone()
    for step in range(digits.shape[1] - 2, -1, -1):
        later = items[:, step + 1 :]
        later[later == drawn[:, step, None]] = step
    return items


def _ended(ids: Int[Tensor, "examples length"]) -> Int[Tensor, "examples length+1"]:
    lengths = (ids != PAD).sum(dim=1, keepdim=True)
    return F.pad(ids, (0, 1), value=PAD).scatter(1, lengths, EOS)


def _distinct_rows(
    count: int, radices: Sequence[int], generator: torch.Generator
) -> Int[Tensor, "count digits"]:
    """Return different rows of digits, all equally likely.

    Any two rows differ in their leading digits, as many as one code can hold. If there are more
    digits, two rows that differ only in the later ones are never drawn together. A fair draw would
    hold such a pair less than once in 10^12, for vocabularies below a million symbols.
    """
    leading = sum(1 for _ in takewhile(MOST_CODES.__ge__, accumulate(radices, operator.mul)))
    codes = _distinct_codes(count, radices[:leading], generator)
    columns = []
    for radix in radices[:leading]:
        columns.append(codes % radix)
        codes = codes // radix
    for radix in radices[leading:]:
        columns.append(torch.randint(radix, (count,), generator=generator))
    return torch.stack(columns, dim=1)


def _distinct_codes(
    count: int, radices: Sequence[int], generator: torch.Generator
) -> Int[Tensor, " count"]:
    """Return different rows of digits, each as one integer, in random order and all equally likely.

    Digits are drawn one by one, because PyTorch's integers below a large bound are not uniform.
    """
    size = math.prod(radices)
    if size <= 4 * count:
        return torch.randperm(size, generator=generator)[:count]
    pool = torch.empty(0, dtype=torch.int64)
    while len(pool) < count:
        fresh = torch.zeros(2 * count, dtype=torch.int64)
        for radix in reversed(radices):
            fresh = fresh * radix + torch.randint(radix, fresh.shape, generator=generator)
        pool = torch.cat([pool, fresh]).unique()
    return pool[torch.randperm(len(pool), generator=generator)[:count]]

"""The parts of sequence data sets: special symbols, drawing without repetition, batches.

Inside this package a sequence is a row of content ids with PAD after its end. `sequence_batch` adds
the symbols that mark a beginning and an end.
"""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor

from attnexp.batch import Batch, Seq2SeqSpec

SPECIALS = ("<pad>", "<bos>", "<eos>")
PAD, BOS, EOS = range(len(SPECIALS))
FIRST = len(SPECIALS)
"""Id of the first content symbol."""

MOST_CODES = 2**62
"""The most rows of digits that are numbered by one code, well within 63 bits."""


def sequence_spec(
    source_symbols: Sequence[str], target_symbols: Sequence[str], max_source: int, max_target: int
) -> Seq2SeqSpec:
    """Return the sizes that a model must know; `max_*` are given without the end symbol."""
    return Seq2SeqSpec(
        source_vocab=(*SPECIALS, *source_symbols),
        target_vocab=(*SPECIALS, *target_symbols),
        max_source=max_source + 1,
        max_target=max_target + 1,
        pad=PAD,
        bos=BOS,
        eos=EOS,
    )


def sequence_batch(
    source: Int[Tensor, "examples source"],
    target: Int[Tensor, "examples target"],
    alignment: Int[Tensor, "examples target"],
) -> Batch:
    """Return a batch of content ids, ended by EOS; queries are the targets shifted right after BOS.

    `alignment` is the position in `source` that each target symbol was made from, or -1. The end
    symbol was made from none.
    """
    source, target = _ended(source), _ended(target)
    return Batch(
        queries=torch.cat([torch.full_like(target[:, :1], BOS), target[:, :-1]], dim=1),
        keys=source,
        values=source,
        targets=target,
        mask=(source != PAD).unsqueeze(1),
        target_mask=target != PAD,
        alignment=F.pad(alignment, (0, 1), value=-1),
    )


def split(
    whole: Batch, sizes: tuple[int, int, int], generator: torch.Generator
) -> tuple[Batch, Batch, Batch]:
    """Return the examples in random order, cut into training, validation and test sets."""
    order = torch.randperm(len(whole), generator=generator)
    train, validation, test = (whole.select(index) for index in order.split(sizes))
    return train, validation, test


def stack(
    rows: Sequence[Int[Tensor, "_ _"]], width: int, fill: int = PAD
) -> Int[Tensor, "examples {width}"]:
    """Return sequences of several lengths as the rows of one tensor, filled up to `width`."""
    return torch.cat([F.pad(block, (0, width - block.shape[1]), value=fill) for block in rows])


def check_sizes(num_train: int, num_validation: int, num_test: int) -> None:
    """Raise ValueError for a set without examples."""
    sizes = {"num_train": num_train, "num_validation": num_validation, "num_test": num_test}
    for name, size in sizes.items():
        check_positive(name, size)


def check_positive(name: str, value: int) -> None:
    """Raise ValueError for a setting below 1."""
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}")


def check_range(low_name: str, low: int, high_name: str, high: int) -> None:
    """Raise ValueError unless 1 <= low <= high."""
    check_positive(low_name, low)
    if low > high:
        raise ValueError(
            f"{low_name} must be at most {high_name}, got {low_name} {low} and {high_name} {high}"
        )


def draw_distinct(
    total: int, families: Sequence[Sequence[int]], allowed: str, generator: torch.Generator
) -> list[Int[Tensor, "_ _"]]:
    """Return `total` different rows of digits, shared among families as evenly as sizes allow.

    A family is a list of radices r_1, ..., r_n. Its members are the rows (d_1, ..., d_n) with
    0 <= d_i < r_i, and those drawn are a uniform sample without repetition. Sets that are cut out
    of the drawn rows are therefore disjoint, and a family that is too small for an even share, such
    as that of short sequences, is used up and leaves the rest to the larger ones.

    Raises ValueError if the families have fewer members than `total`; `allowed` says in the message
    what they are.
    """
    rooms = [math.prod(radices) for radices in families]
    if total > sum(rooms):
        raise ValueError(
            f"num_train + num_validation + num_test is {total}, but {allowed} make only "
            f"{sum(rooms)} different examples: ask for fewer examples or allow more"
        )
    shares = even_shares(total, rooms)
    return [
        _distinct_rows(share, radices, generator)
        for share, radices in zip(shares, families, strict=True)
    ]


def even_shares(total: int, rooms: Sequence[int]) -> list[int]:
    """Return `total` cut into shares, none above its room and otherwise equal up to one."""
    shares, left = [0] * len(rooms), total
    for served, smallest in enumerate(sorted(range(len(rooms)), key=rooms.__getitem__)):
        shares[smallest] = min(rooms[smallest], left // (len(rooms) - served))
        left -= shares[smallest]
    return shares


def arrangements(
    digits: Int[Tensor, "examples chosen"], size: int
) -> Int[Tensor, "examples chosen"]:
    """Return ordered choices without repetition out of `size` items, one for each row of digits.

    The i-th digit, below size - i, says which of the remaining items comes next: the shuffle of
    Fisher and Yates with given draws. Different rows make different choices.
    """
    items = torch.arange(size).repeat(len(digits), 1)
    for place in range(digits.shape[1]):
        drawn = digits[:, place, None] + place
        here = items[:, place, None].clone()
        items[:, place, None] = items.gather(1, drawn)
        items.scatter_(1, drawn, here)
    return items[:, : digits.shape[1]]


def _ended(ids: Int[Tensor, "examples length"]) -> Int[Tensor, "examples length+1"]:
    lengths = (ids != PAD).sum(dim=1, keepdim=True)
    return F.pad(ids, (0, 1), value=PAD).scatter(1, lengths, EOS)


def _distinct_rows(
    count: int, radices: Sequence[int], generator: torch.Generator
) -> Int[Tensor, "count digits"]:
    """Return rows that differ in their leading digits, as many of these as a code can hold.

    Where those are not all digits, two rows that differ only in the others are never drawn
    together. A fair draw would hold such a pair less than once in 10^12, for vocabularies below a
    million symbols.
    """
    leading = 0
    while leading < len(radices) and math.prod(radices[: leading + 1]) <= MOST_CODES:
        leading += 1
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
    """Return different rows of digits in random order, each as one integer, all equally likely.

    Digits are drawn one by one, because PyTorch's integers below a large bound are uneven.
    """
    room = math.prod(radices)
    if room <= 4 * count:
        return torch.randperm(room, generator=generator)[:count]
    pool = torch.empty(0, dtype=torch.int64)
    while len(pool) < count:
        fresh = torch.zeros(2 * count, dtype=torch.int64)
        for radix in reversed(radices):
            fresh = fresh * radix + torch.randint(radix, fresh.shape, generator=generator)
        pool = torch.cat([pool, fresh]).unique()
    return pool[torch.randperm(len(pool), generator=generator)[:count]]

"""Text of the user's own: a file of sources and their targets."""

from collections.abc import Sequence
from types import MappingProxyType
from typing import Literal

import torch

from attnexp.core.batch import Seq2SeqSpec
from attnexp.core.writing import Characters, Spaced, Words, Writing, plain
from attnexp.data.pair_files import Column, Files, read_pairs, shown
from attnexp.data.sequences import check_positive
from attnexp.data.text_pairs import (
    RESERVED,
    Sources,
    Symbols,
    TextPairs,
    drawn,
    gathered,
    number_of_pairs,
)

LEVELS: dict[str, Writing] = {"character": Characters(), "word": Words(), "whitespace": Spaced()}


class Pairs(TextPairs):
    """source = one column of a file, target = another one of the same line.

    The file is as `attnexp.data.pair_files.read_pairs` says, in UTF-8 and any script; a
    list of two files are the columns 1 and 2. Text is put into Unicode's form NFC, with one space
    in place of each white space. `level` is the unit of a symbol.

    `validation` and `test` are shares of the sources, drawn by the seed; all targets of a source
    are in the same set. A set with a file of its own, `validation_path` or `test_path`, is that
    file, without the pairs that are in the sets before it: those of training, then of validation. A
    pair counts once, and one with an empty side or a side of more than `max_length` symbols is left
    out. At most `num_train` sources train, or all if it is None. `notes` says how many pairs were
    left out, and which columns of numbered ones are not used.

    Each path has a `sha256`, the digest of the content when the run was asked for, or two.

    Raises ValueError for a set without examples, for shares that are not between 0 and 1, for a
    symbol with the name of a special one, and for a file that does not hold pairs.
    """

    spec: Seq2SeqSpec
    packages = MappingProxyType({"regex": "attnexp[text]"})

    def __init__(
        self,
        generator: torch.Generator,
        path: Files,
        sha256: Files,
        source: Column = 1,
        target: Column = 2,
        level: Literal["character", "word", "whitespace"] = "word",
        validation: float = 0.1,
        test: float = 0.1,
        validation_path: Files | None = None,
        validation_sha256: Files | None = None,
        test_path: Files | None = None,
        test_sha256: Files | None = None,
        min_count: int = 1,
        max_length: int = 50,
        num_train: int | None = None,
    ) -> None:
        check_positive("max_length", max_length)
        check_positive("num_train", 1 if num_train is None else num_train)
        writing, notes = LEVELS[level], list[str]()

        def read(path: Files, sha256: Files | None) -> Sources:
            pairs, unused = read_pairs(path, sha256 or "", source, target)
            found, left_out = _sources(pairs, writing, max_length, shown(path))
            notes.extend([*unused, *left_out])
            return found

        whole = read(path, sha256)
        sizes = [
            0 if own_path else _size(name, share, len(whole))
            for name, share, own_path in (
                ("test", test, test_path),
                ("validation", validation, validation_path),
            )
        ]
        if len(whole) <= sum(sizes):
            raise ValueError(
                f"{shown(path)} has {len(whole)} different sources of up to {max_length} symbols, "
                f"and none is left for training after {sizes[1]} for validation and {sizes[0]} for "
                "the test"
            )
        tested, validated, rest = drawn(whole, sizes, generator)
        trained = drawn(rest, [min(num_train, len(rest))], generator)[0] if num_train else rest
        if validation_path:
            validated = _without(
                read(validation_path, validation_sha256), [trained], shown(validation_path), notes
            )
        if test_path:
            tested = _without(
                read(test_path, test_sha256), [trained, validated], shown(test_path), notes
            )
        super().__init__((trained, validated, tested), writing, writing, min_count, notes)
        if test_path:
            self.overlap = 0.0  # seeds do not split the test rows


def _sources(
    pairs: Sequence[tuple[str, str]], writing: Writing, max_length: int, path: str
) -> tuple[dict[Symbols, list[Symbols]], list[str]]:
    """Return the targets of each source of a file, and notes on the pairs that are left out.

    Raises ValueError for a symbol with the name of a special one, and if all pairs are left out.
    """
    cut = [(tuple(writing.split(plain(a))), tuple(writing.split(plain(b)))) for a, b in pairs]
    for pair in cut:
        if taken := RESERVED.intersection(pair[0] + pair[1]):
            raise ValueError(f"{path} holds {min(taken)}, which is the name of a special symbol")
    filled = [pair for pair in cut if all(pair)]
    short = [pair for pair in filled if max(map(len, pair)) <= max_length]
    if not short:
        raise ValueError(f"{path} has no pair of texts of 1 to {max_length} symbols")
    found = gathered(short)
    notes = []
    if empty := len(cut) - len(filled):
        notes.append(
            f"{empty:,} of {len(cut):,} pairs of {path} have an empty side and are left out"
        )
    if longer := len(filled) - len(short):
        notes.append(
            f"{longer:,} of {len(cut):,} pairs of {path} have a side of more than {max_length} "
            "symbols and are left out"
        )
    if again := len(short) - number_of_pairs(found):
        notes.append(
            f"{again:,} of {len(cut):,} pairs of {path} repeat another one and are left out"
        )
    return found, notes


def _size(name: str, share: float, sources: int) -> int:
    if not 0 < share < 1:
        raise ValueError(f"{name} must be a share between 0 and 1, got {share}")
    return max(1, round(share * sources))


def _without(sources: Sources, earlier: Sequence[Sources], path: str, notes: list[str]) -> Sources:
    """Return the pairs of a file that are in no earlier set. A note on the other pairs is added.

    Raises ValueError if all pairs are in earlier sets.
    """
    unseen = {
        source: [each for each in targets if not any(each in e.get(source, ()) for e in earlier)]
        for source, targets in sources.items()
    }
    kept = {source: targets for source, targets in unseen.items() if targets}
    if not kept:
        raise ValueError(f"every pair of {path} is in the training or validation data too")
    if seen := number_of_pairs(sources) - number_of_pairs(kept):
        notes.append(
            f"{seen:,} of {number_of_pairs(sources):,} pairs of {path} are in the training or "
            "validation data too and are left out"
        )
    return kept

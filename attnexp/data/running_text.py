"""A text of the user's own: windows of its characters, whose next one is to be predicted."""

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor

from attnexp.core.batch import Batch, Seq2SeqSpec
from attnexp.core.writing import Characters, plain
from attnexp.data.base import Dataset
from attnexp.data.memory import require_memory
from attnexp.data.sequences import (
    BOS,
    BYTES_A_SYMBOL,
    EOS,
    FIRST,
    PAD,
    check_positive,
    given_batch,
    sequence_spec,
    stack,
)
from attnexp.data.text_pairs import UNKNOWN
from attnexp.runs.sources import read_source
from attnexp.runs.text_files import as_text

TIMES = (1, 2, 4)
"""The lengths of test windows, as multiples of the length of training."""

BYTES_A_CHARACTER = 200
"""The memory, in bytes, that a character of a file takes while it is read and counted."""


class RunningText(Dataset):
    """x_1 ... x_L, consecutive characters of a file; the target is each next character.

    Language modelling by characters, as in Al-Rfou et al. (2019), section 2: the model sees a
    window alone, behind <bos>. It is the decoder's input, shifted by one, and the source is the end
    symbol alone, as in `MarkovChains`. The file is UTF-8, put into Unicode's form NFC with one
    space in place of each white space. `sha256` is the digest of its content, see
    `attnexp.runs.sources`.

    The validation and the test part are consecutive, each in one piece, at a place that is drawn by
    the seed; the rest of the text trains. `validation` and `test` are shares of the
    characters, rounded to whole windows. Each pass draws `num_train` windows of `length`
    characters, at places from the generator of the order of training; they may overlap, and none
    reaches into another part.

    The test part is cut into windows of L = `length`, 2 L and 4 L characters, three times the same
    characters. So all lengths have the same targets, and only what a window shows before them
    differs: in a longer one fewer characters come soon after its beginning.

    The vocabulary is the characters that occur at least `min_count` times in the training part;
    <unk> stands for all others, and a note counts those of the test part. `chance` has the bits a
    character of two models on the windows of L characters, by the counts n of the training part,
    with n characters and a vocabulary of S, <unk> included:

        unigram_bits   -log2 (n_s + 1) / (n + S)
        bigram_bits    -log2 (n_rs + 1) / (n_r + S), r the character before; the first of a window
                       by the unigram

    Raises ValueError for a length, a number or a count below 1, for shares that are not between 0
    and 1, and for a file that is not such a text, has fewer than two different characters, is too
    short or does not fit in memory.
    """

    spec: Seq2SeqSpec
    splits_rows: ClassVar[bool] = True

    def __init__(
        self,
        generator: torch.Generator,
        path: str,
        sha256: str,
        length: int = 64,
        num_train: int = 2_560,
        validation: float = 0.1,
        test: float = 0.1,
        min_count: int = 1,
    ) -> None:
        check_positive("length", length)
        check_positive("num_train", num_train)
        check_positive("min_count", min_count)
        text = _read(path, sha256)
        validated, tested = _sizes(path, len(text), length, validation, test)
        require_memory(
            f"windows of {length:,} characters",
            BYTES_A_SYMBOL * (num_train * length + validated + len(TIMES) * tested),
        )
        rest = len(text) - validated - tested
        before = int(torch.randint(rest + 1, (), generator=generator))
        behind = before + validated + tested
        counted = Counter(text[:before] + text[behind:])
        vocab = _vocabulary(counted, min_count)
        ids = {symbol: FIRST + place for place, symbol in enumerate(vocab)}
        self._length = length
        self._ids = torch.tensor([ids.get(symbol, FIRST) for symbol in text])
        self._starts = torch.cat(
            [
                torch.arange(max(0, before - length + 1)),
                torch.arange(behind, max(behind, len(text) - length + 1)),
            ]
        )
        test_part = self._ids[behind - tested : behind]
        self.train = self._draw(num_train, generator)
        self.validation = _batch(self._ids[before : behind - tested].view(-1, length))
        self.test = _batch(
            stack([test_part.view(-1, times * length) for times in TIMES], TIMES[-1] * length)
        )
        self.spec = replace(
            sequence_spec(vocab, vocab, self.train, self.test),
            source_writing=Characters(),
            target_writing=Characters(),
            unknown=FIRST,
        )
        self.overlap = tested / rest
        trained = [self._ids[:before].tolist(), self._ids[behind:].tolist()]
        self.chance = _chance(trained, test_part.view(-1, length).tolist(), len(vocab))
        self.notes = _notes_on_unknown(test_part, known=min(counted.values()) < min_count)

    def epoch(self, generator: torch.Generator) -> Batch:
        """Return new windows of the training part."""
        return self._draw(len(self.train), generator).to(self.train.queries.device)

    def _draw(self, examples: int, generator: torch.Generator) -> Batch:
        drawn = torch.randint(len(self._starts), (examples, 1), generator=generator)
        return _batch(self._ids[self._starts[drawn] + torch.arange(self._length)])


def _read(path: str, sha256: str) -> str:
    """Return the text of a file.

    Raises ValueError for a file that does not fit in memory, is not UTF-8, or has fewer than two
    different characters.
    """
    content = read_source(path, sha256)
    require_memory(path, BYTES_A_CHARACTER * len(content))
    text = plain(as_text(path, content))
    if len(set(text)) < 2:
        raise ValueError(f"{path} must hold at least two different characters, got {text[:1]!r}")
    return text


def _sizes(
    path: str, characters: int, length: int, validation: float, test: float
) -> tuple[int, int]:
    """Return the lengths of the validation and the test part.

    Raises ValueError for shares outside 0 to 1, and if less than two windows are left for training.
    """
    tested = _size("test", test, characters, TIMES[-1] * length)
    validated = _size("validation", validation, characters, length)
    if characters - validated - tested < 2 * length:
        raise ValueError(
            f"{path} has {characters:,} characters, too few for windows of length {length}: "
            f"{validated:,} are for validation and {tested:,} for the test, and training "
            f"requires {2 * length:,} more: lower data.length, data.test or data.validation"
        )
    return validated, tested


def _notes_on_unknown(test_part: Int[Tensor, " characters"], *, known: bool) -> tuple[str, ...]:
    """Return a note on the characters of the test part that are read as <unk>, none without any.

    `known` says that <unk> occurs in training.
    """
    unknown = int((test_part == FIRST).sum())
    if not unknown:
        return ()
    untrained = "" if known else ", which is not in training: min_count=2 trains it"
    told = f"{unknown:,} of {len(test_part):,} characters of the test part are read as {UNKNOWN}"
    return (told + untrained,)


def _vocabulary(counted: Counter[str], min_count: int) -> list[str]:
    """Return <unk> and the characters that occur at least `min_count` times.

    Raises ValueError if no character does.
    """
    vocab = [UNKNOWN, *sorted(s for s, count in counted.items() if count >= min_count)]
    if len(vocab) == 1:
        most = max(counted.values())
        raise ValueError(
            f"min_count must be at most {most:,}, the count of the most frequent character "
            f"that trains, got {min_count:,}"
        )
    return vocab


def _size(name: str, share: float, characters: int, window: int) -> int:
    if not 0 < share < 1:
        raise ValueError(f"{name} must be a share between 0 and 1, got {share}")
    return window * max(1, round(share * characters / window))


def _batch(rows: Int[Tensor, "windows longest"]) -> Batch:
    counts = rows != PAD
    return given_batch(
        queries=F.pad(rows[:, :-1], (1, 0), value=BOS).where(counts, PAD),
        source=torch.full((len(rows), 1), EOS),
        target=rows,
        asked=counts.cumsum(dim=1) - 1,
    )


def _chance(
    trained: Sequence[Sequence[int]], windows: Sequence[Sequence[int]], size: int
) -> dict[str, float]:
    """Return the bits per character of a unigram and a bigram model, with 1 added to each count."""
    singles = Counter(symbol for piece in trained for symbol in piece)
    pairs = Counter(pair for piece in trained for pair in pairwise(piece))
    befores = Counter(symbol for piece in trained for symbol in piece[:-1])
    total = singles.total()
    alone = {s: math.log2((total + size) / (singles[s] + 1)) for row in windows for s in row}
    behind = [
        math.log2((befores[r] + size) / (pairs[r, s] + 1))
        for row in windows
        for r, s in pairwise(row)
    ]
    return {
        "unigram_bits": statistics.fmean(alone[s] for row in windows for s in row),
        "bigram_bits": statistics.fmean([*(alone[row[0]] for row in windows), *behind]),
    }

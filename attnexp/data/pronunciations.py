"""English spelling to sound: a pronouncing dictionary."""

import re
from collections.abc import Sequence

import torch

from attnexp.core.batch import Seq2SeqSpec
from attnexp.core.writing import Characters, Spaced
from attnexp.data.memory import require_memory
from attnexp.data.pair_files import BYTES_A_BYTE
from attnexp.data.sequences import check_positive, check_sizes
from attnexp.data.text_pairs import TextPairs, drawn, gathered
from attnexp.runs.sources import read_source
from attnexp.runs.text_files import as_text

COMMENT = re.compile(r"\s#.*")

FURTHER = re.compile(r"\(\d+\)$")
"""The mark after a word that occurred before."""

STRESSED = re.compile(r"^([A-Z]{2})[012]$")
"""A vowel of ARPAbet with its stress. Other digits mean something else: 2 is a vowel of X-SAMPA."""

ARPABET = re.compile(r"(?!OY$)[A-Z]{2}[012]?")
"""A phoneme of ARPAbet and not of X-SAMPA, in which OY is a diphthong of German."""

PROBABILITY = re.compile(r"[-+]?(\d+\.\d*|\d+,\d+|[.,]\d+)(e[-+]?\d+)?|\d+e-\d+", re.IGNORECASE)
"""A number as the lexicons of Kaldi and MFA have between a word and its phonemes."""

COUNT = re.compile(r"[-+]?\d+(e\+?\d+)?", re.IGNORECASE)
"""A number that is a count or a rounded probability in front of ARPAbet, which has no digits alone.
In front of other phonemes it may be one itself."""


class Pronunciations(TextPairs):
    """source = the letters of a word, target = its phonemes, as in read -> R IY D.

    The dictionary is a file in the form of the CMU Pronouncing Dictionary: a line for each
    pronunciation, the word and then its phonemes in ARPAbet, with a number in brackets after a word
    that has occurred before. `stress` keeps the digits 0 to 2 behind the two capital letters of a
    vowel; other digits are part of a phoneme. Words of more than `max_length` letters or phonemes
    are left out.

    The sets are drawn by words. A word with several pronunciations is in one set alone; in the test
    set all of them are right. `num_train` counts words, too; the test set does not depend on it.

    Raises ValueError for a set without examples, more words than there are, and for a line that is
    not an entry.
    """

    spec: Seq2SeqSpec

    def __init__(
        self,
        generator: torch.Generator,
        path: str,
        sha256: str,
        num_train: int = 20_000,
        num_validation: int = 500,
        num_test: int = 2_000,
        stress: bool = False,
        min_count: int = 1,
        max_length: int = 25,
    ) -> None:
        check_sizes(num_train, num_validation, num_test)
        check_positive("max_length", max_length)
        words = gathered(_entries(path, sha256, stress))
        short = {
            word: sounds
            for word, sounds in words.items()
            if max(len(word), *map(len, sounds)) <= max_length
        }
        sizes = [num_test, num_validation, num_train]
        if sum(sizes) > len(short):
            raise ValueError(
                f"num_train + num_validation + num_test is {sum(sizes):,}, but {path} has only "
                f"{len(short):,} words of up to {max_length} letters and phonemes"
            )
        test, validation, train, _ = drawn(short, sizes, generator)
        notes = []
        if longer := len(words) - len(short):
            notes.append(
                f"{longer:,} of {len(words):,} words of {path} have more than {max_length} letters "
                "or phonemes and are left out"
            )
        super().__init__((train, validation, test), Characters(), Spaced(), min_count, notes)


def _entries(path: str, sha256: str, stress: bool) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return letters and phonemes of each entry. Raises ValueError for a line that is not one."""
    content = read_source(path, sha256)
    require_memory(path, BYTES_A_BYTE * len(content))
    entries = []
    for number, line in enumerate(as_text(path, content).splitlines(), start=1):
        if not line.strip() or line.startswith(";;;"):
            continue
        word, *sounds = COMMENT.sub("", line).split() or [""]
        letters = tuple(FURTHER.sub("", word))
        if not sounds or not letters:
            raise ValueError(
                f"{path}, line {number}: an entry is a word and its phonemes, as in "
                f"'read R IY1 D', got {line!r:.60}"
            )
        if number_in := _number_in(sounds):
            raise ValueError(
                f"{path}, line {number}: {number_in} is a number and not a phoneme: leave out such "
                f"columns, got {line!r:.60}"
            )
        plain = sounds if stress else [STRESSED.sub(r"\1", sound) for sound in sounds]
        entries.append((letters, tuple(plain)))
    return entries


def _number_in(sounds: Sequence[str]) -> str | None:
    """Return the first probability among phonemes, or a count in front of ARPAbet or of nothing.

    A digit alone may be a phoneme: French `eux` is `2` in X-SAMPA.
    """
    if COUNT.fullmatch(sounds[0]) and any(map(ARPABET.fullmatch, sounds)):
        return sounds[0]
    if all(len(sound) > 1 and sound.isdecimal() for sound in sounds):
        return sounds[0]
    return next(filter(PROBABILITY.fullmatch, sounds), None)

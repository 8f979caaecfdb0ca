"""Conversion of ids to text and of text to ids.

Text joins symbols by spaces, as in "3 1 4 1 5". A space that is itself a symbol of the source
cannot separate symbols; then every symbol is a character, and text joins them without anything
between, as in "3. May 2021".
"""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from attnexp.batch import Seq2SeqSpec


def symbols(ids: Int[Tensor, " length"], vocab: Sequence[str]) -> tuple[str, ...]:
    """Return the symbol of each id, special ones included: labels for an axis."""
    return tuple(vocab[number] for number in ids.tolist())


def source_text(ids: Int[Tensor, " length"], spec: Seq2SeqSpec) -> str:
    """Return the text of a source up to its end symbol, or all of it where there is none."""
    return _text(ids, spec.source_vocab, spec)


def target_text(ids: Int[Tensor, " length"], spec: Seq2SeqSpec) -> str:
    """Return the text of a target or an answer up to its end symbol, or all of it without one.

    Special symbols that a model put before the end are shown by name.
    """
    return _text(ids, spec.target_vocab, spec)


def encode_source(text: str, spec: Seq2SeqSpec) -> Int[Tensor, " length"]:
    """Return the ids of a typed source, the end symbol included.

    Commas separate symbols as spaces do, unless a symbol holds one.

    Raises ValueError for a text without symbols and for a symbol that is not in the vocabulary.
    """
    separator = _separator(spec)
    if separator and not any("," in symbol for symbol in spec.source_vocab):
        text = text.replace(",", " ")
    typed = text.split() if separator else list(text)
    special = {spec.pad, spec.bos, spec.eos}
    ids = {symbol: i for i, symbol in enumerate(spec.source_vocab) if i not in special}
    choices = f"the symbols are {', '.join(map(repr, ids))}"
    if not typed:
        raise ValueError(f"there is no symbol in {text!r}: {choices}")
    for symbol in typed:
        if symbol not in ids:
            raise ValueError(f"unknown symbol {symbol!r} in {text!r}: {choices}")
    return torch.tensor([ids[symbol] for symbol in typed] + [spec.eos])


def _text(ids: Int[Tensor, " length"], vocab: Sequence[str], spec: Seq2SeqSpec) -> str:
    numbers = ids.tolist()
    end = numbers.index(spec.eos) if spec.eos in numbers else len(numbers)
    return _separator(spec).join(vocab[number] for number in numbers[:end])


def _separator(spec: Seq2SeqSpec) -> str:
    return "" if " " in spec.source_vocab else " "

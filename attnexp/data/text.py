"""Conversion of ids to text and of text to ids, as the writings of a spec say."""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from attnexp.core.batch import Seq2SeqSpec
from attnexp.core.writing import Writing


def symbols(ids: Int[Tensor, " length"], vocab: Sequence[str]) -> tuple[str, ...]:
    """Return the symbol of each id, special symbols included, as labels of an axis."""
    return tuple(vocab[number] for number in ids.tolist())


def source_text(ids: Int[Tensor, " length"], spec: Seq2SeqSpec) -> str:
    """Return the text of a source up to its end symbol, or all of it if there is none."""
    return _text(ids, spec.source_vocab, spec.source_writing, spec)


def target_text(ids: Int[Tensor, " length"], spec: Seq2SeqSpec) -> str:
    """Return the text of a target or an answer up to its end symbol, or all of it without one.

    Special symbols that a model put before the end are shown by name.
    """
    return _text(ids, spec.target_vocab, spec.target_writing, spec)


def encode_source(text: str, spec: Seq2SeqSpec) -> Int[Tensor, " length"]:
    """Return the ids of a typed source, the end symbol included.

    Raises ValueError for a text without symbols, and for a symbol that is not in a vocabulary
    without an id for unknown ones.
    """
    typed, ids = spec.source_writing.split(text), _source_ids(spec)
    choices = f"the symbols are {', '.join(map(repr, ids))}"
    if not typed:
        raise ValueError(f"there is no symbol in {text!r}: {choices}")
    for symbol in typed if spec.unknown is None else ():
        if symbol not in ids:
            raise ValueError(f"unknown symbol {symbol!r} in {text!r}: {choices}")
    return torch.tensor([ids.get(symbol, spec.unknown) for symbol in typed] + [spec.eos])


def unknown_symbols(text: str, spec: Seq2SeqSpec) -> list[str]:
    """Return the symbols of a typed source that are not in the vocabulary, each once, in order."""
    known = _source_ids(spec)
    return [each for each in dict.fromkeys(spec.source_writing.split(text)) if each not in known]


def _source_ids(spec: Seq2SeqSpec) -> dict[str, int]:
    """Return the ids of the symbols that a typed source may have."""
    special = {spec.pad, spec.bos, spec.eos, spec.unknown}
    return {symbol: i for i, symbol in enumerate(spec.source_vocab) if i not in special}


def _text(
    ids: Int[Tensor, " length"], vocab: Sequence[str], writing: Writing, spec: Seq2SeqSpec
) -> str:
    numbers = ids.tolist()
    end = numbers.index(spec.eos) if spec.eos in numbers else len(numbers)
    return writing.join([vocab[number] for number in numbers[:end]])

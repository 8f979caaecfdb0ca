"""Greedy decoding: the answers to a split, and the answer to one source with its attention."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor

from attnexp.architectures.seq2seq import Seq2Seq
from attnexp.core.batch import Batch, Seq2SeqSpec
from attnexp.data.text import encode_source, target_text, unknown_symbols

PORTION = 512
"""The most examples that go through a model at once."""

PAIRS = 2**24
"""The most pairs of symbols that go through a model at once, so that long maps fit in memory."""


@dataclass(frozen=True)
class Answer:
    """The answer of a model to a source, with its attention.

    `text` is the answer, and `ended` says whether it has an end symbol. `unknown` are the symbols
    of the source that the model does not know. `batch` holds the source, with the answer as if it
    were the target, and `weights` the attention on them.
    """

    text: str
    ended: bool
    unknown: list[str]
    batch: Batch
    weights: dict[str, Tensor]


@torch.no_grad()
def ask(model: Seq2Seq, spec: Seq2SeqSpec, source: str) -> Answer:
    """Decode the answer to a source greedily, up to twice the longest target of the data.

    The attention is that of a teacher-forced pass over the answer, which sees the same symbols.

    Raises ValueError for a source without symbols, and for symbols that are not in a vocabulary
    without `<unk>`.
    """
    ids = encode_source(source, spec).unsqueeze(0)
    mask = torch.ones(1, 1, ids.shape[1], dtype=torch.bool)
    written = model.greedy(ids, mask, 2 * spec.max_target)
    batch = Batch(
        queries=torch.cat([torch.full_like(written[:, :1], spec.bos), written[:, :-1]], dim=1),
        keys=ids,
        values=ids,
        targets=written,
        mask=mask,
        target_mask=torch.ones_like(written, dtype=torch.bool),
    )
    return Answer(
        text=target_text(written[0], spec),
        ended=bool((written == spec.eos).any()),
        unknown=unknown_symbols(source, spec),
        batch=batch,
        weights=dict(model(batch, need_weights=True).weights),
    )


def portions(whole: Batch) -> Iterator[Batch]:
    """Yield the examples of a batch in order, in portions.

    A portion has at most PORTION examples, and at most PAIRS pairs of symbols unless it is one
    example.
    """
    length = whole.keys.shape[1] + whole.queries.shape[1]
    size = max(1, min(PORTION, PAIRS // length**2))
    for first in range(0, len(whole), size):
        yield whole.select(slice(first, first + size))


def decode(
    model: Seq2Seq[Any], whole: Batch, spec: Seq2SeqSpec
) -> Int[Tensor, "batch target"] | None:
    """Return greedy answers, as wide as the targets; None if the data give the decoder's input."""
    if whole.asked is not None:
        return None
    return torch.cat([decode_together(model, part, spec) for part in portions(whole)])


def decode_together(
    model: Seq2Seq[Any], part: Batch, spec: Seq2SeqSpec
) -> Int[Tensor, "batch target"]:
    """Return greedy answers to all examples of a batch at once, as wide as the targets."""
    width = part.targets.shape[1]
    ids = model.greedy(part.keys, part.mask, width)
    return F.pad(ids, (0, width - ids.shape[1]), value=spec.pad)

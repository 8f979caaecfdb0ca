"""The contract of an encoder-decoder."""

from abc import abstractmethod
from typing import ClassVar, Generic, TypeVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attnexp.architectures.base import Architecture
from attnexp.core.batch import Seq2SeqSpec
from attnexp.scores.base import require_positive

State = TypeVar("State")

UNSEEN = 16
"""Symbols that a GPU decodes before the program asks it whether all sequences have ended."""


class Seq2Seq(Architecture, Generic[State]):
    """Reads a source sequence, then writes a target sequence one symbol at a time.

    `forward` is teacher-forced: `queries` are the target ids shifted right, beginning with `bos`,
    `keys` the source ids, and `mask` (batch, 1, source) is true on the source and false on the
    padding behind it. The outputs are logits over the target vocabulary. The weights have an entry
    `cross`, from decoder to encoder. If the batch says at which queries its targets are due
    (`asked`), there are logits, and rows of `cross`, for these alone: see `Batch.due`.

    Decoding computes the same function step by step: `encode` once per sequence, then `step` once
    per symbol. Training uses `forward`, which may compute all symbols at once. A state is a named
    tuple of tensors (a pytree) and is never modified: a step returns a new one.
    """

    whole: ClassVar[str] = "cross"
    """The entry of the weights that has `cross` as a part or is `cross` itself: its rows are whole,
    and sum to 1 if the normalizer's do."""

    def __init__(self, spec: Seq2SeqSpec) -> None:
        super().__init__()
        self.bos, self.eos, self.pad = spec.bos, spec.eos, spec.pad

    @abstractmethod
    def encode(
        self, source: Int[Tensor, "batch source"], mask: Bool[Tensor, "batch 1 source"]
    ) -> State:
        """Return the state before the first symbol. Keys are projected here, once."""

    @abstractmethod
    def step(
        self, ids: Int[Tensor, " batch"], state: State
    ) -> tuple[Float[Tensor, "batch target_vocab"], State]:
        """Return the logits of the symbol that follows `ids`, and the state after it."""

    @torch.no_grad()
    def greedy(
        self,
        source: Int[Tensor, "batch source"],
        mask: Bool[Tensor, "batch 1 source"],
        max_length: int,
    ) -> Int[Tensor, "batch target"]:
        """Return the likeliest symbol at each step, for the whole batch together.

        The answers are as wide as the longest, up to `max_length` symbols; an end symbol is
        followed by padding. Put the model in evaluation mode first. To ask a GPU whether all have
        ended means to wait for it, so the question comes only every `UNSEEN` symbols there. Symbols
        that were decoded in vain are cut off.

        Raises ValueError for a max_length below 1.
        """
        require_positive("max_length", max_length)
        state = self.encode(source, mask)
        ids = source.new_full(source.shape[:1], self.bos)
        done = torch.zeros_like(ids, dtype=torch.bool)
        written: list[Tensor] = []
        lengths = torch.zeros_like(ids)
        unseen = symbols_unseen(source.device)
        for number in range(max_length):
            if number % unseen == 0 and bool(done.all()):
                break
            logits, state = self.step(ids, state)
            ids = logits.argmax(dim=-1).masked_fill(done, self.pad)
            lengths += ~done
            done = done | (ids == self.eos)
            written.append(ids)
        return torch.stack(written, dim=-1)[:, : int(lengths.max())]


def symbols_unseen(device: torch.device) -> int:
    """Return the number of symbols that are decoded before asking whether all have ended."""
    return 1 if device.type == "cpu" else UNSEEN

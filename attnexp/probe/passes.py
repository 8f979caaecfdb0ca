"""Forward passes of a model with an intervention, over the examples of a split."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attnexp.architectures.base import Architecture
from attnexp.architectures.seq2seq import Seq2Seq
from attnexp.attention.base import is_signed
from attnexp.core.batch import Batch, Points, Seq2SeqSpec
from attnexp.core.errors import any_error_as, with_type
from attnexp.core.seeds import generator
from attnexp.probe.interventions import Intervention
from attnexp.probe.laws.base import Law, Rows
from attnexp.probe.rewriting import Rewrite, Site, rewriting
from attnexp.tasks.decoding import decode_together, portions

PAIRS = 2**24
"""The pairs of query and key of a regression that go through a model at once."""

TOGETHER = 2**16
"""The most pairs of query and key, over all draws, that go through a model at once."""

UNMOVED = 1e-6
"""A row is unchanged if no weight moves by more than this share of the row's absolute sum."""


@dataclass(frozen=True)
class Facts:
    """What is known of the rows of a part.

    `gold` is the gold key of each row, -1 without one. `counts` says which rows count: those of
    answers and of source symbols, and not those of padding.
    """

    gold: Int[Tensor, "batch rows"]
    counts: Bool[Tensor, "batch rows"]


@dataclass(frozen=True)
class SplitAnswers:
    """The answers of a model to a split: outputs under teacher forcing, and decoded answers.

    `unchanged` is the share of rows that the intervention left as they are, of the rows that count.
    Draws that were made together have this share in common.
    """

    outputs: Float[Tensor, "batch targets outputs"]
    decoded: Int[Tensor, "batch targets"] | None
    unchanged: float


class Pass:
    """One forward pass over a batch with an intervention.

    `rows` counts the rows that the intervention was applied to, `unchanged` those that it left as
    they are. An attention may ask for its rows all at once or, in a recurrence and in decoding, one
    by one.

    `number` is the portion of the split, from 0. `repetitions` are the draws: the batch has the
    same examples once for each. `signed` says that the weights of the model may be negative.
    """

    def __init__(
        self,
        intervention: Intervention,
        facts: Mapping[str, Facts],
        number: int = 0,
        repetitions: Sequence[int] = (0,),
        signed: bool = False,
    ) -> None:
        self.signed = signed
        self.intervention = intervention
        self.facts = facts
        self.keys = [(repetition, number) for repetition in repetitions]
        self.rows = self.unchanged = 0

    def at(self, site: Site) -> Rewrite:
        """Return the function that rewrites the weights of an attention, row after row."""
        if not self.intervention.at(site):
            return lambda weights, valid: weights
        facts = self.facts.get(site.part)
        come = 0

        def rewrite(
            weights: Float[Tensor, "batch heads queries keys"],
            valid: Bool[Tensor, "batch heads queries keys"],
        ) -> Float[Tensor, "batch heads queries keys"]:
            nonlocal come
            first, come = come, come + weights.shape[-2]
            gold = None if facts is None else _rows(facts.gold, first, come, -1)

            def random() -> Tensor:
                shape = (len(weights) // len(self.keys), *weights.shape[1:])
                streams = (f"intervention {key} {site.layer} {first}" for key in self.keys)
                drawn = [torch.rand(shape, generator=generator(0, stream)) for stream in streams]
                return torch.cat(drawn).to(weights)

            rows = Rows(weights, valid, gold, random, self.signed)
            found = _replaced(self.intervention.law, rows).to(weights.dtype)
            heads = torch.arange(weights.shape[1], device=weights.device)[:, None]
            chosen = heads == (heads if self.intervention.head is None else self.intervention.head)
            found = found.where(chosen.unsqueeze(-1), weights)
            counts = chosen.expand(weights.shape[:-1])
            if facts is not None:
                counts = counts & _rows(facts.counts, first, come, False)[:, None]
            same = (found - weights).abs().amax(dim=-1) <= UNMOVED * weights.abs().sum(dim=-1)
            self.rows += int(counts.sum())
            self.unchanged += int((same & counts).sum())
            return found

        return rewrite


def _replaced(law: Law, rows: Rows) -> Tensor:
    """Return the weights that a law puts in place of rows.

    Raises RequestError for a law that fails, and for weights of another shape.
    """
    with any_error_as(f"the law {type(law).__name__} failed", with_type):
        found = law.replace(rows)
        if found.shape != rows.weights.shape:
            raise ValueError(f"weights of {[*rows.weights.shape]} became {[*found.shape]}")
    return found


def answers(
    model: Architecture,
    batch: Batch,
    spec: Any,
    intervention: Intervention | None = None,
    free: bool = True,
) -> SplitAnswers:
    """Return the answers of a model to a batch, with the first draw of an intervention or none.

    With `free`, answers are decoded too, unless the data give the decoder its input.
    """
    (found,) = _together(model, batch, spec, intervention, (0,), free)
    return found


def draws(
    model: Architecture, batch: Batch, spec: Any, intervention: Intervention, free: bool = True
) -> Iterator[SplitAnswers]:
    """Yield the answers of a model with each draw of an intervention.

    If the examples are few, several draws go through the model at once, as copies of the examples.
    """
    several = 1
    if not isinstance(batch, Points):
        several = max(1, TOGETHER // (len(batch) * batch.keys.shape[1] * batch.queries.shape[1]))
    for first in range(0, intervention.repetitions, several):
        together = range(first, min(first + several, intervention.repetitions))
        yield from _together(model, batch, spec, intervention, together, free)


def _together(
    model: Architecture,
    batch: Batch,
    spec: Any,
    intervention: Intervention | None,
    repetitions: Sequence[int],
    free: bool,
) -> list[SplitAnswers]:
    """Return the answers of a model with each of several draws, which go through it at once."""
    several, rows, unchanged = len(repetitions), 0, 0
    outputs: list[list[Tensor]] = [[] for _ in repetitions]
    decoded: list[list[Tensor]] = [[] for _ in repetitions]
    for number, one in enumerate(parts(batch)):
        part = one if several == 1 else one.select(torch.arange(len(one)).repeat(several))
        forced = decoder = None
        if intervention is not None:
            at = intervention, facts_of(model, part), number, repetitions, is_signed(model)
            forced, decoder = Pass(*at), Pass(*at)
        with _during(model, forced):
            own = model(part, need_weights=True).outputs
        for found, each in zip(outputs, own.chunk(several), strict=True):
            found.append(each)
        if free and isinstance(model, Seq2Seq) and part.asked is None:
            with _during(model, decoder):
                ids = decode_together(model, part, cast(Seq2SeqSpec, spec))
            for found, each in zip(decoded, ids.chunk(several), strict=True):
                found.append(each)
        if forced is not None:
            rows, unchanged = rows + forced.rows, unchanged + forced.unchanged
    share = unchanged / rows if rows else 0.0
    along = 1 if isinstance(batch, Points) else 0
    return [
        SplitAnswers(torch.cat(own, dim=along), torch.cat(ids) if ids else None, share)
        for own, ids in zip(outputs, decoded, strict=True)
    ]


def _during(model: Architecture, own: Pass | None) -> AbstractContextManager[None]:
    return nullcontext() if own is None else rewriting(model, own.at)


def parts(batch: Batch) -> Sequence[Batch]:
    """Return the portions of a batch that go through the model together."""
    if isinstance(batch, Points):
        return list(batch.split_queries(PAIRS))
    return list(portions(batch))


def main_part(model: Architecture) -> str:
    """Return the name of the attention whose rows belong to the answers."""
    return model.whole if isinstance(model, Seq2Seq) else next(iter(model.attentions))


def facts_of(model: Architecture, batch: Batch) -> dict[str, Facts]:
    """Return what is known of the rows of each part of a model."""
    if not isinstance(model, Seq2Seq):
        return {main_part(model): Facts(_none(batch.target_mask), batch.target_mask)}
    shape = batch.queries.shape
    counts = batch.queries.new_zeros(shape, dtype=torch.bool)
    gold = batch.queries.new_full(shape, -1)
    places = batch.asked
    if places is None:
        places = torch.arange(shape[1], device=gold.device).expand(shape)
    asked = batch.target_mask
    rows = torch.arange(len(batch), device=gold.device)[:, None].expand_as(places)
    counts[rows[asked], places[asked]] = True
    if batch.alignment is not None:
        gold[rows[asked], places[asked]] = batch.alignment[asked]
    source = batch.mask.any(dim=1)
    return {
        "encoder": Facts(_none(source), source),
        "decoder": Facts(_none(counts), counts),
        "cross": Facts(gold, counts),
        "self": Facts(torch.cat([_none(source), gold], dim=1), torch.cat([source, counts], dim=1)),
    }


def _none(counts: Bool[Tensor, "batch rows"]) -> Int[Tensor, "batch rows"]:
    return torch.full_like(counts, -1, dtype=torch.int64)


def _rows(known: Tensor, first: int, last: int, missing: int | bool) -> Tensor:
    """Return the columns `first` to `last` of a tensor, with `missing` behind its end."""
    found = known[:, first:last]
    return F.pad(found, (0, last - first - found.shape[1]), value=missing)

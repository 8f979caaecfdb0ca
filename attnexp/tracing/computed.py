"""The content with which a page computes the answers of a trained run."""

from collections.abc import Sequence
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from attnexp.architectures.seq2seq import Seq2Seq
from attnexp.attention.base import is_signed
from attnexp.core.batch import Batch, DataColumn, Points, RegressionSpec, Seq2SeqSpec, in_units
from attnexp.core.errors import RequestError
from attnexp.core.language import Phrase
from attnexp.core.writing import SEPARATED, Characters, Separated, Spaced, Words, Writing
from attnexp.data.curve import Curve
from attnexp.data.text import symbols
from attnexp.report.page import (
    CurveModel,
    CurvePrograms,
    ForwardProgram,
    PageProgram,
    Scale,
    SequenceModel,
    SideWritings,
    SpecialIds,
    Units,
)
from attnexp.tracing.program import program_of, require_finite
from attnexp.tracing.trace import traced
from attnexp.training.prepared_run import PreparedRun

SPARE = 8
"""How many points a reader can add to a curve."""

ALONG = 120
"""The number of queries at which a curve is drawn."""

MOST_POINTS = 200
"""The most training points with which a page computes fast enough."""


WRITINGS: dict[type[Writing], str] = {
    Separated: "separated",
    Spaced: "spaced",
    Characters: "characters",
    Words: "words",
}
"""The writings that a page can read, with their names in writings.js."""


def computed(run: PreparedRun, label: Phrase, seed: int) -> CurveModel | SequenceModel:
    """Return what a page needs to compute the answers of a restored run: its programs and its data.

    Raises RequestError, with the reason, for a run that a page cannot compute.
    """
    spec = run.dataset.spec
    if isinstance(spec, RegressionSpec):
        return _of_curve(run, spec, label, seed)
    return _of_sequences(run, spec, label, seed)


def _of_curve(run: PreparedRun, spec: RegressionSpec, label: Phrase, seed: int) -> CurveModel:
    train = run.dataset.train
    if (spec.x_dim, spec.y_dim) != (1, 1):
        raise RequestError(f"it has {spec.x_dim} inputs and {spec.y_dim} outputs, not one of each")
    if train.keys.shape[1] > MOST_POINTS:
        raise RequestError(f"it has more than {MOST_POINTS} training points")
    keys, values = (F.pad(each[0], (0, 0, 0, SPARE)) for each in (train.keys, train.values))
    there = torch.arange(len(keys)) < train.keys.shape[1]
    x = torch.cat([train.keys[0], run.dataset.test.queries[0]])
    grid = torch.linspace(float(x.min()), float(x.max()), ALONG).unsqueeze(-1)
    fit = _program(run, _points(grid, keys, values, there.expand(1, -1)))
    left_out = _program(run, _points(keys, keys, values, there.expand(len(keys), -1)))
    return CurveModel(
        label,
        seed,
        CurvePrograms(fit, left_out),
        x=_numbers(in_units(train.keys[0], spec.x)),
        y=_numbers(in_units(train.values[0], spec.y)),
        grid=_numbers(in_units(grid, spec.x)),
        truth=_truth(run, grid),
        units=Units(_scale(spec.x, "x"), _scale(spec.y, "y")),
        slots=len(keys),
        main="pooling",
    )


def _truth(run: PreparedRun, grid: Tensor) -> list[float] | None:
    """Return the curve that the training points were drawn around, None if it is not known."""
    return _numbers(run.dataset.truth(grid[:, 0])) if isinstance(run.dataset, Curve) else None


def _scale(columns: Sequence[DataColumn], name: str) -> Scale:
    """Return how a page standardises a number, called `name` if the data have no columns."""
    if not columns:
        return Scale(name)
    (column,) = columns
    return Scale(column.name, column.mean, column.deviation)


def _points(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Points:
    return Points.of_rows(queries, queries, keys, values, mask.unsqueeze(0))


def _of_sequences(run: PreparedRun, spec: Seq2SeqSpec, label: Phrase, seed: int) -> SequenceModel:
    model, test = run.model, run.dataset.test
    if not isinstance(model, Seq2Seq):
        raise RequestError("its architecture does not decode")
    if test.asked is not None:
        raise RequestError("its data give the decoder its input, so a source alone has no answer")
    writings = SideWritings(_writing_name(spec.source_writing), _writing_name(spec.target_writing))
    place, first = _first_source(test, spec)
    source = max(spec.max_source, spec.test_max_source)
    target = max(spec.max_target, spec.test_max_target)
    program = _program(run, _padded(test, spec, source, target))
    special = {spec.pad, spec.bos, spec.eos, spec.unknown}
    return SequenceModel(
        label,
        seed,
        ForwardProgram(program),
        source,
        target,
        list(spec.source_vocab),
        list(spec.target_vocab),
        typed=[i for i in range(len(spec.source_vocab)) if i not in special],
        ids=SpecialIds(spec.pad, spec.bos, spec.eos, spec.unknown),
        writings=writings,
        first=first,
        gold=None if test.alignment is None else test.alignment[place].tolist(),
        main=model.whole,
        signed=is_signed(model),
    )


def _writing_name(writing: Writing) -> str:
    """Return the name of a writing in writings.js.

    Raises RequestError for a class of writing that a page does not know.
    """
    if type(writing) not in WRITINGS:
        known = ", ".join(each.__name__ for each in WRITINGS)
        raise RequestError(f"its texts are made by {type(writing).__name__}, not by one of {known}")
    return WRITINGS[type(writing)]


def _first_source(test: Batch, spec: Seq2SeqSpec) -> tuple[int, str]:
    """Return the index and the text of the first test source that can be typed as it is.

    That is one whose text is split into its symbols again. The text has spaces between symbols if
    they would run together without, as in Japanese. It is empty if there is no such source.
    """
    for place, ids in enumerate(test.keys):
        own = symbols(ids[: _length(ids, spec)], spec.source_vocab)
        for text in (spec.source_writing.join(own), SEPARATED.join(own)):
            if own and tuple(spec.source_writing.split(text)) == own:
                return place, text
    return 0, ""


def _length(ids: Tensor, spec: Seq2SeqSpec) -> int:
    """Return the number of symbols before the end symbol."""
    return int((ids != spec.eos).long().cumprod(dim=0).sum())


def _padded(test: Batch, spec: Seq2SeqSpec, source: int, target: int) -> Batch:
    """Return the first test example, padded to the longest source, and an answer just begun."""
    first = test.select(slice(0, 1))
    behind = max(0, source - first.keys.shape[1])
    keys = F.pad(first.keys, (0, behind), value=spec.pad)[:, :source]
    queries = first.queries.new_full((1, target), spec.pad)
    queries[:, 0] = spec.bos
    return replace(
        first,
        queries=queries,
        keys=keys,
        values=keys,
        targets=queries,
        mask=F.pad(first.mask, (0, behind))[..., :source],
        target_mask=torch.ones_like(queries, dtype=torch.bool),
        alignment=None,
    )


def _program(run: PreparedRun, batch: Batch) -> PageProgram:
    graph = traced(run.model, batch)
    require_finite(run.model, graph)
    return program_of(graph)


def _numbers(tensor: Tensor) -> list[float]:
    return [float(f"{number:.6g}") for number in tensor.flatten().tolist()]

"""The floor of a metric: what is reached without reading any key.

Rivals that are blind to keys answer the test set. What they must know of answers, they learn from
the training part:

| rival | its answer |
|---|---|
| `ANY` | one of all answers, at random |
| `TOLD` | one of the values told so far, at random |
| `EACH_ONCE` | the same, but none that it has answered with before; of exact match alone |
| `COMMONEST_TOLD` | the value told most often so far, the first of them if several were |
| `PLACE` | the symbol at the place of the input that in training has the answer most often |
| `COMMONEST` | the commonest answer of training to the symbol of the query |
| `OWN` | the guess that the data define |

A value told is a symbol of the source, or of the decoder's input up to the query if the data give
it, that is an answer in training. Symbols of source and target are the same if their names are.
`COMMONEST_TOLD` leaves out the symbol of the query itself if no answer of training is equal to its
query. `PLACE` learns a place for each place of a query, in source and input as one sequence, which
every architecture knows. If it is right in all of training, the place is the key of the task, and
reading it is no rival.

A floor is the best of several numbers with the noise of one test set, so it is a little too high
where rivals are close, and never fitted on test answers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import NamedTuple, cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attnexp.core.batch import Batch, Seq2SeqSpec
from attnexp.data.base import Dataset
from attnexp.data.sequences import PAD

ANY = "a guess among all answers"
TOLD = "a guess among the values told"
EACH_ONCE = "a guess among the values told, none twice"
COMMONEST_TOLD = "the commonest value told so far"
PLACE = "the answer by its place"
COMMONEST = "the commonest answer"
OWN = "the guess of the data"

_Index = tuple[Int[Tensor, " asked"], ...]

FITTED = 4_000
"""The most training examples from which `PLACE` learns: its time grows with length^2."""


class Floor(NamedTuple):
    """The value that a metric reaches without a key, and the rival that reaches it."""

    value: float
    rival: str


@dataclass(frozen=True)
class Rivals:
    """The answers of the rivals to the test set of some data.

    - `right` holds, by the name of a rival, the probability that each of its answers is right.
    - `due` says which answers count.
    - `metrics` are the metrics of the data that have a floor.
    - `own` holds the metrics of the guess that the data define.
    """

    right: Mapping[str, Float[Tensor, "examples targets"]]
    due: Bool[Tensor, "examples targets"]
    metrics: Sequence[str]
    own: Mapping[str, float]

    @classmethod
    def of(cls, dataset: Dataset) -> "Rivals":
        """Return the answers of the rivals on some data, none if no metric has a floor."""
        train, test = _Split.of(dataset, dataset.train), _Split.of(dataset, dataset.test)
        right: dict[str, Float[Tensor, "examples targets"]] = {}
        if dataset.floors:
            answers = train.targets[train.due].unique()
            right = {
                ANY: torch.isin(test.targets, answers).double() / len(answers),
                **_told(train, test),
                PLACE: _by_place(train.first(FITTED), test),
                COMMONEST: _commonest(train, test),
            }
        return cls(right, test.due, dataset.floors, dataset.chance)

    def floors(self) -> dict[str, Floor]:
        """Return the floor of each metric that has one, reached by the best rival on the test set.

        An answer of several symbols is right if all its symbols are. The end symbol counts as
        right.
        """
        if not self.metrics:
            return {}
        measured = {name: _metrics(right, self.due) for name, right in self.right.items()}
        del measured[EACH_ONCE]["token_accuracy"]
        measured[OWN] = dict(self.own)
        return {
            metric: max(
                (Floor(found[metric], name) for name, found in measured.items() if metric in found),
                key=attrgetter("value"),
            )
            for metric in self.metrics
        }

    def exact_match(self, rival: str, rows: Bool[Tensor, " examples"]) -> float:
        """Return the exact match of a rival on some examples, such as those of one length."""
        return _metrics(self.right[rival][rows], self.due[rows])["exact_match"]


@dataclass(frozen=True)
class _Split:
    """The questions of a split, and what is read before each question.

    All symbols have their ids in the vocabulary of the targets. `due` is true for answers but the
    end symbol. `read` is the source, followed by the decoder's input if the data give it; PAD takes
    the place of what is no symbol of the targets. `places` are the places of the queries in `read`,
    or behind it, and `queries` are the symbols at these places.
    """

    targets: Int[Tensor, "examples targets"]
    due: Bool[Tensor, "examples targets"]
    places: Int[Tensor, "examples targets"]
    queries: Int[Tensor, "examples targets"]
    read: Int[Tensor, "examples width"]

    @classmethod
    def of(cls, dataset: Dataset, batch: Batch) -> "_Split":
        """Return the questions of a batch of the data, on the CPU."""
        spec, batch = cast(Seq2SeqSpec, dataset.spec), batch.to(torch.device("cpu"))
        ids = {symbol: place for place, symbol in enumerate(spec.target_vocab)}
        known = torch.tensor([ids.get(symbol, PAD) for symbol in spec.source_vocab])
        read, asked = known[batch.keys], torch.arange(batch.targets.shape[1])
        asked = asked.expand_as(batch.targets) if batch.asked is None else batch.asked
        begin: int | Tensor = max(spec.max_source, spec.test_max_source)
        if batch.asked is not None:
            begin = batch.mask.any(dim=1).sum(dim=1, keepdim=True)
            behind = begin + torch.arange(batch.queries.shape[1])
            read = F.pad(read, (0, behind.shape[1])).scatter(1, behind, batch.queries)
        return cls(
            targets=batch.targets,
            due=batch.target_mask & (batch.targets != spec.eos),
            places=begin + asked,
            queries=batch.queries.gather(1, asked),
            read=read,
        )

    def first(self, count: int) -> "_Split":
        """Return the questions of the first `count` examples."""
        return _Split(*(getattr(self, field.name)[:count] for field in fields(self)))

    def asked(self) -> Iterator[tuple[Int[Tensor, "asked seen"], _Index]]:
        """Yield what is read up to each place of a query, and which answers are due there."""
        for place in self.places[self.due].unique().tolist():
            index = (self.due & (self.places == place)).nonzero(as_tuple=True)
            yield self.read[index[0], : place + 1], index


def _metrics(
    right: Float[Tensor, "examples targets"], due: Bool[Tensor, "examples targets"]
) -> dict[str, float]:
    """Return the metrics of answers, given the probability that each one is right."""
    return {
        "exact_match": float(right.where(due, 1.0).prod(dim=1).mean()),
        "token_accuracy": float(right[due].mean()),
    }


def _told(train: _Split, test: _Split) -> dict[str, Float[Tensor, "examples targets"]]:
    """Return the probabilities of being right of the rivals that answer with a value told.

    For `EACH_ONCE` the probability is that given that all answers before are right.
    """
    rivals = (TOLD, EACH_ONCE, COMMONEST_TOLD)
    right = {name: torch.zeros(test.targets.shape, dtype=torch.float64) for name in rivals}
    size = 1 + max(int(ids.max()) for ids in (test.read, test.targets))
    is_value = torch.isin(test.read, train.targets[train.due])
    told = replace(test, read=test.read.where(is_value, PAD))
    apart = not (train.queries == train.targets)[train.due].any()
    same = test.targets.unsqueeze(1) == test.targets.unsqueeze(2)
    before = same.tril(diagonal=-1).sum(dim=2)
    for seen, index in told.asked():
        counts = torch.zeros(len(seen), size, dtype=torch.float64)
        counts = counts.scatter_add_(1, seen, (seen != PAD).double())
        target, query = (ids[index][:, None] for ids in (test.targets, test.queries))
        own, count = counts.gather(1, target)[:, 0], counts.sum(dim=1)
        right[TOLD][index] = own / count.clamp(min=1)
        left = (own - before[index]).clamp(min=0)
        right[EACH_ONCE][index] = left / (count - index[1]).clamp(min=1)
        others = counts.scatter(1, query, 0.0) if apart else counts
        most = others.amax(dim=1, keepdim=True)
        first = ((others.gather(1, seen) == most) & (most > 0)).byte().argmax(dim=1, keepdim=True)
        right[COMMONEST_TOLD][index] = (seen.gather(1, first) == target)[:, 0].double()
    return right


def _by_place(train: _Split, test: _Split) -> Float[Tensor, "examples targets"]:
    """Return whether each answer of `PLACE` is right, as 0 or 1.

    The rival answers with the symbol at the place that has the answer most often in training. All
    are 0 if that place always has the answer in training: it is then the key of the task.
    """
    best, missed = {}, 0
    for seen, index in train.asked():
        hits = (seen == train.targets[index][:, None]).sum(dim=0)
        best[train.places[index][0].item()] = int(hits.argmax())
        missed += len(seen) - int(hits.max())
    right = torch.zeros(test.targets.shape, dtype=torch.float64)
    for seen, index in test.asked():
        place = best.get(test.places[index][0].item())
        if missed and place is not None:
            right[index] = (seen[:, place] == test.targets[index]).double()
    return right


def _commonest(train: _Split, test: _Split) -> Float[Tensor, "examples targets"]:
    """Return whether the commonest training answer to each query's symbol is right, as 0 or 1."""
    size = int(max(train.targets.max(), test.targets.max())) + 1
    codes, counts = (train.queries * size + train.targets)[train.due].unique(return_counts=True)
    ascending = codes[counts.argsort(stable=True)].tolist()
    answer = {code // size: code % size for code in ascending}
    given = torch.tensor([answer.get(query, PAD) for query in test.queries.flatten().tolist()])
    return (given.view_as(test.targets) == test.targets).double()

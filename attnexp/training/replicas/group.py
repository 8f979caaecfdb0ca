"""Many runs in one program: models of the same shapes train along a leading axis of replicas.

`torch.func.vmap` maps the forward pass and the loss over stacked parameters and stacked batches,
and one ordinary backward pass goes through all of it. Each run keeps its own data and their order,
clipping of the gradient, validation, best parameters and end.

On a CPU with one thread a replica has the same bits in any row, next to any number of other
replicas. Three things ensure this:

- The last row of every stack is a copy of a replica, whose numbers are thrown away. A matrix
  product of a single row would be rounded differently, and so would the last numbers of a tensor,
  which a processor computes one by one and not as a vector. A lone run has this copy too.
- Matrix products do not depend on where their operands lie in memory: `attnexp` sets MKL to do so.
- No row waits for another: a loop until all rows have converged does not change the rows that have.

The exception is a function, such as a sigmoid, of fewer than 16 numbers per replica.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.optim import Optimizer

from attnexp.core.batch import Batch
from attnexp.runs.summary import error_text
from attnexp.training.base import Epoch, NotReplicableError
from attnexp.training.early_stopping import ParameterMotion
from attnexp.training.graphs import Captured, CudaRecorder, Work
from attnexp.training.loop import EpochLosses, RunProgress, are_finite, portions
from attnexp.training.optimizers import OwnOptimizer, is_elementwise
from attnexp.training.prepared_run import PreparedRun
from attnexp.training.replicas.fused_attention import FoldedAttention
from attnexp.training.replicas.optimizer import SharedOptimizer, clip
from attnexp.training.replicas.structure import attributes, registered_tensors, state_of
from attnexp.training.state import State

Entry = TypeVar("Entry")


@dataclass(frozen=True)
class StackedBatch:
    """The tensors of a batch of each replica, with an axis of replicas before all others."""

    tensors: dict[str, Tensor]

    def __len__(self) -> int:
        return len(next(iter(self.tensors.values()))[0])

    def parts(self) -> dict[str, Tensor]:
        """Return the stacked tensors by name."""
        return self.tensors

    def with_parts(self, parts: Mapping[str, Tensor]) -> "StackedBatch":
        """Return a stacked batch of these tensors."""
        return StackedBatch(dict(parts))


@dataclass(frozen=True)
class Replica:
    """A run of a group, and its number among the runs from which the group was made.

    `rate` is the learning rate before the schedule. `rules` are all settings of the optimizer as
    text: runs with equal rules share an optimizer.
    """

    number: int
    run: PreparedRun
    progress: RunProgress
    optimizer: Optimizer | OwnOptimizer
    rate: float
    rules: str


class Replicas:
    """Runs that train together: each has a row in every stacked tensor.

    All runs must have the same `structure`. `states` are results of `state`, one for each run and
    all after the same number of updates; without them the runs begin.

    Raises NotReplicableError if the forward pass or the loss cannot be mapped over replicas, such
    as those of a score that branches on its numbers or draws at random, and for an optimizer that
    is not known to update each number by itself.
    """

    def __init__(self, runs: Sequence[PreparedRun], states: Sequence[State] = ()) -> None:
        self._first = runs[0]
        for run, state in zip(runs, states, strict=bool(states)):
            run.model.load_state_dict(state["model"])
            run.order.set_state(state["order"])
        self._size = self._first.settings.batch_size or len(self._first.dataset.train)
        self._whole: tuple[Batch, StackedBatch] | None = None
        self._dropped: set[int] = set()
        named = self._first.model.named_parameters()
        self._trained = [name for name, parameter in named if parameter.requires_grad]
        replicas = [self._replica(number, run) for number, run in enumerate(runs)]
        self._replicas = sorted(replicas, key=lambda replica: replica.rules)
        tensors = _rows([state_of(replica.run.model) for replica in self._replicas])
        stacks = {name: torch.stack([each[name] for each in tensors]) for name in tensors[0]}
        self._stacks = [nn.Parameter(stacks.pop(name)) for name in self._trained]
        fixed = registered_tensors(self._first.model).keys() & stacks.keys()
        self._fixed = {name: stacks.pop(name) for name in fixed}
        self._plain = stacks
        self._require_map()
        self._optimizers = {
            replica.rules: SharedOptimizer(replica.optimizer, self._parameters(replica))
            for replica in self._replicas
        }
        self._share(dict.fromkeys(self._optimizers))
        self._motion = ParameterMotion(self._values(), self._first.settings.tolerance)
        self._longest = torch.zeros(0)  # the longest gradient of each row in an epoch
        if states:
            self._load_states([states[replica.number] for replica in self._replicas])

    def fit(
        self, before_epoch: Callable[[], None] = lambda: None
    ) -> Iterator[tuple[int, Epoch | Exception | None]]:
        """Train the models in place, and yield the row of each epoch with the number of its run.

        After the last row of a run, None is yielded, or the error that ended the run.
        `before_epoch` is called before each epoch, after the last one has ended for every run.
        """
        for replica in self._replicas:
            if replica.progress.over:  # it was interrupted after its last epoch
                self._end(replica)
                yield replica.number, None
        while self._remove_dropped():
            before_epoch()
            updates = math.ceil(len(self._first.dataset.train) / self._size)
            losses, factor = EpochLosses(updates), 1.0
            self._longest = self._stacks[0].new_zeros(len(self._stacks[0]))
            self._first.model.train()
            for batch in self._portions():
                progress = self._replicas[0].progress
                if progress.step == progress.planned:
                    break
                factor = self._first.schedule(progress.step, progress.planned)
                losses.add(self._update(batch, factor))
            ceased, finite = self._motion.has_ceased(), are_finite(self._values())
            own_losses, norms = losses.values().cpu(), self._longest.tolist()
            for row, replica in enumerate(self._replicas):
                own = own_losses[row], factor, ceased[row], norms[row], finite[row]
                for event in self._end_epoch(replica, *own):
                    yield replica.number, event

    def fit_one(self) -> Iterator[Epoch]:
        """Train the model of a group of one, and yield its epochs. Raises the error of the run."""
        for _, event in self.fit():
            if isinstance(event, Exception):
                raise event
            if event is not None:
                yield event

    def state(self, number: int) -> State:
        """Return a run's state after an epoch: all that the rest of its training depends on."""
        row = next(row for row, each in enumerate(self._replicas) if each.number == number)
        replica = self._replicas[row]
        return {
            "model": replica.run.model.state_dict(),
            "optimizer": self._optimizers[replica.rules].state(row),
            "motion": self._motion.state(row),
            "order": replica.run.order.get_state(),
            **replica.progress.state(),
        }

    def _load_states(self, states: Sequence[State]) -> None:
        """Continue from states, in the order of the rows."""
        for replica, state in zip(self._replicas, states, strict=True):
            replica.progress.load_state(state)
        self._motion.load_states([state["motion"] for state in _rows(states)])
        for optimizer in self._optimizers.values():
            optimizer.load_states([state["optimizer"] for state in states])

    def drop(self, number: int) -> None:
        """Go on without a run, whose model gets copies of its parameters."""
        if number not in self._dropped:
            self._dropped.add(number)
            for replica in self._replicas:
                if replica.number == number:
                    for parameter in self._parameters(replica):
                        parameter.data = parameter.data.clone()

    def _end_epoch(
        self,
        replica: Replica,
        losses: Float[Tensor, " updates"],
        factor: float,
        ceased: bool,
        norm: float,
        finite: bool,
    ) -> Iterator[Epoch | Exception | None]:
        try:
            yield replica.progress.end_epoch(losses, replica.rate * factor, ceased, norm, finite)
            if replica.number in self._dropped:
                return
            replica.progress.require_finite(replica.rate)
        except Exception as error:  # only of this run
            self.drop(replica.number)
            yield error
        else:
            if replica.progress.over:
                self._end(replica)
                yield None

    def _end(self, replica: Replica) -> None:
        """Drop a run that is over, and give its model the parameters of its best epoch."""
        self.drop(replica.number)
        replica.progress.best.restore()

    def _update(self, batch: StackedBatch, factor: float) -> Float[Tensor, " rows"]:
        """Update all parameters once, and return the losses before the update."""
        losses = self._gradient(batch)
        gradients = [stack.grad for stack in self._stacks if stack.grad is not None]
        if self._first.settings.clip_norm is not None:
            norms = clip(gradients, self._first.settings.clip_norm)
            self._longest = torch.maximum(self._longest, norms)
        for optimizer in self._optimizers.values():
            optimizer.update(self._stacks, factor, losses)
        for replica in self._replicas:
            replica.progress.step += 1
        return losses

    def _gradient_of_stacks(self) -> Work:
        """Return the computation of losses and gradients, on a GPU as one CUDA graph."""
        device = self._stacks[0].device
        if device.type != "cuda" or not self._first.config["graphs"]:
            return self._loss_and_gradient
        module = nn.ParameterList(self._stacks)
        recorder = CudaRecorder(module, device)
        return Captured("the gradient", self._loss_and_gradient, recorder, module)

    def _loss_and_gradient(self, batch: StackedBatch) -> Float[Tensor, " rows"]:
        for stack in self._stacks:
            stack.grad = None
        parameters = dict(zip(self._trained, self._stacks, strict=True))
        with torch.enable_grad(), FoldedAttention(), self._first.precision.autocast():
            mapped = vmap(self._loss)
            losses = mapped({**parameters, **self._fixed}, self._plain, batch.tensors)
            losses.sum().backward()
        return losses.detach()

    def _loss(
        self,
        registered: Mapping[str, Tensor],
        plain: Mapping[str, Tensor],
        tensors: Mapping[str, Tensor],
    ) -> Float[Tensor, ""]:
        """Return the loss of one replica, as `vmap` calls it."""
        batch = self._first.dataset.train.with_parts(tensors)
        with attributes(self._first.model, plain):
            prediction = functional_call(self._first.model, dict(registered), (batch,))
            return self._first.task.loss(prediction, batch)

    def _portions(self) -> Iterator[StackedBatch]:
        """Yield the batches of an epoch, stacked: a row has the examples of its own run."""
        wholes = [each.run.dataset.epoch(each.run.order) for each in self._replicas]
        if self._size >= len(self._first.dataset.train):
            if self._whole is None or self._whole[0] is not wholes[0]:
                self._whole = wholes[0], stacked(_rows(wholes))
            yield self._whole[1]
            return
        orders = [each.run.order for each in self._replicas]
        own = [
            portions(whole, self._size, order) for whole, order in zip(wholes, orders, strict=True)
        ]
        for batches in zip(*own, strict=True):
            yield stacked(_rows(batches))

    def _replica(self, number: int, run: PreparedRun) -> Replica:
        optimizer = run.optimizer(params=[run.model.get_parameter(name) for name in self._trained])
        kind = type(optimizer).__name__
        if not is_elementwise(optimizer) or optimizer.state:
            raise NotReplicableError(f"{kind} is not known to update each number by itself")
        groups = [
            {k: v for k, v in group.items() if k != "params"} for group in optimizer.param_groups
        ]
        return Replica(number, run, RunProgress(run), optimizer, groups[0]["lr"], repr(groups))

    def _require_map(self) -> None:
        try:
            some = [each.run.dataset.train.select(slice(self._size)) for each in self._replicas]
            self._loss_and_gradient(stacked(_rows(some)))
        except MemoryError:
            raise
        except Exception as error:
            reason = error_text(error).partition("\n")[0]
            raise NotReplicableError(
                f"its loss cannot be mapped over replicas ({reason})"
            ) from error

    def _parameters(self, replica: Replica) -> list[nn.Parameter]:
        return [replica.run.model.get_parameter(name) for name in self._trained]

    def _values(self) -> list[Tensor]:
        return [stack.detach() for stack in self._stacks]

    def _share(self, kept: Mapping[str, Int[Tensor, " rows"] | None]) -> None:
        """Let the models and the shared optimizers use the rows of the stacks.

        `kept` has, by the rules of each shared optimizer, the indices of its former rows that go
        on, None for all.
        """
        values = self._values()
        self._gradient = self._gradient_of_stacks()
        for row, replica in enumerate(self._replicas):
            for parameter, stack in zip(self._parameters(replica), values, strict=True):
                parameter.data = stack[row]
        start = 0
        for rules, group in groupby(self._replicas, lambda replica: replica.rules):
            stop = start + len(list(group))
            self._optimizers[rules].use_rows(values, slice(start, stop), kept[rules])
            start = stop

    def _remove_dropped(self) -> bool:
        """Remove the rows of the dropped runs, and return whether any runs remain."""
        if not self._dropped:
            return bool(self._replicas)
        stay = [row for row, each in enumerate(self._replicas) if each.number not in self._dropped]
        kept = {
            rules: torch.tensor([row for row, (place, _) in enumerate(group) if place in stay])
            for rules, group in groupby(enumerate(self._replicas), lambda pair: pair[1].rules)
        }
        self._replicas = [self._replicas[row] for row in stay]
        self._optimizers = {each.rules: self._optimizers[each.rules] for each in self._replicas}
        self._dropped.clear()
        if not stay:
            return False
        rows = torch.tensor(_rows(stay))
        self._whole = None
        self._stacks = [nn.Parameter(stack.detach()[rows]) for stack in self._stacks]
        self._fixed = {name: stack[rows] for name, stack in self._fixed.items()}
        self._plain = {name: stack[rows] for name, stack in self._plain.items()}
        self._share(kept)
        self._motion.keep(self._values(), rows)
        return True


def stacked(batches: Sequence[Batch]) -> StackedBatch:
    """Return batches as one, with an axis of replicas before all others."""
    fields = [batch.parts() for batch in batches]
    return StackedBatch({name: torch.stack([own[name] for own in fields]) for name in fields[0]})


def _rows(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries of the rows of a stack: one per replica, and a copy of the first."""
    return [*entries, entries[0]]

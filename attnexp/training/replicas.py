"""Many runs in one program: models of the same shapes train along a leading axis of replicas.

`torch.func.vmap` maps the forward pass and the loss over stacked parameters and stacked batches,
and one ordinary backward pass goes through all of it. What is a run's own stays its own: its data
and their order, the clipping of its gradient, its validation, its best parameters and its end.

On a CPU with one thread a replica has the same bits whoever the others are, however many, and
wherever it stands among them. Three things see to that:

- The last row of every stack is a copy of a replica, whose numbers are thrown away. A matrix
  product of one alone would be rounded otherwise, and so would the last numbers of a tensor, which
  a processor computes one by one and not as a vector. A lone run has this copy beside it.
- Matrix products do not depend on where their operands lie in memory: `attnexp` asks MKL for that.
- No row waits for another: a loop until all rows have converged leaves those alone that have.

What remains is a function such as a sigmoid of fewer than 16 numbers a replica.
"""

import math
import pickle
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.optim import Optimizer
from torch.overrides import TorchFunctionMode

from attnexp.batch import Batch
from attnexp.runs.summary import error_text
from attnexp.scores.base import Score
from attnexp.training.base import Epoch
from attnexp.training.early_stopping import ParameterMotion
from attnexp.training.loop import Course, EpochLosses, portions
from attnexp.training.optimizers import Rprop, is_elementwise
from attnexp.training.prepared import PreparedRun, trainable
from attnexp.training.state import State, load_optimizer_state

Entry = TypeVar("Entry")


class NotReplicableError(Exception):
    """A run cannot train as a replica. The message says why."""


@dataclass(frozen=True)
class Replica:
    """A run of a group, and its number among the runs that the group was made of.

    `rate` is the learning rate before the schedule; `rules` are all settings of the optimizer.
    """

    number: int
    run: PreparedRun
    course: Course
    optimizer: Optimizer | Rprop
    rate: float
    rules: str


class Replicas:
    """Runs that train together: each has a row in every stacked tensor.

    All runs have the same `likeness`. `left` are the states in which they were left, after the
    same number of updates; those of runs that begin are not given.

    Raises NotReplicableError where the forward pass or the loss cannot be mapped over replicas, as
    those of a score that decides by its numbers or draws at random, and for an optimizer that is
    not known to update each number by itself.
    """

    def __init__(self, runs: Sequence[PreparedRun], left: Sequence[State] = ()) -> None:
        self._first = runs[0]
        for run, state in zip(runs, left, strict=bool(left)):
            run.model.load_state_dict(state["model"])
            run.order.set_state(state["order"])
        self._size = self._first.settings.batch_size or len(self._first.dataset.train)
        self._whole: dict[str, Tensor] | None = None
        self._left: set[int] = set()
        named = self._first.model.named_parameters()
        self._trained = [name for name, parameter in named if parameter.requires_grad]
        replicas = [self._replica(number, run) for number, run in enumerate(runs)]
        self._replicas = sorted(replicas, key=lambda replica: replica.rules)
        states = _rows([state_of(replica.run.model) for replica in self._replicas])
        stacks = {name: torch.stack([state[name] for state in states]) for name in states[0]}
        self._stacks = [stacks.pop(name).requires_grad_() for name in self._trained]
        registered = {
            **dict(self._first.model.named_parameters()),
            **dict(self._first.model.named_buffers()),
        }
        self._fixed = {name: stacks.pop(name) for name in registered.keys() & stacks.keys()}
        self._plain = stacks
        self._require_map()
        self._optimizers = {
            replica.rules: SharedOptimizer(replica.optimizer, self._parameters(replica))
            for replica in self._replicas
        }
        self._share(dict.fromkeys(self._optimizers))
        self._motion = ParameterMotion(self._values(), self._first.settings.tolerance)
        if left:
            self._take_up([left[replica.number] for replica in self._replicas])

    def fit(
        self, before_epoch: Callable[[], None] = lambda: None
    ) -> Iterator[tuple[int, Epoch | Exception | None]]:
        """Train the models in place, and yield the row of each epoch with the number of its run.

        After the last row of a run comes None, or the error that ended it. `before_epoch` is
        called when all runs stand at the end of an epoch, or at the beginning.
        """
        for replica in self._replicas:
            if replica.course.over:  # it was left after its last epoch
                self._end(replica)
                yield replica.number, None
        while self._drop_left():
            before_epoch()
            updates = math.ceil(len(self._first.dataset.train) / self._size)
            losses, factor = EpochLosses(updates), 1.0
            self._first.model.train()
            for batch in self._portions():
                course = self._replicas[0].course
                if course.step == course.planned:
                    break
                factor = self._first.schedule(course.step / course.planned)
                losses.add(self._update(batch, factor))
            ceased = self._motion.has_ceased()
            for row, replica in enumerate(self._replicas):
                for event in self._end_epoch(replica, losses.values()[row], factor, ceased[row]):
                    yield replica.number, event

    def fit_one(self) -> Iterator[Epoch]:
        """Train the model of a group of one, and yield its epochs. Raises what ended it."""
        for _, event in self.fit():
            if isinstance(event, Exception):
                raise event
            if event is not None:
                yield event

    def state(self, number: int) -> State:
        """Return all that the rest of a run's training depends on, as it is after an epoch."""
        row = next(row for row, each in enumerate(self._replicas) if each.number == number)
        replica = self._replicas[row]
        return {
            "model": replica.run.model.state_dict(),
            "optimizer": self._optimizers[replica.rules].state(row),
            "motion": self._motion.state(row),
            "order": replica.run.order.get_state(),
            **replica.course.state(),
        }

    def _take_up(self, left: Sequence[State]) -> None:
        """Go on from states, in the order of the rows."""
        for replica, state in zip(self._replicas, left, strict=True):
            replica.course.take_up(state)
        self._motion.take_up([state["motion"] for state in _rows(left)])
        for optimizer in self._optimizers.values():
            optimizer.take_up([state["optimizer"] for state in left])

    def leave(self, number: int) -> None:
        """Give a run's model parameters of its own again, and go on without the run."""
        if number not in self._left:
            self._left.add(number)
            for replica in self._replicas:
                if replica.number == number:
                    for parameter in self._parameters(replica):
                        parameter.data = parameter.data.clone()

    def _end_epoch(
        self, replica: Replica, losses: Float[Tensor, " updates"], factor: float, ceased: bool
    ) -> Iterator[Epoch | Exception | None]:
        try:
            yield replica.course.end_epoch(losses, replica.rate * factor, ceased)
            if replica.number in self._left:
                return
            replica.course.require_finite(replica.rate)
        except Exception as error:  # of this run alone
            self.leave(replica.number)
            yield error
        else:
            if replica.course.over:
                self._end(replica)
                yield None

    def _end(self, replica: Replica) -> None:
        """Leave a run that is over with the parameters of its best epoch."""
        self.leave(replica.number)
        replica.course.best.restore()

    def _update(self, batch: dict[str, Tensor], factor: float) -> Float[Tensor, " rows"]:
        """Update all parameters once, and return the losses from before."""
        losses = self._loss_and_gradient(batch)
        gradients = [stack.grad for stack in self._stacks if stack.grad is not None]
        if self._first.settings.clip_norm is not None:
            clip(gradients, self._first.settings.clip_norm)
        for optimizer in self._optimizers.values():
            optimizer.update(self._stacks, factor, losses)
        for replica in self._replicas:
            replica.course.step += 1
        return losses

    def _loss_and_gradient(self, batch: dict[str, Tensor]) -> Float[Tensor, " rows"]:
        for stack in self._stacks:
            stack.grad = None
        parameters = dict(zip(self._trained, self._stacks, strict=True))
        with torch.enable_grad(), FoldedAttention(), self._first.precision.autocast():
            mapped = vmap(self._loss)
            losses = mapped({**parameters, **self._fixed}, self._plain, batch)
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

    def _portions(self) -> Iterator[dict[str, Tensor]]:
        """Yield the stacked batches of an epoch, each run's own in its row."""
        if self._size >= len(self._first.dataset.train):
            if self._whole is None:
                self._whole = stacked(_rows([each.run.dataset.train for each in self._replicas]))
            yield self._whole
            return
        own = [
            portions(each.run.dataset.train, self._size, each.run.order) for each in self._replicas
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
        course = Course(run.model, run.dataset, run.task, run.settings, run.precision.autocast)
        return Replica(number, run, course, optimizer, groups[0]["lr"], repr(groups))

    def _require_map(self) -> None:
        """Raise NotReplicableError where a trial shows that the loss cannot be mapped."""
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
        """Let models and optimizers use the rows of the stacks.

        `kept` says, by the rules of each optimizer, which of its former rows go on.
        """
        values = self._values()
        for row, replica in enumerate(self._replicas):
            for parameter, stack in zip(self._parameters(replica), values, strict=True):
                parameter.data = stack[row]
        start = 0
        for rules, group in groupby(self._replicas, lambda replica: replica.rules):
            stop = start + len(list(group))
            self._optimizers[rules].take(values, slice(start, stop), kept[rules])
            start = stop

    def _drop_left(self) -> bool:
        """Go on without the rows of the runs that have left, and return whether any are there."""
        if not self._left:
            return bool(self._replicas)
        stay = [row for row, each in enumerate(self._replicas) if each.number not in self._left]
        kept = {
            rules: torch.tensor([row for row, (place, _) in enumerate(group) if place in stay])
            for rules, group in groupby(enumerate(self._replicas), lambda pair: pair[1].rules)
        }
        self._replicas = [self._replicas[row] for row in stay]
        self._optimizers = {each.rules: self._optimizers[each.rules] for each in self._replicas}
        self._left.clear()
        if not stay:
            return False
        rows = torch.tensor(_rows(stay))
        self._whole = None
        self._stacks = [stack.detach()[rows].requires_grad_() for stack in self._stacks]
        self._fixed = {name: stack[rows] for name, stack in self._fixed.items()}
        self._plain = {name: stack[rows] for name, stack in self._plain.items()}
        self._share(kept)
        self._motion.keep(self._values(), rows)
        return True


class SharedOptimizer:
    """Updates a span of rows of the stacks: those of all runs whose optimizers have equal settings.

    It is the optimizer of one of these runs, given views of the stacks for its `parameters`. Where
    each number is updated by itself, each run gets what its own optimizer would have given it, to
    rounding: a fused update rounds the last few numbers of a tensor otherwise, and would give them
    to another run in each group, so that none is fused.
    """

    def __init__(self, optimizer: Optimizer | Rprop, parameters: Sequence[Tensor]) -> None:
        self._optimizer = optimizer
        for group in optimizer.param_groups:
            group.update(dict.fromkeys({"fused"} & group.keys(), False))
        self._parameters = list(parameters)
        self._rates = [group["lr"] for group in optimizer.param_groups]
        self._span = slice(0)

    def take(
        self, stacks: Sequence[Tensor], span: slice, kept: Int[Tensor, " rows"] | None
    ) -> None:
        """Go on with these rows of the stacks, whose state is that of the former rows `kept`."""
        views = [stack[span] for stack in stacks]
        now = dict(zip(self._parameters, views, strict=True))
        for group in self._optimizer.param_groups:
            group["params"] = [now[parameter] for parameter in group["params"]]
        for before in [*self._optimizer.state]:
            state = self._optimizer.state.pop(before)
            self._optimizer.state[now[before]] = {
                name: value[kept] if has_rows(value, before) else value
                for name, value in state.items()
            }
        self._parameters, self._span = views, span

    def state(self, row: int) -> list[State]:
        """Return what is remembered of the parameters of the run in a row of the stacks.

        What each run has for itself keeps an axis of one run.
        """
        own = row - self._span.start
        return [
            {
                name: value[own : own + 1] if has_rows(value, parameter) else value
                for name, value in self._optimizer.state.get(parameter, {}).items()
            }
            for group in self._optimizer.param_groups
            for parameter in group["params"]
        ]

    def take_up(self, left: Sequence[list[State]]) -> None:
        """Remember what is in these states, of which each row of the stacks has one."""
        own = left[self._span]
        load_optimizer_state(
            self._optimizer,
            [
                {
                    name: torch.cat([state[name] for state in states])
                    if states[0][name].dim()
                    else value
                    for name, value in states[0].items()
                }
                for states in zip(*own, strict=True)
            ],
        )

    def update(self, stacks: Sequence[Tensor], factor: float, loss: Any) -> None:
        """Update the rows by the gradients of the stacks, at `factor` times the learning rate.

        The optimizer wants a loss, and does nothing with it.
        """
        for group, rate in zip(self._optimizer.param_groups, self._rates, strict=True):
            group["lr"] = rate * factor
        for view, stack in zip(self._parameters, stacks, strict=True):
            view.grad = None if stack.grad is None else stack.grad[self._span]
        self._optimizer.step(lambda: loss)


def has_rows(value: Any, parameter: Tensor) -> bool:
    """Return whether an optimizer's value has a row for each row of its parameter."""
    return isinstance(value, Tensor) and value.shape == parameter.shape


class FoldedAttention(TorchFunctionMode):
    """Within the block, fused attention is computed for all replicas at once.

    PyTorch has no rule for mapping it, and would call it for one replica after the other. Here the
    axis of the replicas becomes part of the axis of the batch.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func is F.scaled_dot_product_attention:
            return _folded(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def _folded(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    attn_mask: Tensor | None,
    is_causal: bool,
    scale: float,
) -> Tensor:
    """Return fused attention, with an axis for each that the queries have in the mask as well."""
    if attn_mask is not None:
        missing = queries.dim() - attn_mask.dim()
        attn_mask = attn_mask[(None,) * missing].expand(len(queries), *[-1] * (queries.dim() - 1))
    attended: Tensor = _Folded.apply(queries, keys, values, attn_mask, is_causal, scale)
    return attended


class _Folded(torch.autograd.Function):
    @staticmethod
    def forward(*_: Any) -> Tensor:
        raise NotImplementedError("outside of torch.func.vmap")

    @staticmethod
    def setup_context(*_: Any) -> None:
        raise NotImplementedError("outside of torch.func.vmap")

    @staticmethod
    def vmap(info: Any, dims: Any, *inputs: Any) -> tuple[Tensor, int]:
        *tensors, mask, causal, scale = inputs

        def fold(tensor: Tensor, dim: int | None) -> Tensor:
            if dim is None:
                return tensor.expand(info.batch_size, *tensor.shape).flatten(0, 1)
            return tensor.movedim(dim, 0).flatten(0, 1)

        queries, keys, values = map(fold, tensors, dims[:3])
        folded_mask = None if mask is None else fold(mask, dims[3])
        attended = F.scaled_dot_product_attention(
            queries, keys, values, attn_mask=folded_mask, is_causal=causal, scale=scale
        )
        return attended.unflatten(0, (info.batch_size, -1)), 0


def clip(gradients: Sequence[Tensor], norm: float) -> None:
    """Scale the gradients of each row down to a norm, as `clip_grad_norm_` does for one model."""
    norms = [gradient.reshape(len(gradient), -1).norm(dim=1) for gradient in gradients]
    factor = (norm / (torch.stack(norms, dim=1).norm(dim=1) + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(factor.view(-1, *[1] * (gradient.dim() - 1)))


def stacked(batches: Sequence[Batch]) -> dict[str, Tensor]:
    """Return the fields of batches with an axis of replicas before all others."""
    fields = [batch.parts() for batch in batches]
    return {name: torch.stack([each[name] for each in fields]) for name in fields[0]}


def state_of(model: nn.Module) -> dict[str, Tensor]:
    """Return every tensor of a model by its path: parameters, buffers and plain attributes.

    The plain numbers of scores, such as the width of a kernel, are among them.
    """
    own = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    like = next(iter(own.values()))
    plain = {
        f"{path}.{name}": like.new_tensor(value) if isinstance(value, float) else value
        for path, module in model.named_modules()
        for name, value in vars(module).items()
        if isinstance(value, Tensor) or (isinstance(value, float) and isinstance(module, Score))
    }
    return {name: tensor.detach() for name, tensor in {**own, **plain}.items()}


def likeness(run: PreparedRun) -> Hashable:
    """Return what runs have in common that can train together, beside their settings.

    It is the shape of every tensor, and all that modules hold apart from tensors. The generators
    of modules may differ, because nothing that draws can be mapped.

    Raises NotReplicableError where there is nothing to train, and where a module holds something
    that cannot be compared.
    """
    if not trainable(run.model):
        raise NotReplicableError("it has nothing to train")
    base = vars(nn.Module()).keys()
    held = [
        (path, type(module), name, value)
        for path, module in run.model.named_modules()
        for name, value in vars(module).items()
        if name not in base and not isinstance(value, Tensor | torch.Generator)
        if not (isinstance(value, float) and isinstance(module, Score))
    ]
    try:
        plain = pickle.dumps(held)
    except Exception as error:
        raise NotReplicableError(f"its model cannot be compared ({error_text(error)})") from error
    tensors = {**state_of(run.model), **run.dataset.train.parts()}
    return plain, tuple((name, each.shape, each.dtype) for name, each in tensors.items())


@contextmanager
def attributes(model: nn.Module, plain: Mapping[str, Tensor]) -> Iterator[None]:
    """Set attributes of a model's modules, given by their paths, for the block."""
    before = []
    for key, tensor in plain.items():
        path, _, name = key.rpartition(".")
        module = model.get_submodule(path)
        before.append((module, name, getattr(module, name)))
        setattr(module, name, tensor)
    try:
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)


def _rows(entries: Sequence[Entry]) -> list[Entry]:
    """Return an entry for each row of a stack, the last of which is a copy."""
    return [*entries, entries[0]]

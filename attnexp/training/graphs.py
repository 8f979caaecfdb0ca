"""CUDA graphs: work on a batch that is recorded once, then launched as a whole."""

import logging
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.optim import Optimizer

from attnexp.core import console
from attnexp.training.optimizers import OwnOptimizer

log = logging.getLogger(__name__)

WARM_UPS = 2
"""The batches of each shape that are computed eagerly before the rehearsal."""

TOLERANCE = 1e-2
"""The largest relative difference of a replay from the eager work that counts as rounding.

bfloat16 sums in another order differ by as much. A graph that lacks a kernel, reads stale memory or
keeps an old learning rate differs by far more.
"""

Work = Callable[[Any], Float[Tensor, "*models"]]
"""A computation on `Parts`. State that the next call needs is in tensors, updated in place."""

Shapes = tuple[tuple[str, torch.Size], ...]


@runtime_checkable
class Parts(Protocol):
    """The input of work: a batch, or the batches of models that train together."""

    def __len__(self) -> int: ...

    def parts(self) -> dict[str, Tensor]:
        """Return the tensors of the input by name."""
        ...

    def with_parts(self, parts: Mapping[str, Tensor]) -> "Parts":
        """Return an input of the same kind with these tensors."""
        ...


class Captured:
    """Does the same work on every batch, as a CUDA graph for each shape of batch.

    The first WARM_UPS batches of a shape are worked on eagerly: PyTorch asks for this before a
    capture, because libraries set themselves up when they are first called. The next batch is a
    rehearsal, also eager, which finds work that waits for the GPU. On the batch after that the
    graph is recorded, which computes nothing, and compared with the eager work from the same state:
    loss, gradients and the changes of parameters must agree to rounding. The results of the eager
    work count. Later batches of the shape replay the graph.

    Work that waits for the GPU, cannot be recorded, or has a graph with other results stays eager
    from then on, which the terminal and the log say with `name`.

    The work may change the tensors of `model` and the state of `optimizer`, and draw from the
    generators of the model's modules.
    """

    def __init__(
        self,
        name: str,
        work: Work,
        recorder: "CudaRecorder",
        model: nn.Module,
        optimizer: Optimizer | OwnOptimizer | None = None,
    ) -> None:
        self._name = name
        self._work = work
        self._recorder = recorder
        self._model = model
        self._optimizer = optimizer
        self._eager = False
        self._seen: Counter[Shapes] = Counter()
        self._recorded: dict[Shapes, tuple[dict[str, Tensor], Callable[[], Tensor]]] = {}

    def __call__(self, batch: Parts) -> Float[Tensor, "*models"]:
        """Return the result of the work on a batch."""
        if self._eager:
            return self._work(batch)
        tensors = batch.parts()
        shapes = tuple((name, tensor.shape) for name, tensor in tensors.items())
        self._seen[shapes] += 1
        if self._seen[shapes] <= WARM_UPS:
            return self._recorder.warm_up(partial(self._work, batch))
        try:
            if self._seen[shapes] == WARM_UPS + 1:
                return self._recorder.rehearse(partial(self._work, batch))
            if shapes not in self._recorded:
                self._recorded[shapes] = self._record(batch)
                return self._compared(batch, self._recorded[shapes][1])
        except RuntimeError as error:
            self._stay_eager(error)
        # Not while the error is handled: its traceback keeps the tensors of the other stream.
        if self._eager:
            return self._work(batch)
        inputs, replay = self._recorded[shapes]
        for name, tensor in tensors.items():
            inputs[name].copy_(tensor)
        return replay()

    def _record(self, batch: Parts) -> tuple[dict[str, Tensor], Callable[[], Tensor]]:
        """Return the tensors that a graph reads, and the function that launches it."""
        inputs = {name: tensor.clone() for name, tensor in batch.parts().items()}
        replay = self._recorder.record(partial(self._work, batch.with_parts(inputs)))
        log.info("%s is a CUDA graph for batches of %d", self._name, len(batch))
        return inputs, replay

    def _compared(self, batch: Parts, replay: Callable[[], Tensor]) -> Tensor:
        """Replay the graph, undo that, do the work on the batch eagerly, and compare both.

        Returns the result of the eager work.
        """
        tensors = [*self._model.parameters(), *self._model.buffers()]
        state = [*tensors, *_state_tensors(self._optimizer)]
        before = [tensor.detach().clone() for tensor in state]
        generators = [(each, each.get_state()) for each in _generators(self._model)]

        def results(loss: Tensor) -> list[list[Tensor]]:
            gradients = [p.grad.clone() for p in self._model.parameters() if p.grad is not None]
            changes = [now.detach() - old for now, old in zip(tensors, before, strict=False)]
            return [[loss], gradients, changes]

        try:
            replayed = results(replay())
        finally:
            with torch.no_grad():
                for tensor, old in zip(state, before, strict=True):
                    tensor.copy_(old)
            for generator, drawn in generators:
                generator.set_state(drawn)
        loss = self._recorder.warm_up(partial(self._work, batch))
        pairs = zip(replayed, results(loss), strict=True)
        error = max(relative_difference(one, other) for one, other in pairs)
        if not error <= TOLERANCE:
            self._stay_eager(
                RuntimeError(f"its first replay differs from the eager work by {error:.2g}")
            )
        return loss

    def _stay_eager(self, error: RuntimeError) -> None:
        self._eager = True
        why = str(error).partition("\n")[0]
        log.info("%s cannot be recorded", self._name, exc_info=error)
        console.print_line(f"{self._name} runs without a CUDA graph: {why}")


class CudaRecorder:
    """Records a model's work on the GPU, its gradients included, as a CUDA graph.

    A graph repeats the work of kernels on memory, but not the work of Python. It draws from the
    generators that modules hold as attributes, and from the global one, as eager work does.
    """

    def __init__(self, model: nn.Module, device: torch.device) -> None:
        self._model = model
        self._stream = torch.cuda.Stream(device)

    def warm_up(self, work: Callable[[], Tensor]) -> Tensor:
        """Do the work on the stream on which it will be recorded."""
        with self._aside():
            return work()

    def rehearse(self, work: Callable[[], Tensor]) -> Tensor:
        """Do the work as `warm_up` does. Raises RuntimeError if the work waits for the GPU."""
        before = torch.cuda.get_sync_debug_mode()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Synchronization debug mode")  # is a prototype
            torch.cuda.set_sync_debug_mode("error")
        try:
            return self.warm_up(work)
        finally:
            torch.cuda.set_sync_debug_mode(before)

    def record(self, work: Callable[[], Tensor]) -> Callable[[], Tensor]:
        """Return a function that launches the work as one graph.

        The graph reads the tensors that the work reads now. A launch leaves each parameter with the
        gradient that this graph writes. Recording computes nothing.

        Raises RuntimeError for work that cannot be recorded.
        """
        graph = torch.cuda.CUDAGraph()
        for generator in _held(self._model):
            if generator.device.type == "cuda":
                graph.register_generator_state(generator)
        # The outer block gives the stream back even if the capture fails.
        with torch.cuda.stream(self._stream), torch.cuda.graph(graph, stream=self._stream):
            result = work()
        gradients = [(parameter, parameter.grad) for parameter in self._model.parameters()]

        def replay() -> Tensor:
            graph.replay()
            for parameter, gradient in gradients:
                parameter.grad = gradient
            return result.clone()

        return replay

    @contextmanager
    def _aside(self) -> Iterator[None]:
        """Run a block on the stream for recording, after earlier work and before later work."""
        current = torch.cuda.current_stream(self._stream.device)
        self._stream.wait_stream(current)
        try:
            with torch.cuda.stream(self._stream):
                yield
        finally:
            current.wait_stream(self._stream)


def relative_difference(ones: Sequence[Tensor], others: Sequence[Tensor]) -> float:
    """Return |ones - others| / |others|, with the Euclidean norm over the entries of all tensors.

    The result is 0 if all are equal, and infinite if shapes differ or only `others` are 0.
    """
    if [each.shape for each in ones] != [each.shape for each in others]:
        return torch.inf
    pairs = list(zip(ones, others, strict=True))
    if not pairs:
        return 0.0
    norm = partial(torch.linalg.vector_norm, dtype=torch.float64)
    gaps = [norm(one.double() - other.double()) for one, other in pairs]
    sizes = [norm(other.double()) for _, other in pairs]
    apart, whole = torch.stack([*gaps, *sizes]).unflatten(0, (2, -1)).norm(dim=1).tolist()
    return 0.0 if apart == 0 else apart / whole if whole else torch.inf


def _generators(model: nn.Module) -> list[torch.Generator]:
    on_gpu = torch.cuda.default_generators if torch.cuda.is_initialized() else ()
    return [*_held(model), torch.default_generator, *on_gpu]


def _held(model: nn.Module) -> Iterator[torch.Generator]:
    for module in model.modules():
        for value in vars(module).values():
            if isinstance(value, torch.Generator):
                yield value


def _state_tensors(optimizer: Optimizer | OwnOptimizer | None) -> list[Tensor]:
    states = () if optimizer is None else optimizer.state.values()
    return [value for state in states for value in state.values() if isinstance(value, Tensor)]

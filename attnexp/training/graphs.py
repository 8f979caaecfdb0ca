"""CUDA graphs: work on a batch that is recorded once, then launched as a whole."""

import logging
import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnexp import console
from attnexp.batch import Batch

log = logging.getLogger(__name__)

WARM_UPS = 2
"""Batches of each shape that are worked on before the one that is a rehearsal."""

Work = Callable[[Batch], Float[Tensor, ""]]
"""What is done with a batch. All that it keeps for the next batch is in tensors, in their place."""

Shapes = tuple[tuple[str, torch.Size], ...]


class Recorder(ABC):
    """Records the kernels that work launches."""

    @abstractmethod
    def warm_up(self, work: Callable[[], Tensor]) -> Tensor:
        """Do the work without recording it, and return its result."""

    @abstractmethod
    def rehearse(self, work: Callable[[], Tensor]) -> Tensor:
        """Do the same. Raises RuntimeError where the work waits for the GPU."""

    @abstractmethod
    def record(self, work: Callable[[], Tensor]) -> Callable[[], Tensor]:
        """Return a function that repeats the work on the tensors that it reads now.

        Recording computes nothing. Raises RuntimeError for work that cannot be recorded.
        """


class Captured:
    """Does the same work on every batch, as a CUDA graph for each shape of batch.

    The first batches of a shape are worked on eagerly: PyTorch asks for this before a capture,
    because libraries set themselves up when they are first called. They count like all others, and
    recording computes nothing, so the work is done once on each batch. The last of them is a
    rehearsal. Work that waits for the GPU, and work that cannot be recorded, stays eager from then
    on: the terminal and the log say so, with `name`.
    """

    def __init__(self, name: str, work: Work, recorder: Recorder) -> None:
        self._name = name
        self._work = work
        self._recorder = recorder
        self._eager = False
        self._seen: Counter[Shapes] = Counter()
        self._recorded: dict[Shapes, tuple[dict[str, Tensor], Callable[[], Tensor]]] = {}

    def __call__(self, batch: Batch) -> Float[Tensor, ""]:
        """Return what the work returns for a batch."""
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
        except RuntimeError as error:
            self._stay_eager(error)
            return self._work(batch)
        inputs, replay = self._recorded[shapes]
        for name, tensor in tensors.items():
            inputs[name].copy_(tensor)
        return replay()

    def _record(self, batch: Batch) -> tuple[dict[str, Tensor], Callable[[], Tensor]]:
        """Return the tensors that a graph reads, and the function that launches it."""
        inputs = {name: tensor.clone() for name, tensor in batch.parts().items()}
        replay = self._recorder.record(partial(self._work, batch.with_parts(inputs)))
        log.info("%s is a CUDA graph for batches of %d", self._name, len(batch))
        return inputs, replay

    def _stay_eager(self, error: RuntimeError) -> None:
        self._eager = True
        why = str(error).partition("\n")[0]
        log.info("%s cannot be recorded", self._name, exc_info=error)
        console.say(f"{self._name} runs without a CUDA graph: {why}")


class CudaRecorder(Recorder):
    """Records what is computed on the GPU of a model, its gradients included, as a CUDA graph.

    A graph repeats what kernels do with memory, and nothing that Python does. It draws from the
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
        """Do the same. Raises RuntimeError where the work waits for the GPU."""
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

        It leaves each parameter with the gradient that this graph writes. Raises RuntimeError for
        work that cannot be recorded.
        """
        graph = torch.cuda.CUDAGraph()
        for generator in generators_of(self._model):
            graph.register_generator_state(generator)
        # The outer block gives the stream back even where the capture fails.
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
        """Run a block on the stream for recording, in its turn among what runs on the other."""
        current = torch.cuda.current_stream(self._stream.device)
        self._stream.wait_stream(current)
        try:
            with torch.cuda.stream(self._stream):
                yield
        finally:
            current.wait_stream(self._stream)


def generators_of(model: nn.Module) -> list[torch.Generator]:
    """Return the generators on a GPU that the modules of a model hold as attributes."""
    held = (value for module in model.modules() for value in vars(module).values())
    return [
        value
        for value in held
        if isinstance(value, torch.Generator) and value.device.type == "cuda"
    ]

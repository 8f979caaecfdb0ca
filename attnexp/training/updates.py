"""One step of training: the gradient of a batch, then an update of the parameters."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.optim import Optimizer

from attnexp.architectures.base import Architecture
from attnexp.core.batch import Batch
from attnexp.tasks.base import Task
from attnexp.training.graphs import Captured, CudaRecorder, Work
from attnexp.training.optimizers import OwnOptimizer
from attnexp.training.precision import Autocast

log = logging.getLogger(__name__)

Step = Callable[[Batch, float], Float[Tensor, ""]]
"""Updates the parameters on a batch, at a factor times the learning rate, and returns the loss."""


class Gradient:
    """Computes the loss of a batch and its gradient, scaled down to the length `clip_norm`.

    An optimizer may call this several times within one step. `longest` is the length of the longest
    gradient before scaling, since the last time that `longest` was set to 0.
    """

    def __init__(
        self, model: Architecture, task: Task, clip_norm: float | None, autocast: Autocast
    ) -> None:
        self.model = model
        self._task = task
        self._clip_norm = clip_norm
        self._autocast = autocast
        self._parameters = list(model.parameters())  # a walk takes a tenth of a small step
        self.longest = self._parameters[0].new_zeros(())

    def __call__(self, batch: Batch) -> Float[Tensor, ""]:
        """Return the loss, and leave its gradient with the parameters."""
        with torch.enable_grad():
            for parameter in self._parameters:
                parameter.grad = None
            with self._autocast():
                loss = self._task.loss(self.model(batch), batch)
            loss.backward()
        if self._clip_norm is not None:
            norm = nn.utils.clip_grad_norm_(self._parameters, self._clip_norm)
            self.longest.copy_(torch.maximum(self.longest, norm))  # in place: a graph may run this
        return loss.detach()


class EagerStep:
    """Computes a step eagerly, one kernel at a time, with any optimizer."""

    def __init__(self, gradient: Work, optimizer: Optimizer | OwnOptimizer) -> None:
        self._gradient = gradient
        self._optimizer = optimizer
        self._rates = [group["lr"] for group in optimizer.param_groups]

    def __call__(self, batch: Batch, factor: float) -> Float[Tensor, ""]:
        """Update the parameters, and return the loss before the update."""
        for group, rate in zip(self._optimizer.param_groups, self._rates, strict=True):
            group["lr"] = rate * factor
        return _update(self._optimizer, self._gradient, batch)


class CapturedStep:
    """Launches a step as one CUDA graph: forward, loss, backward, clipping and update.

    The optimizer must be one that `keeps_to_the_device`. Its learning rates become tensors, which
    the graph reads.
    """

    def __init__(
        self, gradient: Gradient, optimizer: Optimizer | OwnOptimizer, recorder: CudaRecorder
    ) -> None:
        self._groups = optimizer.param_groups
        self._rates = [group["lr"] for group in self._groups]
        for group in self._groups:
            device = group["params"][0].device
            group["lr"] = torch.tensor(group["lr"], dtype=torch.float32, device=device)
        work = partial(_update, optimizer, gradient)
        self._update = Captured("the training step", work, recorder, gradient.model, optimizer)

    def __call__(self, batch: Batch, factor: float) -> Float[Tensor, ""]:
        """Update the parameters, and return the loss before the update."""
        for group, rate in zip(self._groups, self._rates, strict=True):
            group["lr"].fill_(rate * factor)
        return self._update(batch)


def _update(optimizer: Optimizer | OwnOptimizer, gradient: Work, batch: Batch) -> Float[Tensor, ""]:
    closure: Callable[[], Any] = partial(gradient, batch)
    return cast(Tensor, optimizer.step(closure))


def training_step(
    gradient: Gradient, optimizer: Optimizer | OwnOptimizer, graphs: bool = True
) -> Step:
    """Return the step for the model's device: a CUDA graph on a GPU with `graphs`, else eager.

    If the update cannot be part of a graph, only the gradient is a graph.
    """
    device = next(gradient.model.parameters()).device
    if device.type != "cuda" or not graphs:
        return EagerStep(gradient, optimizer)
    recorder = CudaRecorder(gradient.model, device)
    if keeps_to_the_device(optimizer):
        return CapturedStep(gradient, optimizer, recorder)
    log.info("%s cannot be part of a CUDA graph, the gradient can", type(optimizer).__name__)
    return EagerStep(Captured("the gradient", gradient, recorder, gradient.model), optimizer)


def keeps_to_the_device(optimizer: Optimizer | OwnOptimizer) -> bool:
    """Return whether an optimizer updates by tensor operations on the parameters' device alone.

    All groups of such an optimizer have `capturable`, PyTorch's name for this. Call this before the
    first step: it turns `capturable` on for a fused optimizer of PyTorch or of attnexp that has the
    setting, but not for a user's. Without `fused` it stays off: PyTorch would divide by the rate,
    which may be 0. In double precision it stays off: PyTorch would compute the step's bias
    correction in float32.
    """
    groups = optimizer.param_groups
    single = all(p.dtype == torch.float32 for group in groups for p in group["params"])
    known = ("torch.optim.", "attnexp.training.optimizers")
    if single and type(optimizer).__module__.startswith(known):
        for group in groups:
            if group.get("fused"):
                group.update(dict.fromkeys({"capturable"} & group.keys(), True))
    return all(group.get("capturable", False) for group in groups)

"""The optimizer of replicas whose optimizers have equal settings."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.optim import Optimizer

from attnexp.training.optimizers import OwnOptimizer
from attnexp.training.state import State, load_optimizer_state


class SharedOptimizer:
    """Updates a span of rows of the stacks: those of all runs whose optimizers have equal settings.

    `optimizer` is that of one of these runs, whose `parameters` become views of the stacks. As it
    updates each number by itself, each run gets the result of its own optimizer, up to rounding. On
    a CPU no update is fused: a fused update rounds the last few numbers of a tensor differently,
    and these would belong to another run in each group.
    """

    def __init__(self, optimizer: Optimizer | OwnOptimizer, parameters: Sequence[Tensor]) -> None:
        self._optimizer = optimizer
        for group in optimizer.param_groups:
            if group["params"][0].device.type == "cpu":
                group.update(dict.fromkeys({"fused"} & group.keys(), False))
        self._parameters = list(parameters)
        self._rates = [group["lr"] for group in optimizer.param_groups]
        self._span = slice(0)

    def use_rows(
        self, stacks: Sequence[Tensor], span: slice, kept: Int[Tensor, " rows"] | None
    ) -> None:
        """Continue with the rows `span` of new stacks, with the state of the former rows `kept`."""
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
        """Return the optimizer's state of the run in one row of the stacks.

        A value with a row for each run keeps that axis, with one row.
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

    def load_states(self, states: Sequence[list[State]]) -> None:
        """Continue from states that `state` returned, one for each row of the stacks."""
        own = states[self._span]
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

        The optimizer takes `loss`, but does not use it.
        """
        for group, rate in zip(self._optimizer.param_groups, self._rates, strict=True):
            group["lr"] = rate * factor
        for view, stack in zip(self._parameters, stacks, strict=True):
            view.grad = None if stack.grad is None else stack.grad[self._span]
        self._optimizer.step(lambda: loss)


def has_rows(value: Any, parameter: Tensor) -> bool:
    """Return whether a value of an optimizer's state has the shape of its parameter, with rows."""
    return isinstance(value, Tensor) and value.shape == parameter.shape


def clip(gradients: Sequence[Tensor], norm: float) -> Float[Tensor, " rows"]:
    """Scale the gradients of each row down to a norm, as `clip_grad_norm_` does for one model.

    Returns the norm of each row's gradients before scaling.
    """
    norms = [gradient.reshape(len(gradient), -1).norm(dim=1) for gradient in gradients]
    whole = torch.stack(norms, dim=1).norm(dim=1)
    factor = (norm / (whole + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(factor.view(-1, *[1] * (gradient.dim() - 1)))
    return whole

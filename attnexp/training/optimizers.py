"""Rprop. All other optimizers are those of torch.optim, named by their path."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from attnexp.scores.base import require_positive

GROW, SHRINK, SMALLEST = 1.2, 0.5, 1e-6
"""The factors of a step whose gradient keeps and changes its sign, and the smallest step."""


class Rprop:
    """Resilient backpropagation, with a separate first step for parameters that are one number.

    Riedmiller and Braun (1993): an entry moves by its own step, against the sign of its gradient.
    The step grows by 1.2 while the sign stays and halves when it changes; the entry does not move
    in that update. It is made for the full batch. `lr` is the first step of matrices and vectors,
    `scalar_lr` that of scalars such as a kernel's width, which have another scale, and `max_step`
    the largest step.

    The updates are those of `torch.optim.Rprop`, bit for bit. Every optimizer that derives from
    PyTorch's imports its compiler, which takes as long as the import of torch itself, and this one
    trains the runs that take no longer than that.

    Raises ValueError for a step that is not positive.
    """

    def __init__(
        self, params: Iterable[nn.Parameter], lr: float, scalar_lr: float, max_step: float
    ) -> None:
        steps = {"lr": lr, "scalar_lr": scalar_lr, "max_step": max_step}
        for name, value in steps.items():
            require_positive(name, value)
        whole = list(params)
        groups: list[dict[str, Any]] = [
            {"params": [p for p in whole if p.dim() > 0], "lr": lr, "max_step": max_step},
            {"params": [p for p in whole if p.dim() == 0], "lr": scalar_lr, "max_step": max_step},
        ]
        for group in groups:
            group["capturable"] = True  # an update is tensor operations alone
        self.param_groups = [group for group in groups if group["params"]]
        self.state: dict[Tensor, dict[str, Tensor]] = {}

    @torch.no_grad()
    def step(self, closure: Callable[[], Tensor]) -> Tensor:
        """Update the parameters once, and return the loss that `closure` computes.

        `closure` also computes the gradients. A parameter without one stays as it is.
        """
        loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, parameter.grad, group["lr"], group["max_step"])
        return loss

    def _update(
        self, parameter: Tensor, gradient: Tensor, lr: float | Tensor, max_step: float
    ) -> None:
        if parameter not in self.state:
            self.state[parameter] = {
                "step_size": torch.zeros_like(parameter, requires_grad=False) + lr,
                "before": torch.zeros_like(parameter, requires_grad=False),
            }
        step, before = self.state[parameter].values()
        sign = gradient * before
        step.mul_(torch.where(sign > 0, GROW, torch.where(sign < 0, SHRINK, 1.0)))
        step.clamp_(SMALLEST, max_step)
        gradient = gradient.masked_fill(sign < 0, 0.0)
        parameter.addcmul_(gradient.sign(), step, value=-1)
        before.copy_(gradient)


def reads_rate_once(optimizer: object) -> bool:
    """Return whether an optimizer reads its learning rate before its first step and never again."""
    return isinstance(optimizer, Rprop | torch.optim.Rprop)


ELEMENTWISE = frozenset(
    {
        "attnexp.training.optimizers.Rprop",
        *(
            f"torch.optim.{name.lower()}.{name}"
            for name in (
                *("Adadelta", "Adagrad", "Adam", "Adamax", "AdamW", "ASGD", "NAdam", "RAdam"),
                *("RMSprop", "Rprop", "SGD"),
            )
        ),
    }
)
"""The optimizers that update each number by itself and its own gradients alone."""


def is_elementwise(optimizer: object) -> bool:
    """Return whether an optimizer is known to update each number by itself."""
    kind = type(optimizer)
    return f"{kind.__module__}.{kind.__qualname__}" in ELEMENTWISE

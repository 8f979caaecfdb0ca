"""Optimizers whose recipe is ours. All others are named by their path in torch.optim."""

from collections.abc import Sequence

from torch import nn
from torch.optim import Rprop


def rprop(params: Sequence[nn.Parameter], lr: float, scalar_lr: float, max_step: float) -> Rprop:
    """Resilient backpropagation, with a first step of its own for parameters that are one number.

    Riedmiller and Braun (1993): each entry moves by its own step, against the sign of its gradient;
    the step grows by 1.2 while the sign stays and halves when it turns. It is made for the full
    batch. `lr` is the first step of matrices and vectors, `scalar_lr` that of scalars such as a
    kernel's width, which live on another scale, and `max_step` the largest step.

    Raises ValueError for a step that is not positive.
    """
    steps = {"lr": lr, "scalar_lr": scalar_lr, "max_step": max_step}
    for name, value in steps.items():
        if not value > 0:
            raise ValueError(f"{name} must be greater than 0, got {value}")
    groups = (
        {"params": [p for p in params if p.dim() > 0], "lr": lr},
        {"params": [p for p in params if p.dim() == 0], "lr": scalar_lr},
    )
    return Rprop([group for group in groups if group["params"]], step_sizes=(1e-6, max_step))

"""Rprop and Adam without PyTorch's compiler. All other optimizers are those of torch.optim."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from attnexp.scores.base import require_positive

GROW, SHRINK, SMALLEST = 1.2, 0.5, 1e-6
"""The factors of a step if the sign of its gradient stays or changes, and the smallest step."""


class OwnOptimizer(ABC):
    """An optimizer that does not derive from `torch.optim.Optimizer`.

    An optimizer that does derive from it imports PyTorch's compiler, which takes as long as the
    import of torch itself: most of the time of small runs.
    """

    param_groups: list[dict[str, Any]]
    state: dict[Tensor, dict[str, Tensor]]

    @torch.no_grad()
    def step(self, closure: Callable[[], Tensor]) -> Tensor:
        """Update the parameters once, and return the loss that `closure` computes.

        `closure` also computes the gradients. A parameter without a gradient stays as it is.
        """
        loss = closure()
        for group in self.param_groups:
            self._update([each for each in group["params"] if each.grad is not None], group)
        return loss

    @abstractmethod
    def _update(self, parameters: Sequence[Tensor], group: Mapping[str, Any]) -> None:
        """Update the parameters of a group, all of which have a gradient."""


class Rprop(OwnOptimizer):
    """Resilient backpropagation, with a separate first step for parameters that are one number.

    Riedmiller and Braun (1993): an entry moves by its own step, against the sign of its gradient.
    The step grows by 1.2 while the sign stays. When the sign changes, the step halves and the entry
    does not move in that update. Rprop is made for the full batch.

    `lr` is the first step of vectors and matrices, `scalar_lr` the first step of scalars such as a
    kernel's width, which have another scale, and `max_step` is the largest step. The updates are
    those of `torch.optim.Rprop`, bit for bit.

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
        self.state = {}

    def _update(self, parameters: Sequence[Tensor], group: Mapping[str, Any]) -> None:
        for parameter in parameters:
            if parameter not in self.state:
                self.state[parameter] = {
                    "step_size": torch.zeros_like(parameter, requires_grad=False) + group["lr"],
                    "before": torch.zeros_like(parameter, requires_grad=False),
                }
            step, before = self.state[parameter].values()
            assert parameter.grad is not None
            sign = parameter.grad * before
            step.mul_(torch.where(sign > 0, GROW, torch.where(sign < 0, SHRINK, 1.0)))
            step.clamp_(SMALLEST, group["max_step"])
            gradient = parameter.grad.masked_fill(sign < 0, 0.0)
            parameter.addcmul_(gradient.sign(), step, value=-1)
            before.copy_(gradient)


class Adam(OwnOptimizer):
    """Adam, with the settings of `torch.optim.Adam` that most runs use, and its updates to the bit.

    Kingma and Ba (2015), algorithm 1. With g the gradient plus `weight_decay` times the parameter,
    m' = b_1 m + (1 - b_1) g and v' = b_2 v + (1 - b_2) g^2, a parameter moves by

        -lr m' / (1 - b_1^t) / (sqrt(v' / (1 - b_2^t)) + eps)

    at step t. With `fused` one operation of PyTorch updates all parameters.

    Raises ValueError for a negative rate, eps or decay, and for betas outside [0, 1).
    """

    def __init__(
        self,
        params: Iterable[nn.Parameter],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        fused: bool = False,
    ) -> None:
        for name, value in {"lr": lr, "eps": eps, "weight_decay": weight_decay}.items():
            if not value >= 0:
                raise ValueError(f"{name} must be at least 0, got {value}")
        if len(betas) != 2 or not all(0 <= beta < 1 for beta in betas):
            given = list(betas)
            raise ValueError(f"betas must be two numbers of at least 0 and below 1, got {given}")
        group = {"params": list(params), "lr": lr, "betas": tuple(betas), "eps": eps}
        self.param_groups = [
            {**group, "weight_decay": weight_decay, "fused": fused, "capturable": False}
        ]
        self.state = {}

    def _update(self, parameters: Sequence[Tensor], group: Mapping[str, Any]) -> None:
        own = [self._state_of(parameter, group) for parameter in parameters]
        if not group["fused"]:
            for parameter, state in zip(parameters, own, strict=True):
                self._move(parameter, state, group)
        elif own:
            steps = [each["step"] for each in own]
            beta1, beta2 = group["betas"]
            torch._foreach_add_(steps, 1)
            torch._fused_adam_(
                list(parameters),
                [parameter.grad for parameter in parameters if parameter.grad is not None],
                [each["exp_avg"] for each in own],
                [each["exp_avg_sq"] for each in own],
                [],
                steps,
                lr=group["lr"],
                beta1=beta1,
                beta2=beta2,
                weight_decay=group["weight_decay"],
                eps=group["eps"],
                amsgrad=False,
                maximize=False,
            )

    def _state_of(self, parameter: Tensor, group: Mapping[str, Any]) -> dict[str, Tensor]:
        """Return the optimizer's state of a parameter. Before the first update, all of it is 0."""
        state = self.state.get(parameter)
        if state is None:
            place = parameter.device if group["fused"] else torch.device("cpu")
            state = self.state[parameter] = {
                "step": torch.zeros((), dtype=torch.float32, device=place),
                "exp_avg": torch.zeros_like(parameter, requires_grad=False),
                "exp_avg_sq": torch.zeros_like(parameter, requires_grad=False),
            }
        return state

    def _move(
        self, parameter: Tensor, state: Mapping[str, Tensor], group: Mapping[str, Any]
    ) -> None:
        """Update one parameter, an operation at a time."""
        step, average, square = state.values()
        beta1, beta2 = group["betas"]
        gradient = parameter.grad
        assert gradient is not None
        if group["weight_decay"]:
            gradient = gradient.add(parameter, alpha=group["weight_decay"])
        step += 1
        average.lerp_(gradient, 1 - beta1)
        square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        t = step.item()
        root = (square.sqrt() / (1 - beta2**t) ** 0.5).add_(group["eps"])
        parameter.addcdiv_(average, root, value=-(group["lr"] / (1 - beta1**t)))


OptimizerFactory = Callable[..., Optimizer | OwnOptimizer]
"""Builds an optimizer of the parameters that are given as `params`."""


def reads_rate_once(optimizer: object) -> bool:
    """Return whether an optimizer reads its learning rate before its first step and never again."""
    return isinstance(optimizer, Rprop | torch.optim.Rprop)


def with_first_step(make: OptimizerFactory, parameter: Tensor, step: float) -> OptimizerFactory:
    """Return a factory of the same optimizer, with another first step of one parameter for Rprop.

    The step is `step`, but no more than the largest step of the optimizer. Optimizers other than
    Rprop have no first step, and keep their rate.
    """

    def made(params: Iterable[nn.Parameter]) -> Optimizer | OwnOptimizer:
        optimizer = make(params=params)
        for group in optimizer.param_groups if reads_rate_once(optimizer) else ():
            if any(each is parameter for each in group["params"]):
                largest = group["max_step"] if "max_step" in group else group["step_sizes"][1]
                group["lr"] = min(step, largest)
        return optimizer

    return made


ELEMENTWISE = frozenset(
    {
        "attnexp.training.optimizers.Adam",
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
"""The optimizers in which the update of a number depends on its own gradients alone."""


def is_elementwise(optimizer: object) -> bool:
    """Return whether an optimizer is known to update each number by its own gradients alone."""
    kind = type(optimizer)
    return f"{kind.__module__}.{kind.__qualname__}" in ELEMENTWISE

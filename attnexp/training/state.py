"""The part of a training state that PyTorch's objects hold: generators and optimizers."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from attnexp.training.base import NotReplicableError
from attnexp.training.optimizers import OwnOptimizer

State = dict[str, Any]
"""Tensors, numbers, text and None by name, in dictionaries and lists of any depth."""


class WrongStateError(Exception):
    """A state does not belong to this training. The message has the reason."""


@contextmanager
def restored_on_error(model: nn.Module, order: torch.Generator) -> Iterator[None]:
    """Undo, on an error in the block, what it changed: a model, its generators and the order.

    Raises WrongStateError in place of the error; NotReplicableError is raised as it is.
    """
    tensors = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    random, order_state = random_states(model), order.get_state()
    try:
        yield
    except Exception as error:  # any error that a state of unknown origin may cause
        model.load_state_dict(tensors)
        set_random_states(model, random)
        order.set_state(order_state)
        if isinstance(error, NotReplicableError):
            raise
        reason = str(error).partition("\n")[0]
        raise WrongStateError(f"{type(error).__name__}: {reason}") from error


def random_states(model: nn.Module) -> State:
    """Return the states of PyTorch's global generator and of those in a model's modules."""
    return {
        "global": torch.get_rng_state(),
        "modules": {path: generator.get_state() for path, generator in _generators(model)},
        "devices": {path: generator.device.type for path, generator in _generators(model)},
    }


def set_random_states(model: nn.Module, states: State) -> None:
    """Set the states that `random_states` returned.

    A generator that was on a GPU is set up on the GPU that the model is on.
    """
    torch.set_rng_state(states["global"])
    own = next((parameter.device for parameter in model.parameters()), torch.device("cpu"))
    for path, state in states["modules"].items():
        module: Any = model.get_submodule(path)
        kind = states["devices"][path]
        device = own if own.type == kind else torch.device(kind)
        if module.generator.device != device:
            module.generator = torch.Generator(device)
        module.generator.set_state(state)


def _generators(model: nn.Module) -> Iterator[tuple[str, torch.Generator]]:
    for path, module in model.named_modules():
        if isinstance(generator := getattr(module, "generator", None), torch.Generator):
            yield path, generator


def optimizer_state(optimizer: Optimizer | OwnOptimizer) -> list[State]:
    """Return an optimizer's state of each parameter, in the order of its groups."""
    return [dict(optimizer.state.get(parameter, {})) for _, parameter in _parameters(optimizer)]


def load_optimizer_state(optimizer: Optimizer | OwnOptimizer, states: Sequence[State]) -> None:
    """Set the state of a new optimizer. Raises ValueError if `states` are not one per parameter."""
    for (group, parameter), state in zip(_parameters(optimizer), states, strict=True):
        if state:
            optimizer.state[parameter] = {
                name: _placed(value, parameter, group, name) for name, value in state.items()
            }


def _parameters(optimizer: Optimizer | OwnOptimizer) -> Iterator[tuple[Mapping[str, Any], Tensor]]:
    for group in optimizer.param_groups:
        yield from ((group, parameter) for parameter in group["params"])


def _placed(value: Any, parameter: Tensor, group: Mapping[str, Any], name: str) -> Any:
    """Return a value of an optimizer's state on the device of its parameter.

    A count of steps stays on the CPU, as in PyTorch, unless the group is capturable or fused.
    """
    if isinstance(value, list):
        return [_placed(entry, parameter, group, name) for entry in value]
    if not isinstance(value, Tensor):
        return value
    if name == "step" and not (group.get("capturable") or group.get("fused")):
        return value
    return value.to(parameter.device)

"""The structure of a run: runs of equal structure can train together."""

import pickle
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager

from torch import Generator, Tensor, nn

from attnexp.runs.summary import error_text
from attnexp.scores.base import Score
from attnexp.training.base import NotReplicableError
from attnexp.training.prepared_run import PreparedRun, trainable


def structure(run: PreparedRun) -> Hashable:
    """Return a value that is equal for runs that can train together, apart from their settings.

    The value has the shape of every tensor, and every attribute of a module that is no tensor. The
    generators of modules may differ, because no module that draws random numbers can be mapped.

    Raises NotReplicableError if there is nothing to train, or if a module has an attribute that
    cannot be compared.
    """
    if not trainable(run.model):
        raise NotReplicableError("it has nothing to train")
    base = vars(nn.Module()).keys()
    held = [
        (path, type(module), name, value)
        for path, module in run.model.named_modules()
        for name, value in vars(module).items()
        if name not in base and not isinstance(value, Tensor | Generator)
        if not (isinstance(value, float) and isinstance(module, Score))
    ]
    try:
        plain = pickle.dumps(held)
    except (Exception, SystemExit) as error:
        raise NotReplicableError(f"its model cannot be compared ({error_text(error)})") from error
    tensors = {**state_of(run.model), **run.dataset.train.parts()}
    return plain, tuple((name, each.shape, each.dtype) for name, each in tensors.items())


def state_of(model: nn.Module) -> dict[str, Tensor]:
    """Return every tensor of a model by its path: parameters, buffers and plain attributes.

    The plain numbers of scores, such as the width of a kernel, are among them.
    """
    own = registered_tensors(model)
    like = next(iter(own.values()))
    plain = {
        f"{path}.{name}": like.new_tensor(value) if isinstance(value, float) else value
        for path, module in model.named_modules()
        for name, value in vars(module).items()
        if isinstance(value, Tensor) or (isinstance(value, float) and isinstance(module, Score))
    }
    return {name: tensor.detach() for name, tensor in {**own, **plain}.items()}


def registered_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Return the parameters and buffers of a model by their paths."""
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


@contextmanager
def attributes(model: nn.Module, plain: Mapping[str, Tensor]) -> Iterator[None]:
    """Set attributes of a model's modules during the block. `plain` has them by their path."""
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

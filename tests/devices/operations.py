"""Operations as PyTorch dispatches them: those that wait for a GPU, and tapes that repeat them."""

from torch import Generator, Tensor, no_grad, ops
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

aten = ops.aten

WAITING = {
    aten._local_scalar_dense.default,
    aten.equal.default,
    aten.masked_select.default,
    aten.nonzero.default,
    aten.unique_consecutive.default,
    aten._unique2.default,
    aten.unique_dim.default,
}
"""Operations that make the program wait for a GPU."""

INDEXED = {
    aten.index.Tensor,
    aten.index_put.default,
    aten.index_put_.default,
    aten._index_put_impl_.default,
    aten._unsafe_index.Tensor,
}
"""Operations by indices, which a GPU takes from the CPU too."""


def waits(function, arguments):
    """Whether an operation waits; an index of truth values looks for the true ones first."""
    by_truth = function in INDEXED and any(
        index is not None and not index.dtype.is_floating_point and index.dtype.itemsize == 1
        for index in arguments[1]
    )
    return function in WAITING or by_truth


class NoWaiting(TorchDispatchMode):
    """Raises RuntimeError where an operation would wait for a GPU."""

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        if waits(function, arguments):
            raise RuntimeError(f"called a synchronizing operation, {function}")
        return function(*arguments, **options or {})


class OnOneDevice(TorchDispatchMode):
    """Raises AssertionError where an operation makes a tensor on another device."""

    def __init__(self, device):
        super().__init__()
        self.device = device

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        result = function(*arguments, **options or {})
        devices = {value.device for value in tree_leaves(result) if isinstance(value, Tensor)}
        assert devices <= {self.device}, f"{function} makes a tensor on {devices}"
        return result


class Tape(TorchDispatchMode):
    """Keeps every operation with the tensors that it reads and writes.

    Unlike a capture it has to compute to know shapes, so it also keeps what was in the memory that
    is written to, and the states of the generators: `rewind` makes it undone.
    """

    def __init__(self):
        super().__init__()
        self.calls, self.memory, self.states = [], {}, {}

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        options = options or {}
        for value in tree_leaves((arguments, options)):
            if isinstance(value, Generator):
                self.states.setdefault(value, value.get_state())
            elif isinstance(value, Tensor) and function._schema.is_mutable:
                storage = value.untyped_storage()
                self.memory.setdefault(storage.data_ptr(), (storage, storage.clone()))
        result = function(*arguments, **options)
        self.calls.append((function, arguments, options, result))
        return result

    def rewind(self):
        for storage, before in self.memory.values():
            storage.copy_(before)
        for generator, state in self.states.items():
            generator.set_state(state)

    @no_grad()
    def replay(self):
        for call in self.calls:
            repeat(*call)


def repeat(function, arguments, options, result):
    """Do an operation again, into the memory of its result."""
    again = function(*arguments, **options)
    for place, value in zip(tree_leaves(result), tree_leaves(again), strict=True):
        if isinstance(place, Tensor) and place.data_ptr() != value.data_ptr():
            place.copy_(value)

"""The states of a recurrent cell after each of many inputs, with their derivative written out."""

import inspect
import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from attnexp.architectures.recurrence.cells import BLOCKS, Cell
from attnexp.architectures.recurrence.native.library import Library

Forward = TypeVar("Forward", bound=Callable[..., Any])


def with_signature(forward: Forward) -> Forward:
    """Store the signature of a function with it, for `inspect.signature` to find.

    `torch.autograd.Function` asks for the signature of `forward` at each call. Making it anew takes
    some 100 microseconds, which is a twentieth of a training step of a compiled decoder.
    """
    setattr(forward, "__signature__", inspect.signature(forward))
    return forward


class Scan(torch.autograd.Function):
    """Returns the states of a `Cell` before the first and after each of many inputs, in time order.

    The first state is zero. Autograd would record each operation of each step. This derivative has
    few operations per step, and the gradients of the weights, which are sums over the steps, in one
    product each. The second output holds the numbers of the steps that the derivative needs; it has
    no gradient.

    Copies of a cell have more axes in front, in x as in the weights. `torch.func.vmap` adds one
    such axis, and one program computes all copies. With a `library` it computes the steps, but for
    copies that `vmap` adds.
    """

    @staticmethod
    @with_signature
    def forward(
        cell: type[Cell],
        library: Library | None,
        x: Float[Tensor, "*copies batch length gates"],
        W_h: Float[Tensor, "*copies gates hidden_dim"],
        b_h: Float[Tensor, "*copies gates"],
    ) -> tuple[Tensor, Tensor]:
        size = W_h.shape[-1]
        with without_autocast(x.device):
            *leading, length, _ = x.shape
            states = x.new_empty(length + 1, *leading, cell.states * size)
            states[0] = 0.0
            kept = x.new_empty(length, *leading, cell.kept * size)
            W = cell.turned(W_h).mT
            if library is not None and library.takes(cell, x):
                sizes = (length, math.prod(x.shape[:-3]), x.shape[-3], size)
                given = (each.contiguous() for each in (x, b_h, W))
                library.call("scan", cell, sizes, *given, kept, states)
                return states, kept
            cell.begin(kept, x.movedim(-2, 0), b_h.unsqueeze(-2))
            of_h = kept[..., : cell.gates * size].unbind()
            rows = cell.rows(kept, states)
            for h_t, last, row in zip(of_h, cell.output(states[:-1]), rows, strict=True):
                add_product(h_t, last, W)
                cell.advance(*row)
        return states, kept

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.cell, ctx.library = inputs[:2]
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(inputs[3], *output)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, *_: None) -> tuple[Tensor | None, ...]:
        return None, None, *ScanGradient.apply(ctx.cell, ctx.library, gradient, *ctx.saved_tensors)

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], cell: type[Cell], _: Any, *tensors: Tensor
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        return Scan.apply(cell, None, *copies_at((0, 0, 0), info, in_dims[2:], tensors)), (1, 1)


class ScanGradient(torch.autograd.Function):
    """Returns the gradients of x, W_h and b_h from that of the states, without a derivative."""

    @staticmethod
    @with_signature
    def forward(
        cell: type[Cell],
        library: Library | None,
        gradient: Float[Tensor, "states *copies batch state_dim"],
        W_h: Float[Tensor, "*copies gates hidden_dim"],
        states: Float[Tensor, "states *copies batch state_dim"],
        kept: Float[Tensor, "length *copies batch kept"],
    ) -> tuple[Tensor, ...]:
        size = W_h.shape[-1]
        gates = kept.new_empty(*kept.shape[:-1], BLOCKS * size)
        blocks, of_h = gates.unflatten(-1, (BLOCKS, -1)), gates[..., : cell.gates * size]
        own = gradient.clone(memory_format=torch.contiguous_format)
        W = cell.turned(W_h)
        if library is not None and library.takes(cell, kept):
            sizes = (len(kept), math.prod(kept.shape[1:-2]), kept.shape[-2], size)
            library.call("scan_gradient", cell, sizes, W.contiguous(), kept, states, own, gates)
        else:
            slopes = cell.slopes(kept, states, blocks)
            rows = zip(own[:-1], of_h, blocks, *slopes, strict=True)
            of_state = own[-1]
            for own_t, h_t, gates_t, *slope in reversed(list(rows)):
                cell.pull_gates(of_state, gates_t, *slope)
                cell.pull_state(of_state, own_t, *slope)
                add_product(cell.output(own_t), h_t, W)
                of_state = own_t
        products = joined(of_h)
        of_W = products.mT @ joined(cell.output(states[:-1]))
        of_b = products.sum(dim=-2).unsqueeze(-1)
        return (
            cell.of_x(gates, size).movedim(0, -2),
            cell.turned(of_W, back=True),
            cell.turned(of_b, back=True).squeeze(-1),
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        pass

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], cell: type[Cell], _: Any, *tensors: Tensor
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        copies = copies_at((1, 0, 1, 1), info, in_dims[2:], tensors)
        return ScanGradient.apply(cell, None, *copies), (0, 0, 0)


def without_autocast(device: torch.device) -> AbstractContextManager[object]:
    """Return a block in which no operation changes the dtype of its operands."""
    if torch.amp.is_autocast_available(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()


def add_product(
    out: Float[Tensor, "*copies batch out"],
    v: Float[Tensor, "*copies batch inner"],
    W: Float[Tensor, "*copies inner out"],
) -> None:
    """Add v W to `out`, in place."""
    if W.dim() == 2:
        out.addmm_(v, W)
    else:
        flat = out.view(-1, *out.shape[-2:])
        flat.baddbmm_(v.flatten(0, -3), W.flatten(0, -3))


def joined(
    rows: Float[Tensor, "length *copies batch width"],
) -> Float[Tensor, "*copies examples width"]:
    """Return the rows of all steps one below the other."""
    return rows.movedim(0, -3).flatten(-3, -2)


def copies_at(
    places: Sequence[int],
    info: Any,
    axes: Sequence[int | None],
    tensors: Sequence[Tensor | None],
) -> list[Tensor | None]:
    """Return tensors with the axis of copies at these places. A tensor without one is expanded."""
    return [
        None
        if tensor is None
        else tensor.unsqueeze(place).expand(
            *tensor.shape[:place], info.batch_size, *tensor.shape[place:]
        )
        if axis is None
        else tensor.movedim(axis, place)
        for place, axis, tensor in zip(places, axes, tensors, strict=True)
    ]

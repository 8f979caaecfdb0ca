"""The recurrence of an attentive decoder as one function, with its derivative written out."""

from collections.abc import Callable
from typing import Any, TypeGuard

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnexp.architectures.recurrence.cells import BLOCKS, Cell
from attnexp.architectures.recurrence.derivative import Derivative
from attnexp.architectures.recurrence.native.library import Library
from attnexp.architectures.recurrence.scan import (
    add_product,
    copies_at,
    joined,
    with_signature,
    without_autocast,
)
from attnexp.core.masks import MaskMatrix
from attnexp.scores.base import batched_product


class Unrolled(torch.autograd.Function):
    """Returns the states and the contexts of a `Cell` that attends with its last state.

        c_t = sum_j w_j v_j         w the softmax of the scores of h_{t-1}, one for each key j
        s_t = f(x_t + c_t W_c, W_h h_{t-1} + b_h, s_{t-1})

    Both are in the order of time, and the states begin with the one before the first step. Autograd
    would record each operation of each step. This derivative has few operations per step, and the
    gradients of the weights and the memory, which are sums over the steps, in one product each. It
    takes the derivative of the score, see `derivative_of`. The other outputs hold the numbers of
    the steps that the derivative needs; they have no gradient. Copies are as in `Scan`.

    A step multiplies h_{t-1} once, by the matrix that projects it as a query joined with W_h: the
    projected query comes before the gates that h feeds.
    """

    @staticmethod
    @with_signature
    def forward(
        cell: type[Cell],
        derivative: type[Derivative],
        library: Library | None,
        mask: Bool[Tensor, "*copies_batch_1 keys"] | None,
        x: Float[Tensor, "*copies batch length gates"],
        start: Float[Tensor, "*copies batch state_dim"],
        keys: Float[Tensor, "*copies batch keys projected"],
        values: Float[Tensor, "*copies batch keys value_dim"],
        W_c: Float[Tensor, "*copies value_dim gates"],
        W_h: Float[Tensor, "*copies gates hidden_dim"],
        b_h: Float[Tensor, "*copies gates"],
        *parameters: Tensor,
    ) -> tuple[Tensor, ...]:
        size, projected = W_h.shape[-1], keys.shape[-1]
        with without_autocast(x.device):
            *leading, length, _ = x.shape
            score = derivative(keys, *parameters)
            states = x.new_empty(length + 1, *leading, cell.states * size)
            states[0] = start
            made = x.new_empty(length, *leading, projected + cell.kept * size)
            queries, kept = made[..., :projected], made[..., projected:]
            contexts = x.new_empty(length, *leading, 1, values.shape[-1])
            inner = score.buffer(length)
            W = torch.cat([score.W, cell.turned(W_h)], dim=-2).mT
            if _takes(library, cell, score, x):
                maps = x.new_empty(length, *leading, 1, keys.shape[-2])
                sizes = (score.compiled_as, length, len(x), size, projected, *values.shape[-2:])
                given = (each.contiguous() for each in (x, b_h, W, W_c, values))
                seen = None if mask is None else mask.contiguous()
                written = (made, states, contexts, inner, maps)
                library.call("unrolled", cell, sizes, *given, *score.compiled(), seen, *written)
                return states, contexts.squeeze(-2), maps, inner, kept
            queries.zero_()
            cell.begin(kept, x.movedim(-2, 0), b_h.unsqueeze(-2))
            weights: list[Tensor] = []
            weigh = softmax_of_finite(mask)
            by_last = made[..., : projected + cell.gates * size]
            last = cell.output(states[:-1])
            of_time = (last, by_last, queries, inner, contexts, cell.of_x(kept, size))
            rows = cell.rows(kept, states)
            for of_step, row in zip(zip(*of_time, strict=True), rows, strict=True):
                last_t, by_last_t, query, inner_t, context, x_t = of_step
                add_product(by_last_t, last_t, W)
                weights.append(weigh(score.compare(query, inner_t)))
                batched_product(weights[-1], values, out=context)
                add_product(x_t, context.squeeze(-2), W_c)
                cell.advance(*row)
        return states, contexts.squeeze(-2), torch.stack(weights), inner, kept

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.cell, ctx.derivative, ctx.library = inputs[:3]
        keys, values, W_c, W_h = inputs[6:10]
        ctx.mark_non_differentiable(*output[2:])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*output, keys, values, W_c, W_h, *inputs[11:])

    @staticmethod
    def backward(
        ctx: Any, of_states: Tensor, of_contexts: Tensor, *_: None
    ) -> tuple[Tensor | None, ...]:
        gradients = UnrolledGradient.apply(
            ctx.cell, ctx.derivative, ctx.library, of_states, of_contexts, *ctx.saved_tensors
        )
        return None, None, None, None, *gradients

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], *arguments: Any
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        tensors = arguments[3:]
        copies = copies_at([0] * len(tensors), info, in_dims[3:], tensors)
        outputs = Unrolled.apply(*arguments[:2], None, *copies)
        return outputs, tuple(1 for _ in outputs)


class UnrolledGradient(torch.autograd.Function):
    """Returns the gradients of the tensors that `Unrolled` takes. It cannot be differentiated."""

    @staticmethod
    @with_signature
    def forward(
        cell: type[Cell],
        derivative: type[Derivative],
        library: Library | None,
        of_states: Float[Tensor, "states *copies batch state_dim"],
        of_contexts: Float[Tensor, "length *copies batch value_dim"],
        states: Float[Tensor, "states *copies batch state_dim"],
        contexts: Float[Tensor, "length *copies batch value_dim"],
        weights: Float[Tensor, "length *copies batch 1 keys"],
        inner: Tensor,
        kept: Float[Tensor, "length *copies batch kept"],
        keys: Float[Tensor, "*copies batch keys projected"],
        values: Float[Tensor, "*copies batch keys value_dim"],
        W_c: Float[Tensor, "*copies value_dim gates"],
        W_h: Float[Tensor, "*copies gates hidden_dim"],
        *parameters: Tensor,
    ) -> tuple[Tensor, ...]:
        size, projected = W_h.shape[-1], keys.shape[-1]
        made = kept.new_empty(*kept.shape[:-1], projected + BLOCKS * size)
        queries, gates = made[..., :projected], made[..., projected:]
        score = derivative(keys, *parameters)
        own = of_states.clone(memory_format=torch.contiguous_format)
        given = of_contexts.clone(memory_format=torch.contiguous_format)
        by_last, of_x = made[..., : projected + cell.gates * size], cell.of_x(gates, size)
        W, back, W_x = torch.cat([score.W, cell.turned(W_h)], dim=-2), values.mT, W_c.mT
        if _takes(library, cell, score, kept):
            sizes = (score.compiled_as, *kept.shape[:2], size, projected, *values.shape[-2:])
            given_to = (each.contiguous() for each in (W, W_x, values))
            read = (kept, states, inner, weights, kept.new_empty(keys.shape[-2]))
            written = (own, given, made, *score.compiled_gradients())
            library.call("unrolled_gradient", cell, sizes, *given_to, *read, *written)
        else:
            blocks = gates.unflatten(-1, (BLOCKS, -1))
            slopes = cell.slopes(kept, states, blocks)
            of_time = (own[:-1], given, weights, inner, queries, blocks, of_x, by_last)
            of_state = own[-1]
            for row in reversed(list(zip(*of_time, *slopes, strict=True))):
                own_t, given_t, w, inner_t, query, gates_t, x_t, by_last_t, *slope = row
                cell.pull_gates(of_state, gates_t, *slope)
                add_product(given_t, x_t, W_x)
                of_weights = batched_product(given_t.unsqueeze(-2), back)
                of_scores = torch._softmax_backward_data(of_weights, w, -1, w.dtype)
                score.pull_back(of_scores, inner_t, query)
                cell.pull_state(of_state, own_t, *slope)
                add_product(cell.output(own_t), by_last_t, W)
                of_state = own_t
        products = joined(by_last)
        of_W = products.mT @ joined(cell.output(states[:-1]))
        of_b = products[..., projected:].sum(dim=-2).unsqueeze(-1)
        of_keys, *of_parameters = score.gradients(of_W[..., :projected, :])
        return (
            of_x.movedim(0, -2),
            own[0],
            of_keys,
            weights.squeeze(-2).movedim(0, -1) @ given.movedim(0, -2),
            joined(contexts).mT @ joined(of_x),
            cell.turned(of_W[..., projected:, :], back=True),
            cell.turned(of_b, back=True).squeeze(-1),
            *of_parameters,
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        pass

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], *arguments: Any
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        tensors = arguments[3:]
        places = [1] * 7 + [0] * (len(tensors) - 7)
        outputs = UnrolledGradient.apply(
            *arguments[:2], None, *copies_at(places, info, in_dims[3:], tensors)
        )
        return outputs, tuple(0 for _ in outputs)


def _takes(
    library: Library | None,
    cell: type[Cell],
    score: Derivative,
    x: Float[Tensor, "*copies batch _ _"],
) -> TypeGuard[Library]:
    """Return whether the compiled steps of a cell and a score can be called, for one copy."""
    return (
        library is not None
        and score.compiled_as is not None
        and x.dim() == 3
        and library.takes(cell, x)
    )


def softmax_of_finite(
    mask: MaskMatrix | None,
) -> Callable[[Float[Tensor, "*batch queries keys"]], Float[Tensor, "*batch queries keys"]]:
    """Return the softmax for one mask and many scores, finite and overwritten, without autograd.

    A decoder that attends once per step with the same mask reads the mask once.
    """
    if mask is None:
        return lambda scores: scores.softmax(dim=-1)
    hidden = ~mask
    beaten = hidden & mask.any(dim=-1, keepdim=True)  # an empty row needs no score

    def softmax(
        scores: Float[Tensor, "*batch queries keys"],
    ) -> Float[Tensor, "*batch queries keys"]:
        scores.masked_fill_(beaten, -torch.inf)
        return scores.softmax(dim=-1).masked_fill_(hidden, 0.0)

    return softmax

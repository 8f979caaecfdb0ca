"""The recurrence of an attentive decoder as one function, with its derivative written out."""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnexp.architectures.recurrent import (
    Cell,
    affine,
    copies_at,
    joined,
    room_to_keep,
    without_autocast,
)
from attnexp.normalizers.base import Normalizer
from attnexp.scores.base import Derivative, batched_product


class Unrolled(torch.autograd.Function):
    """Returns the states and the contexts of a `Cell` that attends with its last state.

        c_t = sum_j w_j v_j         w the normalized scores of h_{t-1}, one for each key j
        s_t = f(x_t + W_c c_t, W_h h_{t-1} + b_h, s_{t-1})

    Autograd would record each operation of each step. This derivative has few operations a step,
    and the gradients of the weights and the memory, which are sums over the steps, in one product
    each. It needs the score's `derivative` and the normalizer's `pull_back`. The other outputs are
    what the derivative needs of the steps; they have no gradient. Copies are as in `Scan`.
    """

    @staticmethod
    def forward(
        cell: type[Cell],
        derivative: type[Derivative],
        normalizer: Normalizer,
        mask: Bool[Tensor, "*copies_batch_1 keys"] | None,
        x: Float[Tensor, "*copies batch length gates"],
        start: Float[Tensor, "*copies batch state_dim"],
        keys: Float[Tensor, "*copies batch keys projected"],
        values: Float[Tensor, "*copies batch keys value_dim"],
        W_c: Float[Tensor, "*copies gates value_dim"],
        W_h: Float[Tensor, "*copies gates hidden_dim"],
        b_h: Float[Tensor, "*copies gates"],
        *parameters: Tensor,
    ) -> tuple[Tensor, ...]:
        with without_autocast(x.device):
            score, length = derivative(keys, *parameters), x.shape[-2]
            states = x.new_empty(*x.shape[:-2], length + 1, start.shape[-1])
            of_time, bias = states.movedim(-2, 0), b_h.unsqueeze(-2)
            of_time[0] = start
            h, *kept = room_to_keep(cell, x)
            inputs, inner = torch.empty_like(h), score.room(length)
            contexts = x.new_empty(length, *start.shape[:-1], 1, values.shape[-1])
            weights: list[Tensor] = []
            weigh = normalizer.of_finite(mask)
            given = (x.movedim(-2, 0), cell.output(of_time[:-1]), contexts, inner, inputs, h)
            rows = cell.rows(inputs, h, of_time, *kept)
            for of_step, row in zip(zip(*given, strict=True), rows, strict=True):
                x_t, last, context, kept_t, input_t, h_t = of_step
                weights.append(weigh(score.compare(last, kept_t)))
                batched_product(weights[-1], values, out=context)
                affine(x_t, context.squeeze(-2), W_c, out=input_t)
                affine(bias, last, W_h, out=h_t)
                cell.advance(*row)
        return states, contexts.squeeze(-2), torch.stack(weights), inner, h, *kept

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.cell, ctx.derivative, ctx.normalizer = inputs[:3]
        keys, values, W_c, W_h = inputs[6:10]
        ctx.mark_non_differentiable(*output[2:])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*output, keys, values, W_c, W_h, *inputs[11:])

    @staticmethod
    def backward(
        ctx: Any, of_states: Tensor, of_contexts: Tensor, *_: None
    ) -> tuple[Tensor | None, ...]:
        gradients = UnrolledGradient.apply(
            ctx.cell, ctx.derivative, ctx.normalizer, of_states, of_contexts, *ctx.saved_tensors
        )
        return None, None, None, None, *gradients

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], *arguments: Any
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        tensors = arguments[3:]
        copies = copies_at([0] * len(tensors), info, in_dims[3:], tensors)
        outputs = Unrolled.apply(*arguments[:3], *copies)
        return outputs, (0, *(1 for _ in outputs[1:]))


class UnrolledGradient(torch.autograd.Function):
    """Returns the gradients of the tensors that `Unrolled` takes. It has none itself."""

    @staticmethod
    def forward(
        cell: type[Cell],
        derivative: type[Derivative],
        normalizer: Normalizer,
        of_states: Float[Tensor, "*copies batch states state_dim"],
        of_contexts: Float[Tensor, "length *copies batch value_dim"],
        states: Float[Tensor, "*copies batch states state_dim"],
        contexts: Float[Tensor, "length *copies batch value_dim"],
        weights: Float[Tensor, "length *copies batch 1 keys"],
        inner: Tensor,
        h: Float[Tensor, "length *copies batch gates"],
        *others: Tensor,
    ) -> tuple[Tensor, ...]:
        many = len(cell.kept)
        kept, (keys, values, W_c, W_h, *parameters) = others[:many], others[many:]
        score, before = derivative(keys, *parameters), states.movedim(-2, 0)
        turn = cell.turned * W_h.shape[-1]
        back, W_x = values.mT, W_c.roll(turn, dims=-2).mT
        slopes = cell.slopes(h, before, *kept)
        own = of_states.movedim(-2, 0).clone()
        gates, given = torch.empty_like(slopes[0]), torch.empty_like(contexts)
        of_x, of_h = cell.of_x(gates), cell.of_h(gates)
        of_state = own[-1]
        rows = zip(
            *(own[:-1], of_contexts, given, weights, inner, gates, of_x, of_h, *slopes), strict=True
        )
        for row in reversed(list(rows)):
            own_t, of_context, given_t, w, kept_t, gates_t, x_t, h_t, *slope = row
            cell.pull_gates(of_state, gates_t, *slope)
            affine(of_context, x_t, W_x, out=given_t)
            of_weights = batched_product(given_t.unsqueeze(-2), back)
            of_query = score.pull_back(normalizer.pull_back(w, of_weights), kept_t)
            cell.output(own_t).add_(of_query)
            cell.pull_state(of_state, own_t, h_t, W_h, *slope)
        of_x = of_x.roll(-turn, dims=-1)
        last, products = cell.output(before[:-1]), joined(of_h)
        of_keys, *of_parameters = score.gradients(last, inner)
        return (
            of_x.movedim(0, -2),
            of_state,
            of_keys,
            weights.squeeze(-2).movedim(0, -1) @ given.movedim(0, -2),
            joined(of_x).mT @ joined(contexts),
            products.mT @ joined(last),
            products.sum(dim=-2),
            *of_parameters,
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        pass

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], *arguments: Any
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        tensors, many = arguments[3:], len(arguments[0].kept)
        places = [0, 1, 0, 1, 1, 1, 1, *(1 for _ in range(many))]
        places += [0] * (len(tensors) - len(places))
        outputs = UnrolledGradient.apply(
            *arguments[:3], *copies_at(places, info, in_dims[3:], tensors)
        )
        return outputs, tuple(0 for _ in outputs)

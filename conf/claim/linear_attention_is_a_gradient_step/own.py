"""One head of linear attention next to one step of gradient descent."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from attnexp.attention.multihead import MultiHead
from attnexp.estimators.base import Compared, Estimator, EstimatorFactory
from attnexp.estimators.local_constant import LocalConstant
from attnexp.scores.dot import Dot

INPUTS, OUTPUTS, RATE = 4, 2, 0.3


class Products(Estimator):
    """l_ij = q_i'k_j: linear attention without a normalizer."""

    signed: ClassVar[bool] = True
    needs_products: ClassVar[bool] = True

    def forward(
        self, weights: Float[Tensor, "*batch queries keys"], compared: Compared
    ) -> Float[Tensor, "*batch queries keys"]:
        return weights


def linear_attention_is_a_gradient_step(
    seed: int, pairs: Sequence[int]
) -> Iterator[tuple[str, float, float]]:
    """Yield the largest difference between the answer of a head and a gradient step, by pairs.

    A linear model B maps x to y. The step is that of sum_i |B x_i - y_i|^2 / (2n), and what it
    changes at a further x is the answer. The head reads symbols (x, y): its queries and keys are x,
    its values y - B x, and its context is RATE / n times their sum. `largest difference without the
    softmax` is over all numbers of pairs.
    """
    generator = torch.Generator().manual_seed(seed)
    largest = 0.0
    for n in pairs:
        x, asked = (
            torch.randn(count, INPUTS, generator=generator, dtype=torch.float64) for count in (n, 8)
        )
        y = torch.randn(n, OUTPUTS, generator=generator, dtype=torch.float64)
        model = torch.randn(OUTPUTS, INPUTS, generator=generator, dtype=torch.float64)
        before = model.clone().requires_grad_()
        loss = (x @ before.T - y).square().sum() / (2 * n)
        (slope,) = torch.autograd.grad(loss, before)
        step = asked @ (-RATE * slope).T
        for name, estimator in (("without the softmax", Products), ("softmax", LocalConstant)):
            answer = _answer(estimator, model, torch.cat([x, y], dim=1), asked)
            off = float((answer - step).abs().max())
            largest = max(largest, off) if estimator is Products else largest
            yield name, n, off
    yield "largest difference without the softmax", 0, largest


def _answer(estimator: EstimatorFactory, model: Tensor, context: Tensor, asked: Tensor) -> Tensor:
    """Return the contexts of a head with the projections of the theorem."""
    size = INPUTS + OUTPUTS
    head = MultiHead(
        Dot, size, context_dim=OUTPUTS, heads=1, head_dim=size, estimator=estimator
    ).double()
    of_x = torch.zeros(size, size, dtype=torch.float64)
    of_x[:INPUTS, :INPUTS] = torch.eye(INPUTS)
    of_rest = torch.zeros(size, size, dtype=torch.float64)
    of_rest[:OUTPUTS] = torch.cat([-model, torch.eye(OUTPUTS)], dim=1)
    out = RATE / len(context) * torch.eye(OUTPUTS, size, dtype=torch.float64)
    with torch.no_grad():
        for layer, weight in (
            (head.W_q, of_x),
            (head.W_k, of_x),
            (head.W_v, of_rest),
            (head.W_o, out),
        ):
            layer.weight.copy_(weight)
        queries = torch.cat([asked, torch.zeros(len(asked), OUTPUTS, dtype=torch.float64)], dim=1)
        answer, _ = head(queries[None], context[None], context[None])
    return answer[0]

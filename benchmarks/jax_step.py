"""The training step of `step_time.py` in JAX: `lax.scan`, compiled by XLA, on one thread.

It takes over the weights of ours. JAX is no dependency: `pip install jax` brings it.
"""

import os
from typing import Any

import torch

from attnexp.architectures.encoder import OneWay
from attnexp.architectures.rnn import Rnn
from attnexp.core.batch import Batch

os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import jax  # reads its flags when it is imported
import jax.numpy as jnp

RATE, BETAS, EPS = 1e-3, (0.9, 0.999), 1e-8


def weights_of(model: Rnn) -> dict[str, Any]:
    """Return the parameters of ours that the functions below name."""
    (layer,) = model.encoder.layers
    assert isinstance(layer, OneWay)
    score: Any = model.attention.score
    named = {
        "E": model.embed_source.weight,
        "F": model.embed_target.weight,
        "W_q": score.W_q.weight,
        "W_k": score.W_k.weight,
        "w_v": score.w_v.weight,
        "W_c": model.W_c,
        "W_o": model.W_o.weight,
        "b_o": model.W_o.bias,
    }
    for name, cell in {"encoder": layer.cell, "decoder": model.bottom}.items():
        for part, linear in {"x": cell.W_x, "h": cell.W_h}.items():
            named |= {f"{name} W_{part}": linear.weight, f"{name} b_{part}": linear.bias}
    return {name: jnp.asarray(tensor.detach().numpy()) for name, tensor in named.items()}


def gru(weights: Any, name: str, x: Any, h: Any) -> Any:
    """Return the next state, from the projected input."""
    own = h @ weights[f"{name} W_h"].T + weights[f"{name} b_h"]
    (x_r, x_z, x_n), (h_r, h_z, h_n) = jnp.split(x, 3, axis=-1), jnp.split(own, 3, axis=-1)
    r, z = jax.nn.sigmoid(x_r + h_r), jax.nn.sigmoid(x_z + h_z)
    return (1 - z) * jnp.tanh(x_n + r * h_n) + z * h


def loss(weights: Any, source: Any, queries: Any, targets: Any) -> Any:
    """Return the mean cross-entropy, ids being (length, batch)."""
    inputs = weights["E"][source] @ weights["encoder W_x"].T + weights["encoder b_x"]
    start = jnp.zeros((source.shape[1], weights["W_q"].shape[1]))
    final, states = jax.lax.scan(lambda h, x: (gru(weights, "encoder", x, h),) * 2, start, inputs)
    keys = states @ weights["W_k"].T

    def step(h: Any, x: Any) -> Any:
        scores = jnp.tanh(keys + h @ weights["W_q"].T) @ weights["w_v"][0]
        context = jnp.einsum("nb,nbv->bv", jax.nn.softmax(scores, axis=0), states)
        h = gru(weights, "decoder", x + context @ weights["W_c"], h)
        return h, jnp.concatenate([h, context], axis=-1)

    inputs = weights["F"][queries] @ weights["decoder W_x"].T + weights["decoder b_x"]
    logits = jax.lax.scan(step, final, inputs)[1] @ weights["W_o"].T + weights["b_o"]
    right = jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], axis=-1)
    return -right.mean()


@jax.jit
def update(state: Any, *ids: Any) -> Any:
    """Return the state after a step of Adam, and the loss before."""
    weights, means, squares, t = state
    value, gradient = jax.value_and_grad(loss)(weights, *ids)
    (one, two), t = BETAS, t + 1
    means = jax.tree.map(lambda m, g: one * m + (1 - one) * g, means, gradient)
    squares = jax.tree.map(lambda v, g: two * v + (1 - two) * g * g, squares, gradient)
    weights = jax.tree.map(
        lambda w, m, v: w - RATE * m / (1 - one**t) / (jnp.sqrt(v / (1 - two**t)) + EPS),
        weights,
        means,
        squares,
    )
    return (weights, means, squares, t), value


class JaxModel:
    """Takes the steps of a copy of ours on one batch."""

    def __init__(self, model: Rnn, batch: Batch) -> None:
        weights = weights_of(model)
        nothing = jax.tree.map(jnp.zeros_like, weights)
        self._state = (weights, nothing, nothing, 0.0)
        self._ids = [
            jnp.asarray(ids.mT.contiguous().numpy())
            for ids in (batch.keys, batch.queries, batch.targets)
        ]

    def step(self) -> torch.Tensor:
        """Take a step, and return the loss before it."""
        self._state, value = update(self._state, *self._ids)
        return torch.tensor(float(value))

"""The contract of an architecture, as checks that a test can run.

A check takes a function that makes the architecture, such as its class, and raises AssertionError
with a sentence if the architecture breaks the contract. The data are of the kind with which its
`spec` is annotated.
"""

from collections.abc import Callable
from typing import get_type_hints

import torch

from attnexp.architectures.base import Architecture
from attnexp.architectures.seq2seq import Seq2Seq
from attnexp.core.batch import Batch, Points, RegressionSpec, Seq2SeqSpec, allowed_keys
from attnexp.core.masks import LeaveOneOut
from attnexp.normalizers.softmax import Softmax
from attnexp.scores.additive import Additive
from attnexp.scores.contract import require

ArchitectureMaker = Callable[..., Architecture]
"""Makes an architecture when called with `spec`, `score` and `normalizer`."""

EXAMPLES, SOURCE, TARGET, SYMBOLS, POINTS = 3, 7, 5, 11, 13
"""Unequal primes, so that an architecture with swapped axes fails."""


def draw_points() -> tuple[RegressionSpec, Batch]:
    """Return the spec of random points, and the points, each hidden from itself."""
    generator = torch.Generator().manual_seed(3)
    x, y = torch.randn(POINTS, 2, generator=generator), torch.randn(POINTS, 1, generator=generator)
    hidden = LeaveOneOut(torch.arange(POINTS), POINTS)
    return RegressionSpec(x_dim=2, y_dim=1), Points.of_rows(x, y, x, y, hidden)


def draw_sequences() -> tuple[Seq2SeqSpec, Batch]:
    """Return the spec of random sequences of several lengths, and the sequences."""
    generator = torch.Generator().manual_seed(3)
    source = torch.randint(3, SYMBOLS, (EXAMPLES, SOURCE), generator=generator)
    target = torch.randint(3, SYMBOLS, (EXAMPLES, TARGET), generator=generator)
    mask = torch.arange(SOURCE) < torch.tensor([[SOURCE], [4], [2]])
    source, shifted = source.where(mask, 0), target.roll(1, dims=1)
    shifted[:, 0] = 1
    vocab = tuple(str(symbol) for symbol in range(SYMBOLS))
    spec = Seq2SeqSpec(vocab, vocab, SOURCE, TARGET, pad=0, bos=1, eos=2)
    counts = torch.ones_like(target, dtype=torch.bool)
    return spec, Batch(shifted, source, source, target, mask.unsqueeze(1), counts)


def answers_every_target(make: ArchitectureMaker) -> None:
    """There is a row of outputs for each target: numbers, or logits over the target symbols."""
    model, spec, batch = _made(make)
    outputs = model(batch).outputs
    last = spec.y_dim if isinstance(spec, RegressionSpec) else len(spec.target_vocab)
    shape = (*batch.targets.shape[:2], last)
    require(outputs.shape == shape, f"outputs have the shape {tuple(outputs.shape)}, not {shape}")


def gives_the_same_outputs_without_weights(make: ArchitectureMaker) -> None:
    """Asking for the attention weights changes no output, and not asking for them gives none."""
    model, _, batch = _made(make)
    with_weights, without = model(batch, need_weights=True), model(batch)
    require(bool(with_weights.weights), "there are no weights with need_weights=True")
    require(not without.weights, "there are weights without need_weights")
    same = torch.allclose(with_weights.outputs, without.outputs, atol=1e-5)
    require(same, "the outputs are others when the weights are asked for")


def gives_masked_keys_no_weight(make: ArchitectureMaker) -> None:
    """Weights are never negative, rows sum to 1, and masked keys have none."""
    model, _, batch = _made(make)
    for name, weights in model(batch, need_weights=True).weights.items():
        require(weights.dim() == 5, f"{name} is not (batch, layers, heads, queries, keys)")
        require(bool((weights >= 0).all()), f"{name} has negative weights")
        if name in ("pooling", "cross"):
            hidden = ~allowed_keys(batch)[:, None, None].expand_as(weights)
            require(bool((weights[hidden] == 0).all()), f"{name} has weights on masked keys")
        if name != "cross" or getattr(model, "whole", name) == name:
            sums = weights.sum(dim=-1)
            require(torch.allclose(sums, torch.ones_like(sums)), f"rows of {name} do not sum to 1")


def is_pure(make: ArchitectureMaker) -> None:
    """A forward pass repeats itself, and draws nothing from PyTorch's global generator."""
    model, _, batch = _made(make)
    before = torch.get_rng_state()
    first, second = model(batch).outputs, model(batch).outputs
    require(torch.equal(first, second), "a second forward pass has other outputs")
    require(torch.equal(torch.get_rng_state(), before), "it draws from the global generator")


def has_gradients(make: ArchitectureMaker) -> None:
    """Each parameter has a finite gradient."""
    model, _, batch = _made(make)
    model(batch).outputs.square().sum().backward()
    for name, parameter in model.named_parameters():
        gradient = parameter.grad
        require(gradient is not None, f"{name} has no gradient: no output depends on it")
        require(gradient is None or bool(gradient.isfinite().all()), f"{name}: not finite")


def decodes_as_it_trains(make: ArchitectureMaker) -> None:
    """An architecture for sequences has the logits of `forward`, `step` by `step`."""
    model, _, batch = _made(make)
    if not isinstance(model, Seq2Seq):
        return
    state = model.encode(batch.keys, batch.mask)
    rows = []
    for ids in batch.queries.unbind(dim=1):
        logits, state = model.step(ids, state)
        rows.append(logits)
    same = torch.allclose(torch.stack(rows, dim=1), model(batch).outputs, atol=1e-5)
    require(same, "step by step, the logits are others than those of forward")


ARCHITECTURE_CONTRACT: tuple[Callable[[ArchitectureMaker], None], ...] = (
    answers_every_target,
    gives_the_same_outputs_without_weights,
    gives_masked_keys_no_weight,
    is_pure,
    has_gradients,
    decodes_as_it_trains,
)


def _made(make: ArchitectureMaker) -> tuple[Architecture, RegressionSpec | Seq2SeqSpec, Batch]:
    """Return an untrained architecture, with a spec and a batch of its kind of data."""
    kind = get_type_hints(getattr(make, "func", make).__init__)["spec"]
    spec, batch = draw_points() if kind is RegressionSpec else draw_sequences()
    torch.manual_seed(0)
    return make(spec=spec, score=Additive, normalizer=Softmax).eval(), spec, batch

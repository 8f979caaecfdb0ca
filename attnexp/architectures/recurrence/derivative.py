"""The contract of a derivative written out by hand, and the derivatives of the scores.

A derivative is registered from outside, by the type of the score: see `derivative_of`. A score
without one is differentiated by autograd.
"""

from abc import ABC, abstractmethod
from functools import singledispatch
from typing import ClassVar, NamedTuple

from jaxtyping import Float
from torch import Tensor

from attnexp.scores.base import Score


class Derivative(ABC):
    """Computes a score of one query at a time, and its gradients, without autograd.

    A recurrence projects its last state by `W`, in one product with its own weights, and calls
    `compare` once per step; in the backward pass it calls `pull_back` once per step, in the
    opposite order. `gradients` then has the gradients of the keys and the parameters, summed over
    the steps. There may be an axis of copies before the batch, in the parameters too; autograd
    records nothing.
    """

    W: Float[Tensor, "*copies projected query_dim"]
    """The matrix that projects a query, in a form that `compare` takes."""

    @abstractmethod
    def __init__(self, keys: Float[Tensor, "*batch keys projected"], *parameters: Tensor) -> None:
        """Take projected keys and the parameters of the score, in the order of `derivative_of`."""

    @abstractmethod
    def buffer(self, length: int) -> Float[Tensor, "length *kept"]:
        """Return an empty tensor for the numbers that `length` steps keep."""

    @abstractmethod
    def compare(
        self, query: Float[Tensor, "*batch projected"], kept: Tensor
    ) -> Float[Tensor, "*batch 1 keys"]:
        """Return the scores of a projected query, and fill `kept` for `pull_back`."""

    @abstractmethod
    def pull_back(
        self,
        gradient: Float[Tensor, "*batch 1 keys"],
        kept: Tensor,
        of_query: Float[Tensor, "*batch projected"],
    ) -> None:
        """Write the gradient of the projected query, from that of its scores."""

    compiled_as: ClassVar[int | None] = None
    """Its number in the compiled steps, if they have it; the next methods have their tensors."""

    def compiled(self) -> tuple[Tensor | None, ...]:
        """Return the contiguous tensors that the compiled steps compare by."""
        raise NotImplementedError

    def compiled_gradients(self) -> tuple[Tensor | None, ...]:
        """Return the tensors that the compiled steps read and add to in the backward pass."""
        raise NotImplementedError

    @abstractmethod
    def gradients(self, of_W: Float[Tensor, "*copies projected query_dim"]) -> tuple[Tensor, ...]:
        """Return the gradients of the keys and of each parameter, after all steps."""


class WrittenOut(NamedTuple):
    """Names the derivative of a score, and the parameters that its constructor takes."""

    derivative: type[Derivative]
    parameters: tuple[Tensor, ...]


@singledispatch
def derivative_of(score: Score) -> WrittenOut | None:
    """Return the derivative that is registered for a type of score, or None.

    A function that is registered for a type answers for that type alone: a subclass may have
    another formula.
    """
    return None

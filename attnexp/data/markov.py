"""Chains of symbols whose next one depends on the last, each with transitions of its own."""

import torch
from jaxtyping import Int
from torch import Tensor

from attnexp.core.batch import Batch, Seq2SeqSpec
from attnexp.data.base import Dataset
from attnexp.data.sequences import (
    BOS,
    EOS,
    FIRST,
    check_memory,
    check_positive,
    check_sizes,
    given_batch,
    numbered,
    sequence_spec,
)


class MarkovChains(Dataset):
    """x_1 ~ pi, x_t ~ P[x_{t-1}], with a P for each example; the target is each next symbol.

    In-context learning of Markov chains, Edelman et al. (2024), section 2. The rows of the
    transition matrix P are uniform over the simplex, Dirichlet(1), and pi is the stationary
    distribution of P. A chain has `length` symbols out of `states`, and a loss at every one. It is
    the decoder's input, shifted by one behind <bos>; the source is the end symbol alone, so that
    `arch=decoder_only` reads a chain as a language model does.

    Training never sees a chain twice: each pass over the data draws `num_train` new ones from the
    generator of the order of training. With the same seed all models see the same chains.

    Raises ValueError for a set without examples, a length below 1 and fewer than two states.
    """

    spec: Seq2SeqSpec

    def __init__(
        self,
        generator: torch.Generator,
        num_train: int = 6_400,
        num_validation: int = 500,
        num_test: int = 500,
        length: int = 100,
        states: int = 2,
    ) -> None:
        check_sizes(num_train, num_validation, num_test)
        check_positive("length", length)
        if states < 2:
            raise ValueError(f"states must be at least 2, got {states}")
        symbols = numbered(states)
        check_memory(num_train + num_validation + num_test, length, shapes=1)
        self._length, self._states = length, states
        self.train, self.validation, self.test = (
            self._draw(size, generator) for size in (num_train, num_validation, num_test)
        )
        self.spec = sequence_spec(symbols, symbols, self.train, self.test)

    def epoch(self, generator: torch.Generator) -> Batch:
        """Return new chains."""
        return self._draw(len(self.train), generator).to(self.train.queries.device)

    def _draw(self, examples: int, generator: torch.Generator) -> Batch:
        chains = FIRST + draw_chains(examples, self._length, self._states, generator)
        source = torch.full((examples, 1), EOS)
        return given_batch(
            queries=torch.cat([torch.full_like(source, BOS), chains[:, :-1]], dim=1),
            source=source,
            target=chains,
            asked=torch.arange(self._length).expand(examples, -1),
        )


def draw_chains(
    examples: int, length: int, states: int, generator: torch.Generator
) -> Int[Tensor, "examples length"]:
    """Return chains of the states 0, 1, ..., each with transitions of its own."""
    # exponential numbers over their sum are Dirichlet(1)
    rows = -torch.rand(examples, states, states, generator=generator, dtype=torch.float64).log()
    transitions = rows / rows.sum(dim=-1, keepdim=True)
    # pi (P - 1) = 0 and sum pi = 1: the last equation takes the place of a redundant one
    equations = (transitions - torch.eye(states, dtype=torch.float64)).mT.contiguous()
    equations[:, -1] = 1.0
    right = torch.zeros(examples, states, 1, dtype=torch.float64)
    right[:, -1] = 1.0
    first = torch.linalg.solve(equations, right).squeeze(-1)
    drawn = torch.rand(length, examples, 1, generator=generator, dtype=torch.float64)
    sums, state = first.cumsum(dim=-1), torch.zeros(examples, dtype=torch.int64)
    chain = []
    for step in range(length):
        state = (drawn[step] >= sums[:, :-1]).sum(dim=-1)
        chain.append(state)
        index = state[:, None, None].expand(-1, 1, states)
        sums = transitions.gather(1, index).squeeze(1).cumsum(dim=-1)
    return torch.stack(chain, dim=1)

"""Chains of symbols whose next one depends on the last, each with transitions of its own."""

from dataclasses import dataclass, field

import torch
from jaxtyping import Int
from torch import Tensor

from attnexp.core.batch import Batch
from attnexp.data.sequences import (
    BOS,
    EOS,
    FIRST,
    Sequences,
    check_least,
    check_memory,
    check_positive,
    given_batch,
    numbered,
    sequence_spec,
)

MOST_DRAWS = 100
"""How often a chain is drawn again before the sets count as impossible."""


@dataclass(eq=False, repr=False)
class MarkovChains(Sequences):
    """x_1 ~ pi, x_t ~ P[x_{t-1}], with a P for each example; the target is each next symbol.

    In-context learning of Markov chains, Edelman et al. (2024), section 2. The rows of the
    transition matrix P are uniform over the simplex, Dirichlet(1), and pi is the stationary
    distribution of P. A chain has `length` symbols out of `states`, and a loss at every one. It is
    the decoder's input, shifted by one behind <bos>; the source is the end symbol alone, so that
    `arch=decoder_only` reads a chain as a language model does.

    Each pass over the data draws `num_train` new chains from the generator of the order of
    training. With the same seed all models see the same chains. A chain of the validation or test
    set is drawn again until it is in no other set, and a pass never has one of theirs. Within a set
    and between passes a chain can repeat: most that do stay in one state.

    Raises ValueError for a set without examples, a length below 1, fewer than two states, and
    chains so short that the sets have no chains of their own.
    """

    num_train: int = 6_400
    length: int = 100
    states: int = 2
    validation: Batch = field(init=False)

    def __post_init__(self, generator: torch.Generator) -> None:
        sizes = self.set_sizes()
        check_positive("length", self.length)
        check_least("states", self.states, 2)
        symbols = numbered(self.states)
        check_memory(sum(sizes), self.length, shapes=1)
        self.train = self._draw(sizes[0], generator)
        self.validation = self._draw(sizes[1], generator, self.train)
        self.test = self._draw(sizes[2], generator, self.train, self.validation)
        self.spec = sequence_spec(symbols, symbols, self.train, self.test)

    def epoch(self, generator: torch.Generator) -> Batch:
        """Return new chains, none of which is held out."""
        drawn = self._draw(len(self.train), generator, self.validation, self.test)
        return drawn.to(self.train.queries.device)

    def _draw(self, examples: int, generator: torch.Generator, *others: Batch) -> Batch:
        """Return a batch of chains, each drawn again while one of the `others` has it.

        Raises ValueError if a chain is still in another set after MOST_DRAWS draws.
        """
        taken = {tuple(chain) for other in others for chain in other.targets.tolist()}
        chains = FIRST + draw_chains(examples, self.length, self.states, generator)
        for _ in range(MOST_DRAWS):
            repeated = torch.tensor([tuple(chain) in taken for chain in chains.tolist()])
            again = int(repeated.sum())
            if not again:
                break
            chains[repeated] = FIRST + draw_chains(again, self.length, self.states, generator)
        else:
            raise ValueError(
                f"chains of length {self.length} over {self.states} states are too few for sets "
                "that share none: set a larger length or more states"
            )
        source = torch.full((examples, 1), EOS)
        return given_batch(
            queries=torch.cat([torch.full_like(source, BOS), chains[:, :-1]], dim=1),
            source=source,
            target=chains,
            asked=torch.arange(self.length).expand(examples, -1),
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

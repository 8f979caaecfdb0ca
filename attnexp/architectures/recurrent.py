"""Recurrent layers built from elementary operations, which padding does not affect.

They compute what `nn.GRU` and `nn.LSTM` compute and take as long on a CPU. Unlike these, they can
be batched over copies of a model by `torch.func.vmap`, and they stop at each sequence's length.
"""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attnexp.attention.dropout import Dropout
from attnexp.scores.base import require_positive


class Cell(nn.Module, ABC):
    """Computes one layer's recurrence, state_t = f(W_x x_t + b_x, state_{t-1}).

    A state is one tensor, and `output` is the part of it that other layers see. What the inputs
    contribute to the gates does not depend on the state, so `project` computes it for all steps at
    once.

    Parameters start as in PyTorch, uniform up to 1/sqrt(hidden_dim). `W_x` holds PyTorch's
    weight_ih and bias_ih, `W_h` its weight_hh and bias_hh, with the gates in the same order.
    """

    gates: int
    states: int

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.state_dim = self.states * hidden_dim
        self.W_x = nn.Linear(input_dim, self.gates * hidden_dim)
        self.W_h = nn.Linear(hidden_dim, self.gates * hidden_dim)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(hidden_dim**-0.5), hidden_dim**-0.5)

    def project(self, inputs: Float[Tensor, "*batch input_dim"]) -> Float[Tensor, "*batch gates"]:
        """Return W_x x + b_x, for any number of steps."""
        return self.W_x(inputs)

    @abstractmethod
    def split(self, projected: Float[Tensor, "*batch gates"]) -> tuple[Tensor, ...]:
        """Return projected inputs, of one step or of all, as the pieces that `next_state` takes."""

    @abstractmethod
    def next_state(
        self, pieces: tuple[Tensor, ...], state: Float[Tensor, "batch state_dim"]
    ) -> Float[Tensor, "batch state_dim"]:
        """Return the next state, from the pieces of one projected input and the last state."""

    @abstractmethod
    def output(
        self, state: Float[Tensor, "*batch state_dim"]
    ) -> Float[Tensor, "*batch hidden_dim"]:
        """Return h, the part of a state that other layers see."""

    def step(
        self, projected: Float[Tensor, "batch gates"], state: Float[Tensor, "batch state_dim"]
    ) -> Float[Tensor, "batch state_dim"]:
        """Return the next state, from one projected input and the last state."""
        return self.next_state(self.split(projected), state)

    def scan(
        self, inputs: Float[Tensor, "batch length input_dim"]
    ) -> Float[Tensor, "batch length state_dim"]:
        """Return the state after each input, starting from zeros."""
        projected = self.project(inputs)
        state = projected.new_zeros(inputs.shape[0], self.state_dim)
        states = []
        columns = (piece.unbind(dim=1) for piece in self.split(projected))
        for pieces in zip(*columns, strict=True):
            state = self.next_state(pieces, state)
            states.append(state)
        return torch.stack(states, dim=1)


class Gru(Cell):
    """The gated recurrent unit of Cho et al. (2014), as PyTorch has it.

    r = s(x_r + W_r h + b_r), z = s(x_z + W_z h + b_z), n = tanh(x_n + r * (W_n h + b_n)),
    h' = (1 - z) n + z h, where x = W_x x_t + b_x and s is the logistic function. The paper applies
    r before the product with W_n, and swaps the meaning of z and 1 - z.
    """

    gates = 3
    states = 1

    def split(self, projected: Float[Tensor, "*batch gates"]) -> tuple[Tensor, ...]:
        return projected.split_with_sizes((2 * self.hidden_dim, self.hidden_dim), dim=-1)

    def next_state(
        self, pieces: tuple[Tensor, ...], state: Float[Tensor, "batch hidden_dim"]
    ) -> Float[Tensor, "batch hidden_dim"]:
        x_rz, x_n = pieces
        h_rz, h_n = self.split(self.W_h(state))
        r, z = (x_rz + h_rz).sigmoid_().chunk(2, dim=-1)
        return torch.lerp(torch.addcmul(x_n, r, h_n).tanh_(), state, z)

    def output(
        self, state: Float[Tensor, "*batch hidden_dim"]
    ) -> Float[Tensor, "*batch hidden_dim"]:
        return state


class Lstm(Cell):
    """Long short-term memory: Hochreiter and Schmidhuber (1997), with a forget gate, Gers (2000).

    c' = s(f) c + s(i) tanh(g), h' = s(o) tanh(c'), where (i, f, g, o) = W_x x_t + b_x + W_h h + b_h
    and s is the logistic function. A state is [h; c].
    """

    gates = 4
    states = 2

    def split(self, projected: Float[Tensor, "*batch gates"]) -> tuple[Tensor, ...]:
        return (projected,)

    def next_state(
        self, pieces: tuple[Tensor, ...], state: Float[Tensor, "batch state_dim"]
    ) -> Float[Tensor, "batch state_dim"]:
        h, c = state.chunk(2, dim=-1)
        i, f, g, o = (pieces[0] + self.W_h(h)).chunk(4, dim=-1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return torch.cat([o.sigmoid() * c.tanh(), c], dim=-1)

    def output(
        self, state: Float[Tensor, "*batch state_dim"]
    ) -> Float[Tensor, "*batch hidden_dim"]:
        return state[..., : self.hidden_dim]


CELLS: dict[str, type[Cell]] = {"gru": Gru, "lstm": Lstm}


def cell_named(name: str) -> type[Cell]:
    """Return the class of a cell. Raises ValueError for an unknown name."""
    if name not in CELLS:
        raise ValueError(f"cell must be one of {', '.join(CELLS)}, got {name!r}")
    return CELLS[name]


class OneWay(nn.Module):
    """Reads sequences from left to right."""

    def __init__(self, cell: type[Cell], input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.cell = cell(input_dim, hidden_dim)

    def forward(
        self, inputs: Float[Tensor, "batch length input_dim"], lengths: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch length hidden_dim"], Float[Tensor, "batch state_dim"]]:
        """Return the output at each position, and the state at each sequence's true end."""
        states = self.cell.scan(inputs)
        last = (lengths - 1)[:, None, None].expand(-1, 1, states.shape[-1])
        return self.cell.output(states), states.gather(1, last).squeeze(1)


class BothWays(nn.Module):
    """Reads sequences in both directions and merges the results.

    The output at a position is W [left-to-right; right-to-left] + b, and the final state is
    tanh(V [last state left-to-right; last state right-to-left] + c): both as wide as those of one
    direction, so that every score fits. Bahdanau, Cho and Bengio (2015) keep the outputs
    concatenated, and start the decoder from the right-to-left state alone.
    """

    def __init__(self, cell: type[Cell], input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.left_to_right = OneWay(cell, input_dim, hidden_dim)
        self.right_to_left = OneWay(cell, input_dim, hidden_dim)
        state_dim = self.left_to_right.cell.state_dim
        self.merge_outputs = nn.Linear(2 * hidden_dim, hidden_dim)
        self.merge_finals = nn.Linear(2 * state_dim, state_dim)

    def forward(
        self, inputs: Float[Tensor, "batch length input_dim"], lengths: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch length hidden_dim"], Float[Tensor, "batch state_dim"]]:
        """Return the merged output at each position, and the merged final state."""
        right_outputs, right_final = self.left_to_right(inputs, lengths)
        left_outputs, left_final = self.right_to_left(reversed_within(inputs, lengths), lengths)
        outputs = torch.cat([right_outputs, reversed_within(left_outputs, lengths)], dim=-1)
        finals = torch.cat([right_final, left_final], dim=-1)
        return self.merge_outputs(outputs), self.merge_finals(finals).tanh()


def reversed_within(
    sequences: Float[Tensor, "batch length features"], lengths: Int[Tensor, " batch"]
) -> Float[Tensor, "batch length features"]:
    """Return each sequence back to front, with its padding still behind it."""
    length = sequences.shape[1]
    positions = torch.arange(length, device=sequences.device)
    mirrored = (lengths.unsqueeze(-1) - 1 - positions) % length
    return sequences.gather(1, mirrored.unsqueeze(-1).expand_as(sequences))


class Encoder(nn.Module):
    """Stacks recurrent layers, with dropout between them.

    Raises ValueError for an unknown cell and for fewer than one layer.
    """

    def __init__(
        self,
        cell: str,
        input_dim: int,
        hidden_dim: int,
        layers: int,
        bidirectional: bool,
        dropout: float,
    ) -> None:
        super().__init__()
        require_positive("layers", layers)
        kind = cell_named(cell)
        layer = BothWays if bidirectional else OneWay
        self.dropout = Dropout(dropout)
        self.layers = nn.ModuleList(
            layer(kind, hidden_dim if depth else input_dim, hidden_dim) for depth in range(layers)
        )

    def forward(
        self, inputs: Float[Tensor, "batch length input_dim"], lengths: Int[Tensor, " batch"]
    ) -> tuple[
        Float[Tensor, "batch length hidden_dim"], tuple[Float[Tensor, "batch state_dim"], ...]
    ]:
        """Return the outputs of the top layer, and the final state of every layer.

        Outputs at padded positions are meaningless. Nothing else depends on the padding.
        """
        finals = []
        for depth, layer in enumerate(self.layers):
            inputs, final = layer(self.dropout(inputs) if depth else inputs, lengths)
            finals.append(final)
        return inputs, tuple(finals)

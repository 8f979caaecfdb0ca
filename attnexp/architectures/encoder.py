"""The recurrent encoder, which padding does not affect: it stops at each sequence's length."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from attnexp.architectures.recurrence.cells import Cell, cell_named
from attnexp.architectures.recurrence.native.library import Recurrent
from attnexp.architectures.recurrence.scan import Scan
from attnexp.attention.dropout import Dropout
from attnexp.scores.base import require_positive


class EmbeddedRows(NamedTuple):
    """Holds sequences of vectors as rows of a table: the vector at a place is table[ids]."""

    table: Float[Tensor, "rows features"]
    ids: Int[Tensor, "*batch"]

    @classmethod
    def of_symbols(
        cls, embedding: nn.Embedding, ids: Int[Tensor, "*batch"], dropout: Dropout
    ) -> "EmbeddedRows":
        """Return the embeddings of symbols, after dropout."""
        if dropout.drops:
            return cls.of(dropout(embedding(ids)))
        return cls(embedding.weight, ids)

    @classmethod
    def of(cls, vectors: Float[Tensor, "*batch features"]) -> "EmbeddedRows":
        """Return vectors as the rows of a table in their own order."""
        shape = vectors.shape[:-1]
        ids = torch.arange(shape.numel(), device=vectors.device).view(shape)
        return cls(vectors.flatten(0, -2), ids)

    def through(self, W: nn.Linear) -> "EmbeddedRows":
        """Return W v + b of each vector v.

        W is applied to the table, or to the vectors themselves if they are fewer.
        """
        fewest = self if len(self.table) <= self.ids.numel() else EmbeddedRows.of(self.vectors())
        return EmbeddedRows(W(fewest.table), fewest.ids)

    def vectors(self) -> Float[Tensor, "*batch features"]:
        """Return the vectors at all places."""
        return F.embedding(self.ids, self.table)


class OneWay(Recurrent):
    """Reads sequences from left to right."""

    def __init__(self, cell: type[Cell], input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.cell = cell(input_dim, hidden_dim)

    def forward(
        self, inputs: EmbeddedRows, lengths: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch length hidden_dim"], Float[Tensor, "batch state_dim"]]:
        """Return the output at each position, and the state at each sequence's true end."""
        cell = self.cell
        x, W_h = inputs.through(cell.W_x).vectors(), cell.W_h
        parameters = (W_h.weight.type_as(x), W_h.bias.type_as(x))
        states, _ = Scan.apply(type(cell), self.library, x, *parameters)
        last = lengths[None, :, None].expand(1, -1, states.shape[-1])
        outputs = cell.output(states[1:]).movedim(0, 1).contiguous()
        return outputs, states.gather(0, last).squeeze(0)


class BothWays(Recurrent):
    """Reads sequences in both directions and merges the results.

    The output at a position is W [left-to-right; right-to-left] + b, and the final state is
    tanh(V [last state left-to-right; last state right-to-left] + c): both as wide as those of one
    direction, so that every score fits. Bahdanau, Cho and Bengio (2015) keep the outputs
    concatenated, and start the decoder from the right-to-left state alone.

    One scan computes both cells, as two copies of a cell.
    """

    def __init__(self, cell: type[Cell], input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.left_to_right = OneWay(cell, input_dim, hidden_dim)
        self.right_to_left = OneWay(cell, input_dim, hidden_dim)
        state_dim = self.left_to_right.cell.state_dim
        self.merge_outputs = nn.Linear(2 * hidden_dim, hidden_dim)
        self.merge_finals = nn.Linear(2 * state_dim, state_dim)

    def forward(
        self, inputs: EmbeddedRows, lengths: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch length hidden_dim"], Float[Tensor, "batch state_dim"]]:
        """Return the merged output at each position, and the merged final state."""
        cells = (self.left_to_right.cell, self.right_to_left.cell)
        mirrored = mirror(lengths, inputs.ids.shape[1])
        right, left = (inputs.through(cell.W_x) for cell in cells)
        ids = torch.stack([right.ids, left.ids.gather(1, mirrored) + len(right.table)])
        x = EmbeddedRows(torch.cat([right.table, left.table]), ids).vectors()
        W_h = torch.stack([cell.W_h.weight for cell in cells]).type_as(x)
        b_h = torch.stack([cell.W_h.bias for cell in cells]).type_as(x)
        states, _ = Scan.apply(type(cells[0]), self.library, x, W_h, b_h)
        outputs, final = in_place(states, mirrored, lengths)
        outputs = self.merge_outputs(cells[0].output(outputs).flatten(-2))
        finals = self.merge_finals(final.flatten(-2)).tanh()
        return outputs.movedim(0, 1).contiguous(), finals


def mirror(lengths: Int[Tensor, " batch"], length: int) -> Int[Tensor, "batch length"]:
    """Return the places of each sequence back to front, with its padding still behind it."""
    places = torch.arange(length, device=lengths.device)
    return (lengths.unsqueeze(-1) - 1 - places) % length


def in_place(
    states: Float[Tensor, "states 2 batch state_dim"],
    mirrored: Int[Tensor, "batch length"],
    lengths: Int[Tensor, " batch"],
) -> tuple[
    Float[Tensor, "length batch 2 state_dim"],
    Float[Tensor, "batch 2 state_dim"],
]:
    """Return the states of both directions after each position, and at each sequence's end.

    The second direction has read the places in the order `mirrored`.
    """
    batch, length = mirrored.shape
    forwards = torch.arange(length, device=mirrored.device).unsqueeze(-1).expand(-1, batch)
    after = torch.stack([forwards, mirrored.mT], dim=-1) + 1
    steps = torch.cat([after, lengths[None, :, None].expand(1, -1, 2)])
    examples = torch.arange(batch, device=mirrored.device).unsqueeze(-1)
    directions = torch.arange(2, device=mirrored.device)
    rows = (2 * steps + directions) * batch + examples
    found = states.flatten(0, 2).index_select(0, rows.flatten()).unflatten(0, rows.shape)
    outputs, finals = found.split_with_sizes((length, 1))
    return outputs, finals.squeeze(0)


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
        self, inputs: EmbeddedRows, lengths: Int[Tensor, " batch"]
    ) -> tuple[
        Float[Tensor, "batch length hidden_dim"], tuple[Float[Tensor, "batch state_dim"], ...]
    ]:
        """Return the outputs of the top layer, and the final state of every layer.

        Outputs at padded positions are meaningless. Nothing else depends on the padding.
        """
        bottom, *above = self.layers
        outputs, final = bottom(inputs, lengths)
        finals = [final]
        for layer in above:
            outputs, final = layer(EmbeddedRows.of(self.dropout(outputs)), lengths)
            finals.append(final)
        return outputs, tuple(finals)

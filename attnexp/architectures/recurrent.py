"""Recurrent layers built from elementary operations, which padding does not affect.

They compute what `nn.GRU` and `nn.LSTM` compute and take no longer on a CPU. Unlike these, they can
be batched over copies of a model by `torch.func.vmap`, and they stop at each sequence's length.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attnexp.attention.dropout import Dropout
from attnexp.scores.base import require_positive


class Cell(nn.Module, ABC):
    """Computes one layer's recurrence, state_t = f(x_t, W_h h_{t-1} + b_h, state_{t-1}).

    A state is one tensor, and h, its `output`, is the part of it that other layers see. What the
    inputs contribute to the gates, x_t = W_x input_t + b_x, does not depend on the state, so
    `project` computes it for all steps at once.

    Parameters start as in PyTorch, uniform up to 1/sqrt(hidden_dim). `W_x` holds PyTorch's
    weight_ih and bias_ih, `W_h` its weight_hh and bias_hh, with the gates in the same order.

    A subclass gives f twice. `next_state` is the plain formula. `rows`, `advance`, `slopes`,
    `pull_gates` and `pull_state` are the formula and its derivative as `Scan` uses them: written
    into given tensors, for all steps in advance where that is possible, and for any number of
    leading axes.
    """

    gates: ClassVar[int]
    states: ClassVar[int]
    kept: ClassVar[tuple[int, ...]]
    """The sizes, in units of hidden_dim, of what `advance` keeps for the derivative."""
    turned: ClassVar[int]
    """How many gates come after the others in x, and before them in a gradient."""

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

    def step(
        self, projected: Float[Tensor, "batch gates"], state: Float[Tensor, "batch state_dim"]
    ) -> Float[Tensor, "batch state_dim"]:
        """Return the next state, from one projected input and the last state."""
        return self.next_state(projected, self.W_h(self.output(state)), state)

    def scan(
        self, inputs: Float[Tensor, "batch length input_dim"]
    ) -> Float[Tensor, "batch length state_dim"]:
        """Return the state after each input, starting from zeros."""
        x = self.project(inputs)
        states: Tensor = Scan.apply(
            type(self), x, self.W_h.weight.type_as(x), self.W_h.bias.type_as(x)
        )[0]
        return states[..., 1:, :]

    @staticmethod
    @abstractmethod
    def output(state: Float[Tensor, "*batch state_dim"]) -> Float[Tensor, "*batch hidden_dim"]:
        """Return h, the part of a state that other layers see."""

    @staticmethod
    @abstractmethod
    def next_state(
        x: Float[Tensor, "*batch gates"],
        h: Float[Tensor, "*batch gates"],
        state: Float[Tensor, "*batch state_dim"],
    ) -> Float[Tensor, "*batch state_dim"]:
        """Return f(x, h, state) with h = W_h h_{t-1} + b_h."""

    @staticmethod
    @abstractmethod
    def rows(
        x: Float[Tensor, "length *batch gates"],
        h: Float[Tensor, "length *batch gates"],
        states: Float[Tensor, "states *batch state_dim"],
        *kept: Float[Tensor, "length *batch _"],
    ) -> Iterator[tuple[Tensor, ...]]:
        """Yield the views that each step reads and writes."""

    @staticmethod
    @abstractmethod
    def advance(*row: Tensor) -> None:
        """Write the next state, and what the derivative needs of this step."""

    @staticmethod
    @abstractmethod
    def slopes(
        h: Float[Tensor, "length *batch gates"],
        states: Float[Tensor, "states *batch state_dim"],
        *kept: Float[Tensor, "length *batch _"],
    ) -> tuple[Tensor, ...]:
        """Return the derivatives of f at all steps. They do not depend on the gradient.

        The first has the four derivatives of `pull_gates`.
        """

    @staticmethod
    @abstractmethod
    def pull_gates(
        gradient: Float[Tensor, "*batch state_dim"],
        gates: Float[Tensor, "*batch 4 hidden_dim"],
        *slopes: Tensor,
    ) -> None:
        """Write the gradients of the gates, from that of the new state, which it may change."""

    @staticmethod
    @abstractmethod
    def pull_state(
        gradient: Float[Tensor, "*batch state_dim"],
        own: Float[Tensor, "*batch state_dim"],
        gates: Float[Tensor, "*batch gates"],
        W_h: Float[Tensor, "*copies gates hidden_dim"],
        *slopes: Tensor,
    ) -> None:
        """Turn the gradient of the new state into that of the last one.

        `own` is what else the last state receives, and `gates` are the gradients of h.
        """

    @classmethod
    def of_x(cls, gates: Float[Tensor, "*batch 4 hidden_dim"]) -> Float[Tensor, "*batch gates"]:
        """Return the gradients of x, with the gates that are `turned` first."""
        return gates[..., : cls.gates, :].flatten(-2)

    @classmethod
    def of_h(cls, gates: Float[Tensor, "*batch 4 hidden_dim"]) -> Float[Tensor, "*batch gates"]:
        """Return the gradients of h."""
        return gates[..., 4 - cls.gates :, :].flatten(-2)


class Gru(Cell):
    """The gated recurrent unit of Cho et al. (2014), as PyTorch has it.

    r = s(x_r + W_r h + b_r), z = s(x_z + W_z h + b_z), n = tanh(x_n + r * (W_n h + b_n)),
    h' = (1 - z) n + z h, where x = W_x x_t + b_x and s is the logistic function. The paper applies
    r before the product with W_n, and swaps the meaning of z and 1 - z.

    The gradients of the gates are those of x_n, of r and z, which x and h share, and of h_n.
    """

    gates = 3
    states = 1
    kept = (2, 1)
    turned = 1

    @staticmethod
    def output(state: Float[Tensor, "*batch state_dim"]) -> Float[Tensor, "*batch hidden_dim"]:
        return state

    @staticmethod
    def next_state(
        x: Float[Tensor, "*batch gates"],
        h: Float[Tensor, "*batch gates"],
        state: Float[Tensor, "*batch state_dim"],
    ) -> Float[Tensor, "*batch state_dim"]:
        sizes = (2 * state.shape[-1], state.shape[-1])
        x_rz, x_n = x.split_with_sizes(sizes, dim=-1)
        h_rz, h_n = h.split_with_sizes(sizes, dim=-1)
        r, z = (x_rz + h_rz).sigmoid_().chunk(2, dim=-1)
        return torch.lerp(torch.addcmul(x_n, r, h_n).tanh_(), state, z)

    @staticmethod
    def rows(
        x: Float[Tensor, "length *batch gates"],
        h: Float[Tensor, "length *batch gates"],
        states: Float[Tensor, "states *batch state_dim"],
        *kept: Float[Tensor, "length *batch _"],
    ) -> Iterator[tuple[Tensor, ...]]:
        rz, n = kept
        sizes = (rz.shape[-1], n.shape[-1])
        views = (
            *x.split_with_sizes(sizes, dim=-1),
            *h.split_with_sizes(sizes, dim=-1),
            rz,
            *rz.chunk(2, dim=-1),
            n,
            states[:-1],
            states[1:],
        )
        return zip(*(view.unbind() for view in views), strict=True)

    @staticmethod
    def advance(*row: Tensor) -> None:
        x_rz, x_n, h_rz, h_n, rz, r, z, n, last, new = row
        torch.add(x_rz, h_rz, out=rz).sigmoid_()
        torch.addcmul(x_n, r, h_n, out=n).tanh_()
        torch.lerp(n, last, z, out=new)

    @staticmethod
    def slopes(
        h: Float[Tensor, "length *batch gates"],
        states: Float[Tensor, "states *batch state_dim"],
        *kept: Float[Tensor, "length *batch _"],
    ) -> tuple[Tensor, ...]:
        rz, n = kept
        r, z = rz.chunk(2, dim=-1)
        by_gates = n.new_empty(*n.shape[:-1], 4, n.shape[-1])
        by_x_n, by_r, by_z, by_h_n = by_gates.unbind(dim=-2)
        rest = 1 - z
        torch.mul(rest, 1 - n * n, out=by_x_n)
        torch.mul(by_x_n, r, out=by_h_n)
        torch.mul(by_h_n, h.chunk(3, dim=-1)[2], out=by_r).mul_(1 - r)
        torch.mul(states[:-1] - n, z, out=by_z).mul_(rest)
        return by_gates, z

    @staticmethod
    def pull_gates(
        gradient: Float[Tensor, "*batch state_dim"],
        gates: Float[Tensor, "*batch 4 hidden_dim"],
        *slopes: Tensor,
    ) -> None:
        torch.mul(gradient.unsqueeze(-2), slopes[0], out=gates)

    @staticmethod
    def pull_state(
        gradient: Float[Tensor, "*batch state_dim"],
        own: Float[Tensor, "*batch state_dim"],
        gates: Float[Tensor, "*batch gates"],
        W_h: Float[Tensor, "*copies gates hidden_dim"],
        *slopes: Tensor,
    ) -> None:
        torch.addcmul(own, gradient, slopes[1], out=gradient)
        affine(gradient, gates, W_h.mT, out=gradient)


class Lstm(Cell):
    """Long short-term memory: Hochreiter and Schmidhuber (1997), with a forget gate, Gers (2000).

    c' = s(f) c + s(i) tanh(g), h' = s(o) tanh(c'), where (i, f, g, o) = W_x x_t + b_x + W_h h + b_h
    and s is the logistic function. A state is [h; c].
    """

    gates = 4
    states = 2
    kept = (4, 1)
    turned = 0

    @staticmethod
    def output(state: Float[Tensor, "*batch state_dim"]) -> Float[Tensor, "*batch hidden_dim"]:
        return state[..., : state.shape[-1] // 2]

    @staticmethod
    def next_state(
        x: Float[Tensor, "*batch gates"],
        h: Float[Tensor, "*batch gates"],
        state: Float[Tensor, "*batch state_dim"],
    ) -> Float[Tensor, "*batch state_dim"]:
        i, f, g, o = (x + h).chunk(4, dim=-1)
        c = f.sigmoid() * state.chunk(2, dim=-1)[1] + i.sigmoid() * g.tanh()
        return torch.cat([o.sigmoid() * c.tanh(), c], dim=-1)

    @staticmethod
    def rows(
        x: Float[Tensor, "length *batch gates"],
        h: Float[Tensor, "length *batch gates"],
        states: Float[Tensor, "states *batch state_dim"],
        *kept: Float[Tensor, "length *batch _"],
    ) -> Iterator[tuple[Tensor, ...]]:
        gates, tanh_c = kept
        size = tanh_c.shape[-1]
        i, f, g, o = gates.chunk(4, dim=-1)
        views = (x, h, gates, gates[..., : 2 * size], i, f, g, o, tanh_c)
        cells = states.chunk(2, dim=-1)[1]
        parts = (*views, cells[:-1], *(part[1:] for part in states.chunk(2, dim=-1)))
        return zip(*(part.unbind() for part in parts), strict=True)

    @staticmethod
    def advance(*row: Tensor) -> None:
        x, h, gates, i_f, i, f, g, o, tanh_c, last_c, new_h, new_c = row
        torch.add(x, h, out=gates)
        i_f.sigmoid_()
        g.tanh_()
        o.sigmoid_()
        torch.mul(f, last_c, out=new_c).addcmul_(i, g)
        torch.tanh(new_c, out=tanh_c)
        torch.mul(o, tanh_c, out=new_h)

    @staticmethod
    def slopes(
        h: Float[Tensor, "length *batch gates"],
        states: Float[Tensor, "states *batch state_dim"],
        *kept: Float[Tensor, "length *batch _"],
    ) -> tuple[Tensor, ...]:
        gates, tanh_c = kept
        i, f, g, o = gates.chunk(4, dim=-1)
        last_c = states[:-1].chunk(2, dim=-1)[1]
        by_i, by_f = g * (i - i * i), last_c * (f - f * f)
        by_g, by_o = i * (1 - g * g), tanh_c * (o - o * o)
        return torch.stack([by_i, by_f, by_g, by_o], dim=-2), o * (1 - tanh_c * tanh_c), f

    @staticmethod
    def pull_gates(
        gradient: Float[Tensor, "*batch state_dim"],
        gates: Float[Tensor, "*batch 4 hidden_dim"],
        *slopes: Tensor,
    ) -> None:
        by_gates, c_by_h, _ = slopes
        of_h, of_c = gradient.chunk(2, dim=-1)
        of_c.addcmul_(of_h, c_by_h)
        torch.mul(of_c.unsqueeze(-2), by_gates[..., :3, :], out=gates[..., :3, :])
        torch.mul(of_h, by_gates[..., 3, :], out=gates[..., 3, :])

    @staticmethod
    def pull_state(
        gradient: Float[Tensor, "*batch state_dim"],
        own: Float[Tensor, "*batch state_dim"],
        gates: Float[Tensor, "*batch gates"],
        W_h: Float[Tensor, "*copies gates hidden_dim"],
        *slopes: Tensor,
    ) -> None:
        of_h, of_c = gradient.chunk(2, dim=-1)
        own_h, own_c = own.chunk(2, dim=-1)
        torch.addcmul(own_c, of_c, slopes[2], out=of_c)
        affine(own_h, gates, W_h.mT, out=of_h)


def without_autocast(device: torch.device) -> AbstractContextManager[object]:
    """Make a block in which no operation changes the dtype of its operands."""
    if torch.amp.is_autocast_available(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()


class Scan(torch.autograd.Function):
    """Returns the states of a `Cell` after each of many inputs, the first of them zero.

    Autograd would record each operation of each step. This derivative has few operations a step,
    and the gradients of the weights, which are sums over the steps, in one product each. The
    derivatives of f and the gates that they need are the other outputs; they have no gradient.

    Copies of a cell have one more axis in front, in x as in the weights. `torch.func.vmap` makes
    it, and has one program for all copies.
    """

    @staticmethod
    def forward(
        cell: type[Cell],
        x: Float[Tensor, "*copies batch length gates"],
        W_h: Float[Tensor, "*copies gates hidden_dim"],
        b_h: Float[Tensor, "*copies gates"],
    ) -> tuple[Tensor, ...]:
        with without_autocast(x.device):
            states = x.new_zeros(*x.shape[:-2], x.shape[-2] + 1, cell.states * W_h.shape[-1])
            h, *kept = room_to_keep(cell, x)
            of_time, bias = states.movedim(-2, 0), b_h.unsqueeze(-2)
            rows = cell.rows(x.movedim(-2, 0), h, of_time, *kept)
            steps = zip(cell.output(of_time[:-1]).unbind(), h.unbind(), rows, strict=True)
            for last, product, row in steps:
                affine(bias, last, W_h, out=product)
                cell.advance(*row)
        return states, h, *kept

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        cell, _, W_h, _ = inputs
        ctx.cell = cell
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(W_h, *output)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, *_: None) -> tuple[Tensor | None, ...]:
        return None, *ScanGradient.apply(ctx.cell, gradient, *ctx.saved_tensors)

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], cell: type[Cell], *tensors: Tensor
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        outputs = Scan.apply(cell, *copies_at((0, 0, 0), info, in_dims[1:], tensors))
        return outputs, (0, *(1 for _ in outputs[1:]))


class ScanGradient(torch.autograd.Function):
    """Returns the gradients of x, W_h and b_h from that of the states. It has none itself."""

    @staticmethod
    def forward(
        cell: type[Cell],
        gradient: Float[Tensor, "*copies batch states state_dim"],
        W_h: Float[Tensor, "*copies gates hidden_dim"],
        states: Float[Tensor, "*copies batch states state_dim"],
        h: Float[Tensor, "length *copies batch gates"],
        *kept: Float[Tensor, "length *copies batch _"],
    ) -> tuple[Tensor, ...]:
        before, own = states.movedim(-2, 0), gradient.movedim(-2, 0)
        slopes = cell.slopes(h, before, *kept)
        gates = torch.empty_like(slopes[0])
        of_h, of_state = cell.of_h(gates), own[-1].clone()
        rows = zip(own[:-1], gates, of_h, *slopes, strict=True)
        for own_t, gates_t, h_t, *slope in reversed(list(rows)):
            cell.pull_gates(of_state, gates_t, *slope)
            cell.pull_state(of_state, own_t, h_t, W_h, *slope)
        of_x = cell.of_x(gates).roll(-cell.turned * W_h.shape[-1], dims=-1)
        products, last = joined(of_h), joined(cell.output(before[:-1]))
        return of_x.movedim(0, -2), products.mT @ last, products.sum(dim=-2)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        pass

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], cell: type[Cell], *tensors: Tensor
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        places = (0, 0, 0, *(1 for _ in tensors[3:]))
        return ScanGradient.apply(cell, *copies_at(places, info, in_dims[1:], tensors)), (0, 0, 0)


def affine(
    b: Float[Tensor, "*copies #batch out"],
    v: Float[Tensor, "*copies batch inner"],
    W: Float[Tensor, "*copies out inner"],
    out: Float[Tensor, "*copies batch out"],
) -> None:
    """Write W v + b."""
    product = torch.addmm if W.dim() == 2 else torch.baddbmm
    product(b, v, W.mT, out=out)


def room_to_keep(
    cell: type[Cell], x: Float[Tensor, "*copies batch length gates"]
) -> list[Float[Tensor, "length *copies batch _"]]:
    """Return tensors for h and for all that `advance` keeps."""
    *leading, length, gates = x.shape
    size = gates // cell.gates
    return [x.new_empty(length, *leading, width * size) for width in (cell.gates, *cell.kept)]


def joined(
    rows: Float[Tensor, "length *copies batch width"],
) -> Float[Tensor, "*copies examples width"]:
    """Return the rows of all steps one below the other."""
    return rows.movedim(0, -3).flatten(-3, -2)


def copies_at(
    places: Sequence[int],
    info: Any,
    axes: Sequence[int | None],
    tensors: Sequence[Tensor | None],
) -> list[Tensor | None]:
    """Return tensors with their axis of copies at these places; copies share one that has none."""
    return [
        None
        if tensor is None
        else tensor.unsqueeze(place).expand(
            *tensor.shape[:place], info.batch_size, *tensor.shape[place:]
        )
        if axis is None
        else tensor.movedim(axis, place)
        for place, axis, tensor in zip(places, axes, tensors, strict=True)
    ]


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

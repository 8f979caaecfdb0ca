"""The recurrent cells, and their derivatives written out.

They compute the same functions as `nn.GRU` and `nn.LSTM`, and take no longer on a CPU. Unlike
PyTorch's, they can be batched over copies of a model by `torch.func.vmap`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

BLOCKS = 4
"""The number of blocks of `hidden_dim` numbers that hold the gates of a step, in every cell."""

State = Float[Tensor, "*batch state_dim"]
Output = Float[Tensor, "*batch hidden_dim"]
Gates = Float[Tensor, "*batch gates"]
"""The gates of a step, before their nonlinearities."""

Blocks = Float[Tensor, "*batch 4 hidden_dim"]
States = Float[Tensor, "states *batch state_dim"]
Kept = Float[Tensor, "length *batch kept"]
AllGates = Float[Tensor, "length *batch gates"]
AllBlocks = Float[Tensor, "length *batch 4 hidden_dim"]
"""Shapes over all steps have the time as their first axis."""


class Cell(nn.Module, ABC):
    """Computes one layer's recurrence, state_t = f(x_t, W_h h_{t-1} + b_h, state_{t-1}).

    A state is one tensor, and h, its `output`, is the part of it that other layers see. The
    contribution of the inputs to the gates, x_t = W_x input_t + b_x, does not depend on the state,
    so it is computed for all steps at once.

    Parameters start as in PyTorch, uniform up to 1/sqrt(hidden_dim). `W_x` holds PyTorch's
    weight_ih and bias_ih, `W_h` its weight_hh and bias_hh, with the gates in the same order.

    A subclass gives f twice. `next_state` is the plain formula. `begin`, `rows`, `advance`,
    `slopes`, `pull_gates` and `pull_state` are the formula and its derivative as `Scan` uses them:
    in place, in advance for all steps if that is possible, and for any number of leading axes.

    A step keeps `kept` blocks of hidden_dim numbers, of which the first four are the gates: those
    that h alone feeds, then those that x and h share, then those that x alone feeds. So x feeds the
    last `gates` of the four, and h the first `gates`, in the order of `turned`. Two products added
    in place make all gates.
    """

    gates: ClassVar[int]
    states: ClassVar[int]
    kept: ClassVar[int]

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.state_dim = self.states * hidden_dim
        self.W_x = nn.Linear(input_dim, self.gates * hidden_dim)
        self.W_h = nn.Linear(hidden_dim, self.gates * hidden_dim)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(hidden_dim**-0.5), hidden_dim**-0.5)

    def step(
        self, projected: Float[Tensor, "batch gates"], state: Float[Tensor, "batch state_dim"]
    ) -> Float[Tensor, "batch state_dim"]:
        """Return the next state, from one projected input and the last state."""
        return self.next_state(projected, self.W_h(self.output(state)), state)

    @staticmethod
    @abstractmethod
    def output(state: State) -> Output:
        """Return h, the part of a state that other layers see."""

    @staticmethod
    @abstractmethod
    def next_state(x: Gates, h: Gates, state: State) -> State:
        """Return f(x, h, state) with h = W_h h_{t-1} + b_h."""

    @staticmethod
    @abstractmethod
    def rows(kept: Kept, states: States) -> Iterator[tuple[Tensor, ...]]:
        """Yield the views that each step reads and writes."""

    @staticmethod
    @abstractmethod
    def advance(*row: Tensor) -> None:
        """Write the next state, and replace the gates by the numbers that the derivative needs."""

    @staticmethod
    @abstractmethod
    def slopes(kept: Kept, states: States, by_gates: AllBlocks) -> tuple[Tensor, ...]:
        """Write the derivatives of f by the blocks of gates at all steps, and return the others.

        They do not depend on the gradient.
        """

    @staticmethod
    @abstractmethod
    def pull_gates(gradient: State, gates: Blocks, *slopes: Tensor) -> None:
        """Turn derivatives by the gates into their gradients, by that of the new state.

        It may change the latter.
        """

    @staticmethod
    @abstractmethod
    def pull_state(gradient: State, own: State, *slopes: Tensor) -> None:
        """Add to `own`, the gradient of the last state, its part through f itself.

        The part through W_h is not included.
        """

    @classmethod
    def begin(cls, kept: Kept, x: AllGates, b_h: Float[Tensor, "*copies 1 gates"]) -> None:
        """Write x + b_h into the gates of all steps."""
        size = x.shape[-1] // cls.gates
        bias, alone = cls.turned(b_h.mT).mT, (BLOCKS - cls.gates) * size
        kept[..., :alone] = bias[..., :alone]
        shared = F.pad(bias[..., alone:], (0, alone))
        torch.add(x, shared, out=kept[..., alone : BLOCKS * size])

    @classmethod
    def of_x(cls, gates: Float[Tensor, "*batch kept"], size: int) -> Gates:
        """Return the gates that x feeds, in blocks of `size`."""
        return gates[..., (BLOCKS - cls.gates) * size : BLOCKS * size]

    @classmethod
    def turned(
        cls, W_h: Float[Tensor, "*copies gates width"], back: bool = False
    ) -> Float[Tensor, "*copies gates width"]:
        """Return rows of W_h in the order in which h feeds the gates; `back` reverses this.

        The gates that x and h do not share come last.
        """
        alone = (BLOCKS - cls.gates) * (W_h.shape[-2] // cls.gates)
        return W_h.roll(-alone if back else alone, dims=-2)


class Gru(Cell):
    """The gated recurrent unit of Cho et al. (2014), as in PyTorch.

    r = s(x_r + W_r h + b_r), z = s(x_z + W_z h + b_z), n = tanh(x_n + r * (W_n h + b_n)),
    h' = (1 - z) n + z h, with x = W_x x_t + b_x and the logistic function s. The paper applies r
    before the product with W_n, and swaps the meaning of z and 1 - z.

    The blocks of gates are W_n h + b_n, r, z and n.
    """

    gates = 3
    states = 1
    kept = 4

    @staticmethod
    def output(state: State) -> Output:
        return state

    @staticmethod
    def next_state(x: Gates, h: Gates, state: State) -> State:
        sizes = (2 * state.shape[-1], state.shape[-1])
        x_rz, x_n = x.split_with_sizes(sizes, dim=-1)
        h_rz, h_n = h.split_with_sizes(sizes, dim=-1)
        r, z = (x_rz + h_rz).sigmoid_().chunk(2, dim=-1)
        return torch.lerp(torch.addcmul(x_n, r, h_n).tanh_(), state, z)

    @staticmethod
    def rows(kept: Kept, states: States) -> Iterator[tuple[Tensor, ...]]:
        size = states.shape[-1]
        rz = kept[..., size : 3 * size]
        views = (rz, *kept.chunk(4, dim=-1), states[:-1], states[1:])
        return zip(*(view.unbind() for view in views), strict=True)

    @staticmethod
    def advance(*row: Tensor) -> None:
        rz, h_n, r, z, n, last, new = row
        rz.sigmoid_()
        n.addcmul_(r, h_n).tanh_()
        torch.lerp(n, last, z, out=new)

    @staticmethod
    def slopes(kept: Kept, states: States, by_gates: AllBlocks) -> tuple[Tensor, ...]:
        h_n, r, z, n = kept.chunk(4, dim=-1)
        by_h_n, by_r, by_z, by_n = by_gates.unbind(dim=-2)
        rest = 1 - z
        torch.addcmul(n.new_ones(()), n, n, value=-1, out=by_n).mul_(rest)
        torch.mul(by_n, r, out=by_h_n)
        torch.mul(by_h_n, h_n, out=by_r).addcmul_(by_r, r, value=-1)
        torch.sub(states[:-1], n, out=by_z).mul_(z).mul_(rest)
        return (z,)

    @staticmethod
    def pull_gates(gradient: State, gates: Blocks, *slopes: Tensor) -> None:
        gates.mul_(gradient.unsqueeze(-2))

    @staticmethod
    def pull_state(gradient: State, own: State, *slopes: Tensor) -> None:
        own.addcmul_(gradient, slopes[0])


class Lstm(Cell):
    """Long short-term memory: Hochreiter and Schmidhuber (1997), with a forget gate, Gers (2000).

    c' = s(f) c + s(i) tanh(g), h' = s(o) tanh(c'), with (i, f, g, o) = W_x x_t + b_x + W_h h + b_h
    and the logistic function s. A state is [h; c]. A step keeps tanh(c') and the gates.
    """

    gates = 4
    states = 2
    kept = 5

    @staticmethod
    def output(state: State) -> Output:
        return state[..., : state.shape[-1] // 2]

    @staticmethod
    def next_state(x: Gates, h: Gates, state: State) -> State:
        i, f, g, o = (x + h).chunk(4, dim=-1)
        c = f.sigmoid() * state.chunk(2, dim=-1)[1] + i.sigmoid() * g.tanh()
        return torch.cat([o.sigmoid() * c.tanh(), c], dim=-1)

    @staticmethod
    def rows(kept: Kept, states: States) -> Iterator[tuple[Tensor, ...]]:
        cells, size = states.chunk(2, dim=-1)[1], states.shape[-1] // 2
        i_f = kept[..., : 2 * size]
        after = (part[1:] for part in states.chunk(2, dim=-1))
        views = (i_f, *kept.chunk(5, dim=-1), cells[:-1], *after)
        return zip(*(view.unbind() for view in views), strict=True)

    @staticmethod
    def advance(*row: Tensor) -> None:
        i_f, i, f, g, o, tanh_c, last_c, new_h, new_c = row
        i_f.sigmoid_()
        g.tanh_()
        o.sigmoid_()
        torch.mul(f, last_c, out=new_c).addcmul_(i, g)
        torch.tanh(new_c, out=tanh_c)
        torch.mul(o, tanh_c, out=new_h)

    @staticmethod
    def slopes(kept: Kept, states: States, by_gates: AllBlocks) -> tuple[Tensor, ...]:
        i, f, g, o, tanh_c = kept.chunk(5, dim=-1)
        last_c = states[:-1].chunk(2, dim=-1)[1]
        by_i, by_f, by_g, by_o = by_gates.unbind(dim=-2)
        torch.mul(g, i - i * i, out=by_i)
        torch.mul(last_c, f - f * f, out=by_f)
        torch.mul(i, 1 - g * g, out=by_g)
        torch.mul(tanh_c, o - o * o, out=by_o)
        return o * (1 - tanh_c * tanh_c), f

    @staticmethod
    def pull_gates(gradient: State, gates: Blocks, *slopes: Tensor) -> None:
        of_h, of_c = gradient.chunk(2, dim=-1)
        of_c.addcmul_(of_h, slopes[0])
        gates[..., :3, :].mul_(of_c.unsqueeze(-2))
        gates[..., 3, :].mul_(of_h)

    @staticmethod
    def pull_state(gradient: State, own: State, *slopes: Tensor) -> None:
        own.chunk(2, dim=-1)[1].addcmul_(gradient.chunk(2, dim=-1)[1], slopes[1])


CELLS: dict[str, type[Cell]] = {"gru": Gru, "lstm": Lstm}


def cell_named(name: str) -> type[Cell]:
    """Return the class of a cell. Raises ValueError for an unknown name."""
    if name not in CELLS:
        raise ValueError(f"cell must be one of {', '.join(CELLS)}, got {name!r}")
    return CELLS[name]

"""The contract of positions, as checks that a test can run.

A check takes a function of `dim`, `heads` and `longest` that makes the positions, such as their
class, and raises AssertionError with a sentence if they break the contract.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from attnexp.architectures.positions.base import Positions, PositionsFactory
from attnexp.attention.contract import BATCH, DIM, HEADS, LENGTH, draw_symbols
from attnexp.attention.multihead import MultiHead
from attnexp.core.masks import causal_mask
from attnexp.scores.contract import at_any_parameters, require, require_close
from attnexp.scores.scaled_dot import ScaledDot

PLACES = torch.stack([torch.arange(LENGTH), torch.arange(LENGTH) // 2, torch.arange(LENGTH) % 5])
"""Places of the symbols of each example: in order, in pairs, and beginning again."""


def made(make: PositionsFactory) -> Positions:
    """Return the positions, in float64, with the same parameters each time."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(11)
        return make(dim=DIM, heads=HEADS, longest=LENGTH).double()


def attended(positions: Positions, x: Tensor, places: Tensor, queries: slice) -> Tensor:
    """Return the contexts of some of the symbols in a causal self-attention with positions.

    `places` are those of one example, or of each.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(17)
        attention = MultiHead(ScaledDot, DIM, heads=HEADS).double()
    x = positions.add(x, places)
    whole = positions.order(places, places)
    memory = attention.remember(x, x, None, whole.turn)
    mask = causal_mask(x.shape[1], x.device).matrix[None, None, queries]
    order = positions.order(places[..., queries], places)
    context, _ = attention.attend(x[:, queries], memory._replace(mask=mask), True, *order)
    return context


def keep_the_shape(make: PositionsFactory) -> None:
    """`add` and `turn` keep the shape of vectors, and a bias has a number for each pair."""
    positions, x = made(make), draw_symbols()
    places = PLACES[0]
    require(positions.add(x, places).shape == x.shape, "add changes the shape of the vectors")
    split = x.unflatten(-1, (HEADS, -1)).transpose(1, 2)
    turn = positions.turn(places)
    require(turn is None or turn(split).shape == split.shape, "turn changes the shape of a head")
    given = positions.bias(places, places)
    bias = given(split) if callable(given) else given
    pairs = (BATCH, HEADS, LENGTH, LENGTH)
    fits = bias is None or torch.broadcast_shapes(bias.shape, pairs) == pairs
    require(fits, f"a bias does not fit scores of shape {pairs}")


@at_any_parameters
def place_each_example_alone(make: PositionsFactory) -> None:
    """Examples with places of their own have the contexts that each has alone."""
    positions, x, every = made(make), draw_symbols(), slice(None)
    together = attended(positions, x, PLACES, every)
    for i in range(BATCH):
        alone = attended(positions, x[i : i + 1], PLACES[i], every)
        require_close(together[i : i + 1], alone, "an example depends on the places of another")


@at_any_parameters
def place_a_symbol_as_decoding_does(make: PositionsFactory) -> None:
    """A query that comes alone, as in decoding, has the context that it has among the others."""
    positions, x = made(make), draw_symbols()
    whole = attended(positions, x, PLACES[0], slice(None))
    for t in range(LENGTH):
        one = attended(positions, x, PLACES[0], slice(t, t + 1))
        require_close(one, whole[:, t : t + 1], f"the query at place {t} alone has another context")


def reach_the_longest(make: PositionsFactory) -> None:
    """The longest sequence is taken; a longer one is taken or refused by `require_reach`."""
    positions = made(make)
    positions.require_reach(LENGTH)
    try:
        positions.require_reach(3 * LENGTH)
    except ValueError:
        return
    x, places = draw_symbols().repeat(1, 3, 1), torch.arange(3 * LENGTH)
    finite = bool(attended(positions, x, places, slice(None)).isfinite().all())
    require(finite, "a sequence beyond the longest has contexts that are not finite")


def learn_by_right_gradients(make: PositionsFactory) -> None:
    """Gradients of the parameters are those of finite differences."""
    positions, x = made(make), draw_symbols()

    def loss() -> Tensor:
        return attended(positions, x, PLACES[0], slice(None)).square().sum()

    for name, parameter in positions.named_parameters():
        (slope,) = torch.autograd.grad(loss(), parameter)
        direction = torch.ones_like(parameter)
        with torch.no_grad():
            parameter.add_(direction, alpha=1e-6)
            above = loss()
            parameter.sub_(direction, alpha=2e-6)
            found = (above - loss()) / 2e-6
            parameter.add_(direction, alpha=1e-6)
        near = torch.isclose(found, slope.sum(), rtol=1e-4, atol=1e-5)
        require(bool(near), f"the gradient of {name} is not that of finite differences")


def load_what_they_saved(make: PositionsFactory) -> None:
    """Positions learn only their parameters: others with equal ones give the same contexts."""
    first, second, x = made(make), made(make), draw_symbols()
    with torch.no_grad():
        for parameter in first.parameters():
            parameter.add_(1.0)
    second.load_state_dict(first.state_dict())
    ours, theirs = (attended(each, x, PLACES[0], slice(None)) for each in (first, second))
    require_close(theirs, ours, "others with the same parameters give other contexts")


POSITIONS_CONTRACT: tuple[Callable[[PositionsFactory], None], ...] = (
    keep_the_shape,
    place_each_example_alone,
    place_a_symbol_as_decoding_does,
    reach_the_longest,
    learn_by_right_gradients,
    load_what_they_saved,
)

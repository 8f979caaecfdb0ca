"""Positions: they tell attention, which mostly takes its keys as a set, the order of symbols."""

from typing import Literal

from attnexp.architectures.positions.alibi import Alibi
from attnexp.architectures.positions.base import Order, Positions
from attnexp.architectures.positions.learned import Learned
from attnexp.architectures.positions.nape import Nape
from attnexp.architectures.positions.none import NoPositions
from attnexp.architectures.positions.rotary import Rotary
from attnexp.architectures.positions.shaw import Shaw
from attnexp.architectures.positions.sinusoidal import Sinusoidal
from attnexp.architectures.positions.t5 import T5

PositionsName = Literal["sinusoidal", "learned", "none", "rotary", "alibi", "nape", "t5", "shaw"]

KINDS: dict[str, type[Positions]] = {
    "sinusoidal": Sinusoidal,
    "learned": Learned,
    "none": NoPositions,
    "rotary": Rotary,
    "alibi": Alibi,
    "nape": Nape,
    "t5": T5,
    "shaw": Shaw,
}

__all__ = ["Order", "Positions", "PositionsName", "positions_named"]


def positions_named(name: str) -> type[Positions]:
    """Return the class of a kind of positions. Raises ValueError for an unknown name."""
    if name not in KINDS:
        raise ValueError(f"positions must be one of {', '.join(KINDS)}, got {name!r}")
    return KINDS[name]

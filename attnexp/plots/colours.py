"""The colour maps of weights, for modules that do not import matplotlib."""

from collections.abc import Sequence

COLOURS = bytes.fromhex(
    "44015448186a472d7b4240863b528b33638d2c728e26828e21918c"
    "1fa08828ae803fbc735ec96284d44baddc30d8e219fde725"
)
VIRIDIS: Sequence[tuple[int, ...]] = [tuple(COLOURS[i : i + 3]) for i in range(0, len(COLOURS), 3)]
"""Red, green and blue of matplotlib's viridis at equal steps from 0 to 1."""


AROUND_ZERO = bytes.fromhex(
    "0530611752902a71b23f8ec06bacd19bc9e0c2ddece0ecf3f7f6f6"
    "fbe5d8fbccb4f5aa89e48066d05548ba2832930e2667001f"
)
DIVERGING: Sequence[tuple[int, ...]] = [
    tuple(AROUND_ZERO[i : i + 3]) for i in range(0, len(AROUND_ZERO), 3)
]
"""Red, green and blue of matplotlib's RdBu_r at equal steps from 0 to 1."""


def viridis(share: float) -> tuple[int, ...]:
    """Return the colour of a share of the scale; outside [0, 1] that of the nearer end."""
    return _between(VIRIDIS, share)


def diverging(share: float) -> tuple[int, ...]:
    """Return the colour of a share of a scale from -1 to 1, blue below 0 and red above."""
    return _between(DIVERGING, (share + 1) / 2)


def _between(colours: Sequence[tuple[int, ...]], share: float) -> tuple[int, ...]:
    place = min(max(share, 0.0), 1.0) * (len(colours) - 1)
    at = min(int(place), len(colours) - 2)
    low, high = colours[at], colours[at + 1]
    return tuple(round(a + (b - a) * (place - at)) for a, b in zip(low, high, strict=True))


def hexadecimal(colour: tuple[int, ...]) -> str:
    """Return the colour as #rrggbb."""
    return "#{:02x}{:02x}{:02x}".format(*colour)

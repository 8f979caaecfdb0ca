"""The colour map of weights, for modules that do not import matplotlib."""

from collections.abc import Sequence

COLOURS = bytes.fromhex(
    "44015448186a472d7b4240863b528b33638d2c728e26828e21918c"
    "1fa08828ae803fbc735ec96284d44baddc30d8e219fde725"
)
VIRIDIS: Sequence[tuple[int, ...]] = [tuple(COLOURS[i : i + 3]) for i in range(0, len(COLOURS), 3)]
"""Red, green and blue of matplotlib's viridis at equal steps from 0 to 1."""


def viridis(share: float) -> tuple[int, ...]:
    """Return the colour of a share of the scale; outside [0, 1] that of the nearer end."""
    place = min(max(share, 0.0), 1.0) * (len(VIRIDIS) - 1)
    at = min(int(place), len(VIRIDIS) - 2)
    low, high = VIRIDIS[at], VIRIDIS[at + 1]
    return tuple(round(a + (b - a) * (place - at)) for a, b in zip(low, high, strict=True))


def hexadecimal(colour: tuple[int, ...]) -> str:
    """Return the colour as #rrggbb."""
    return "#{:02x}{:02x}{:02x}".format(*colour)

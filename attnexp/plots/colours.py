"""The colour map of weights, for modules that do not import matplotlib."""

from collections.abc import Sequence

VIRIDIS: Sequence[tuple[int, int, int]] = (
    (68, 1, 84),
    (72, 24, 106),
    (71, 45, 123),
    (66, 64, 134),
    (59, 82, 139),
    (51, 99, 141),
    (44, 114, 142),
    (38, 130, 142),
    (33, 145, 140),
    (31, 160, 136),
    (40, 174, 128),
    (63, 188, 115),
    (94, 201, 98),
    (132, 212, 75),
    (173, 220, 48),
    (216, 226, 25),
    (253, 231, 37),
)
"""Red, green and blue of matplotlib's viridis at equal steps from 0 to 1."""


def viridis(share: float) -> tuple[int, int, int]:
    """Return the colour of a share of the scale; outside [0, 1] that of the nearer end."""
    place = min(max(share, 0.0), 1.0) * (len(VIRIDIS) - 1)
    at = min(int(place), len(VIRIDIS) - 2)
    low, high = VIRIDIS[at], VIRIDIS[at + 1]
    red, green, blue = (round(a + (b - a) * (place - at)) for a, b in zip(low, high, strict=True))
    return red, green, blue


def hexadecimal(colour: tuple[int, int, int]) -> str:
    """Return the colour as #rrggbb."""
    return "#{:02x}{:02x}{:02x}".format(*colour)

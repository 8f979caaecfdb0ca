"""Figures as an animated GIF."""

import io
from collections.abc import Iterable

from matplotlib import rcParams
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from PIL import Image

from attnexp.plots.style import encoded
from attnexp.runs.files import DRAWN

MILLISECONDS = 500
"""How long each frame is shown."""


def encode_animation(figures: Iterable[Figure]) -> bytes:
    """Return figures as the frames of a GIF that repeats. The same figures give the same bytes.

    Smaller frames are filled up with background at the right and at the bottom.
    """
    frames = [Image.open(io.BytesIO(encoded(figure))).convert("RGB") for figure in figures]
    size = max(frame.width for frame in frames), max(frame.height for frame in frames)
    background = to_hex(rcParams["figure.facecolor"])
    padded = []
    for frame in frames:
        whole = Image.new("RGB", size, background)
        whole.paste(frame)
        padded.append(whole.quantize(256, dither=Image.Dither.NONE))
    content = io.BytesIO()
    first, *others = padded
    first.save(
        content,
        "GIF",
        save_all=True,
        append_images=others,
        duration=MILLISECONDS,
        loop=0,
        comment=DRAWN.encode(),
    )
    return content.getvalue()

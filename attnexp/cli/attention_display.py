"""What `attnexp attend` shows of an attention: its steps as text, as a picture and for programs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from attnexp import console
from attnexp.config.groups import choices
from attnexp.errors import unwritable
from attnexp.plots.terminal import draw_map
from attnexp.runs.attention_maps import Axis, Map
from attnexp.runs.settings import clean

if TYPE_CHECKING:
    from attnexp.cli.tensors import Description

MOST_SYMBOLS = 20
"""Queries or keys up to which a map names each of them."""

MOST_MAPS = 6
"""Sequences whose maps are shown."""

Shown = Mapping[str, NDArray[Any]]
"""Arrays by their names."""


@dataclass(frozen=True)
class Outcome:
    """What came out, for people and for programs: what was chosen, and all tensors in order.

    `parameters` holds the shapes of what is learned, and `origin` says what they are and come
    from. `score` is the name of the choice, or None where scores were given.
    """

    title: str
    score: str | None
    normalizer: str
    seed: int
    origin: str
    parameters: Mapping[str, Sequence[int]]
    tensors: Shown


def record_of(outcome: Outcome) -> dict[str, Any]:
    """Return all that came out, for programs. Scores of minus infinity become null."""
    return {
        "score": outcome.score,
        "normalizer": outcome.normalizer,
        "seed": outcome.seed,
        "origin": outcome.origin,
        "parameters": outcome.parameters,
        "shapes": {name: array.shape for name, array in outcome.tensors.items()},
        **{name: array.tolist() for name, array in outcome.tensors.items()},
    }


def show(outcome: Outcome, described: "Mapping[str, Description]", config_dir: Path | None) -> None:
    """Print what was chosen, all shapes, the steps, and a map of the weights of each sequence."""
    from attnexp.cli.show import means_of, print_line
    from attnexp.cli.tensors import shape_text

    means = means_of(console.out)
    say = partial(print_line, means)
    say(Text(outcome.title, style="bold"))
    for group, name in (("model", outcome.score), ("normalizer", outcome.normalizer)):
        if name is not None:
            lines = {choice.name: choice.line for choice in choices(group, config_dir)}
            say(Text(f"{group}={name}: {lines.get(name, '')}"))
    if outcome.parameters:
        shapes = ", ".join(
            f"{name} {shape_text(shape) or 'a number'}"
            for name, shape in outcome.parameters.items()
        )
        say(Text(clean(f"{outcome.origin}: {shapes}")))
    table = console.plain_table(["", "shape", "from"])
    computed = {
        "scores": f"model={outcome.score}",
        "mask": "valid_lens" if "valid_lens" in described else "all keys are valid",
        "weights": f"normalizer={outcome.normalizer}",
        "context": "weights times values",
    }
    origins = computed | {name: str(own) for name, own in described.items()}
    for name, array in outcome.tensors.items():
        table.add_row(name, shape_text(array.shape), Text(origins[name]))
    console.out.print()
    console.out.print(table)
    for name in ("scores", "mask", "weights", "context"):
        if name in outcome.tensors:
            say(Text(f"\n{name}", style="bold"))
            for line in array_text(outcome.tensors[name], means.width).splitlines():
                say(Text(line))
    for title, one in maps(outcome):
        downwards = "downwards" if one.rows.symbols else "upwards"
        say(Text(f"\nweights of {title}, queries {downwards}, keys across", style="bold"))
        for text in draw_map(one, means):
            say(text)
    sequences = len(outcome.tensors["weights"])
    if sequences > MOST_MAPS:
        say(Text(f"and {sequences - MOST_MAPS:,} more sequences; --format json has all"))


THRESHOLD, EDGE = 200, 3
"""Numbers of an array that are printed, and those at each end of an axis of a larger one."""


def array_text(array: NDArray[Any], width: int) -> str:
    """Return an array as NumPy prints it, four digits a number; a large one has its ends alone."""
    numbers = array.astype(np.float64)
    ends = numbers if numbers.size <= THRESHOLD else _ends(numbers)
    cell = max(len(console.number_text(float(number))) for number in ends.ravel())
    return np.array2string(
        numbers,
        max_line_width=width,
        threshold=THRESHOLD,
        edgeitems=EDGE,
        formatter={"float_kind": lambda number: f"{console.number_text(float(number)):>{cell}}"},
    )


def _ends(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the part of an array that NumPy prints of a large one."""
    shown = [
        [*range(min(EDGE, size)), *range(max(EDGE, size - EDGE), size)] for size in numbers.shape
    ]
    return numbers[np.ix_(*shown)]


def maps(outcome: Outcome) -> Iterator[tuple[str, Map]]:
    """Yield the map of each of the first sequences, with its name."""
    for i, weights in enumerate(outcome.tensors["weights"][:MOST_MAPS]):
        queries, keys = _axis("query", weights.shape[0]), _axis("key", weights.shape[1])
        yield f"sequence {i + 1}", Map(weights.astype(np.float64), queries, keys)


def _axis(name: str, size: int) -> Axis:
    """Return a side of a map: places from 1, each with its number where they are few."""
    order = np.arange(size)
    if size <= MOST_SYMBOLS:
        return Axis(name, order, symbols=tuple(str(place + 1) for place in order))
    return Axis(name, order, numbers=(order + 1).astype(np.float64))


def draw(outcome: Outcome, path: Path) -> None:
    """Draw the maps of the first sequences side by side.

    Raises RequestError where the file cannot be written.
    """
    from attnexp.plots.heatmap_grid import draw_grid
    from attnexp.plots.style import save, style

    names, cells = zip(*maps(outcome), strict=True)
    seen = f"model={outcome.score}, " if outcome.score else ""
    subtitle = f"{seen}normalizer={outcome.normalizer}, seed {outcome.seed}"
    try:
        with style():
            save(draw_grid([cells], names, [""], outcome.title, subtitle), [path])
    except OSError as error:
        raise unwritable("--output", path, error) from error

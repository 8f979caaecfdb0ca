"""Pictures of attention: of a run, and as it grows."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

from attnexp.errors import RequestError
from attnexp.pictures.grid import draw_grid
from attnexp.pictures.maps import Attention, Map, View
from attnexp.pictures.stored import StoredRun

EXAMPLES = 3
"""Examples that a picture shows unless told which."""

COLUMNS = 6
"""Epochs or seeds that a picture shows at most."""


def draw_attention(run: StoredRun, view: View) -> Figure:
    """The maps of a run: heads side by side, and a row for every layer of every example.

    With one layer and one head, the examples are side by side. A layer or head of the view is the
    only one shown.
    """
    attention = run.attention
    resolved = attention.resolve(view, EXAMPLES)
    name, examples = str(resolved.attention), resolved.examples
    batch, layers, heads = attention.weights[name].shape[:3]
    shown_layers = range(layers) if view.layer is None else [view.layer]
    shown_heads = range(heads) if view.head is None else [view.head]
    if len(shown_layers) == len(shown_heads) == 1:
        layer, head = shown_layers[0], shown_heads[0]
        cells = [[attention.map(name, example, layer, head) for example in examples]]
        across = example_names(examples) if batch > 1 else [""]
        down = [""]
        seen = attention.words(replace(resolved, layer=layer, head=head))
    else:
        pairs = [(example, layer) for example in examples for layer in shown_layers]
        cells = [[attention.map(name, i, layer, h) for h in shown_heads] for i, layer in pairs]
        across = [f"head {head + 1}" for head in shown_heads]
        down = [
            "\n".join([f"example {i + 1}"] * (batch > 1) + [f"layer {layer + 1}"] * (layers > 1))
            for i, layer in pairs
        ]
        seen = f"{name} attention"
    return draw_grid(cells, across, down, run.title, subtitle_of(seen, run.primary, cells))


def draw_growth(rows: Sequence[tuple[str, StoredRun]], view: View, title: str) -> Figure:
    """A row a run, a column an epoch: one example at those epochs that every run has kept."""
    kept = [set(run.snapshots) for _, run in rows]
    epochs = _spread(sorted(kept[0].intersection(*kept[1:])))
    if not epochs:
        raise RequestError("the runs have kept no attention of the same epoch")
    cells = [
        [
            maps_of(run.snapshots[epoch], replace(view, examples=view.examples[:1]), 1)[0]
            for epoch in epochs
        ]
        for _, run in rows
    ]
    first = rows[0][1].snapshots[epochs[0]]
    resolved = first.resolve(view, 1)
    seen = first.words(resolved)
    if len(first.batch["keys"]) > 1:
        seen += f", example {resolved.examples[0] + 1}"
    across = [f"epoch {epoch}" for epoch in epochs]
    return draw_grid(cells, across, [name for name, _ in rows], title, subtitle_of(seen, "", cells))


def maps_of(attention: Attention, view: View, most: int = EXAMPLES) -> list[Map]:
    """A map an example."""
    resolved = attention.resolve(view, most)
    return [
        attention.map(str(resolved.attention), example, resolved.layer or 0, resolved.head)
        for example in resolved.examples
    ]


def example_names(examples: Sequence[int]) -> list[str]:
    """Examples as people count them."""
    return [f"example {example + 1}" for example in examples]


def _spread(epochs: list[int]) -> list[int]:
    """At most COLUMNS epochs, the first and the last among them and the others evenly between."""
    if len(epochs) <= COLUMNS:
        return epochs
    return [epochs[i] for i in np.linspace(0, len(epochs) - 1, COLUMNS).round().astype(int)]


def subtitle_of(seen: str, more: str, cells: Sequence[Sequence[Map]]) -> str:
    """What is seen, more words, and what the outlines mean where there are any."""
    gold = any(one.gold is not None for row in cells for one in row)
    return ", ".join(filter(None, [seen, more, "outlined: gold position" if gold else ""]))

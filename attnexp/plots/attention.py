"""Pictures of attention: of a run, and as it grows."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

from attnexp.errors import RequestError
from attnexp.plots.heatmap_grid import draw_grid
from attnexp.runs.attention_maps import Attention, Map, View
from attnexp.runs.run import Run

EXAMPLES = 3
"""Examples that a picture shows unless told which."""

COLUMNS = 6
"""Epochs or seeds that a picture shows at most, and heads in a row where they can be cut."""

ROWS = 6
"""Layers and examples that a picture shows below each other, unless there are more layers."""


def draw_attention(run: Run, view: View) -> Figure:
    """The maps of a run: heads side by side, and a row for every layer of every example.

    With one layer and one head, the examples are side by side. Many heads of one layer and example
    take several rows. A layer or head of the view is the only one shown.
    """
    attention = run.attention
    layers, heads = attention.weights[attention.resolve(view, 1).attention or ""].shape[1:3]
    shown_layers = range(layers) if view.layer is None else [view.layer]
    shown_heads = range(heads) if view.head is None else [view.head]
    alone = len(shown_layers) == len(shown_heads) == 1
    resolved = attention.resolve(view, EXAMPLES if alone else max(ROWS // len(shown_layers), 1))
    name, examples = str(resolved.attention), resolved.examples
    batch = len(attention.batch["keys"])
    seen = f"{name} attention"
    if alone:
        layer, head = shown_layers[0], shown_heads[0]
        cells = [[attention.map(name, example, layer, head) for example in examples]]
        across = example_names(examples) if batch > 1 else [""]
        down = [""]
        seen = attention.words(replace(resolved, layer=layer, head=head))
    elif len(examples) == len(shown_layers) == 1:
        width = _row_length(len(shown_heads))
        rows = [shown_heads[i : i + width] for i in range(0, len(shown_heads), width)]
        cells = [[attention.map(name, examples[0], shown_layers[0], h) for h in r] for r in rows]
        across = [""] * width
        down = [f"heads {row[0] + 1} to {row[-1] + 1}" for row in rows]
        if len(rows) == 1:
            across, down = [f"head {head + 1}" for head in shown_heads], [""]
    else:
        pairs = [(example, layer) for example in examples for layer in shown_layers]
        cells = [[attention.map(name, i, layer, h) for h in shown_heads] for i, layer in pairs]
        across = [f"head {head + 1}" for head in shown_heads]
        down = [
            "\n".join([f"example {i + 1}"] * (batch > 1) + [f"layer {layer + 1}"] * (layers > 1))
            for i, layer in pairs
        ]
    return draw_grid(cells, across, down, run.title, subtitle_of(seen, run.primary, cells))


def draw_growth(rows: Sequence[tuple[str, Run]], view: View, title: str) -> Figure:
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


def _row_length(heads: int) -> int:
    """Heads in a row, the same number in every row."""
    fitting = [size for size in range(3, COLUMNS + 1) if heads % size == 0]
    return heads if heads <= COLUMNS or not fitting else fitting[-1]


def _spread(epochs: list[int]) -> list[int]:
    """At most COLUMNS epochs, the first and the last among them and the others evenly between."""
    if len(epochs) <= COLUMNS:
        return epochs
    return [epochs[i] for i in np.linspace(0, len(epochs) - 1, COLUMNS).round().astype(int)]


def subtitle_of(seen: str, more: str, cells: Sequence[Sequence[Map]]) -> str:
    """What is seen, more words, and what the outlines mean where there are any."""
    gold = any(one.gold is not None for row in cells for one in row)
    return ", ".join(filter(None, [seen, more, "outlined: gold position" if gold else ""]))

"""Pictures of attention: of a run, as it grows, and of configurations compared."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from attnexp.errors import RequestError
from attnexp.plots.base import Figures, Options
from attnexp.plots.heatmap_grid import draw_grid
from attnexp.plots.lines import names_of, runs_of
from attnexp.plots.style import file_word
from attnexp.runs.attention_maps import Attention, Map, View, same_examples
from attnexp.runs.run import Run

if TYPE_CHECKING:
    from attnexp.runs.configurations import Comparison

EXAMPLES = 3
"""Examples that a picture shows unless told which."""

COLUMNS = 6
"""Epochs or seeds that a picture shows at most, and heads in a row where they can be cut."""

ROWS = 6
"""Layers and examples that a picture shows below each other, unless there are more layers."""


def draw_attention(run: Run, options: Options) -> Figures:
    """Yield a figure for each attention of a run, or for the one that is asked for."""
    if not run.has_attention:
        return
    asked = options.view.attention
    for name in [asked] if asked else run.attention.weights:
        file = "attention" if name == run.attention.main else f"attention_{file_word(name)}"
        yield file, _attention_figure(run, replace(options.view, attention=name))


def _attention_figure(run: Run, view: View) -> Figure:
    """Return the maps of a run: heads side by side, a row for every layer of every example.

    With one layer and one head, the examples are side by side. Many heads of one layer and example
    take several rows. A layer or head of the view is the only one shown.
    """
    attention = run.attention
    name = str(view.attention)
    attention.resolve(view, 1)
    layers, heads = attention.weights[name].shape[1:3]
    shown_layers = range(layers) if view.layer is None else [view.layer]
    shown_heads = range(heads) if view.head is None else [view.head]
    alone = len(shown_layers) == len(shown_heads) == 1
    resolved = attention.resolve(view, EXAMPLES if alone else max(ROWS // len(shown_layers), 1))
    examples = resolved.examples
    several = len(attention.batch["keys"]) > 1
    seen = f"{name} attention"
    across, down = [f"head {head + 1}" for head in shown_heads], [""]
    if alone:
        layer, head = shown_layers[0], shown_heads[0]
        cells = [[attention.map(name, example, layer, head) for example in examples]]
        across = example_names(examples) if several else [""]
        seen = attention.words(replace(resolved, layer=layer, head=head))
    elif len(examples) == len(shown_layers) == 1:
        width = _row_length(len(shown_heads))
        rows = [shown_heads[i : i + width] for i in range(0, len(shown_heads), width)]
        cells = [[attention.map(name, examples[0], shown_layers[0], h) for h in r] for r in rows]
        if len(rows) > 1:
            across, down = [""] * width, [f"heads {row[0] + 1} to {row[-1] + 1}" for row in rows]
    else:
        pairs = [(example, layer) for example in examples for layer in shown_layers]
        cells = [[attention.map(name, i, layer, h) for h in shown_heads] for i, layer in pairs]
        down = [
            "\n".join([f"example {i + 1}"] * several + [f"layer {layer + 1}"] * (layers > 1))
            for i, layer in pairs
        ]
    return draw_grid(cells, across, down, run.title, subtitle_of(seen, run.primary, cells))


def draw_growth(run: Run, options: Options) -> Figures:
    """Yield the attention of one example after some epochs, where it was kept."""
    if run.snapshots:
        yield "growth", _growth_figure([("", run)], options.view, run.title)


def compare_growth(comparison: "Comparison", options: Options) -> Figures:
    """Yield the growth of attention of each configuration that kept it, of the first seed."""
    for seed in comparison.seeds[:1]:
        runs = [one.with_seed(seed) for one in comparison.configurations]
        rows = zip(names_of(comparison), runs, strict=True)
        kept = [(name, run) for name, run in rows if run.snapshots]
        if kept:
            title = f"Growth of attention{comparison.scope}, seed {seed}"
            yield "growth", _growth_figure(kept, options.view, title)


def _growth_figure(rows: Sequence[tuple[str, Run]], view: View, title: str) -> Figure:
    """Return a row a run, a column an epoch: one example at the epochs that every run has kept."""
    kept = [set(run.snapshots) for _, run in rows]
    epochs = _spread(sorted(kept[0].intersection(*kept[1:])))
    if not epochs:
        raise RequestError("the runs have kept no attention of the same epoch")
    one_example = replace(view, examples=view.examples[:1])
    cells = [
        [maps_of(run.snapshots[epoch], one_example, 1)[0] for epoch in epochs] for _, run in rows
    ]
    first = rows[0][1].snapshots[epochs[0]]
    resolved = first.resolve(view, 1)
    seen = first.words(resolved)
    if len(first.batch["keys"]) > 1:
        seen += f", example {resolved.examples[0] + 1}"
    across = [f"epoch {epoch}" for epoch in epochs]
    return draw_grid(cells, across, [name for name, _ in rows], title, subtitle_of(seen, "", cells))


def compare_attention(comparison: "Comparison", options: Options) -> Figures:
    """Yield a row a configuration: the same examples and the same seed in all rows.

    Where the data are one example, as in regression, the columns are the seeds that all have.

    Raises RequestError where no seed or not the same examples are there for all.
    """
    one_example = all(len(run.attention.batch["keys"]) == 1 for run in runs_of(comparison))
    seeds = _common_seeds(comparison)[: COLUMNS if one_example else 1]
    by_seed = [
        [maps_of(attention, options.view) for attention in _attentions(comparison, seed)]
        for seed in seeds
    ]
    rows = [list(chain(*maps)) for maps in zip(*by_seed, strict=True)]
    first = comparison.configurations[0].with_seed(seeds[0]).attention
    across = example_names(first.resolve(options.view, EXAMPLES).examples)
    if one_example:
        across = [f"seed {seed}" for seed in seeds] if len(seeds) > 1 else [""]
    which = "" if len(seeds) > 1 else f"seed {seeds[0]}"
    subtitle = subtitle_of(_seen(comparison, seeds[0], options.view), which, rows)
    title, names = f"Attention{comparison.scope}", names_of(comparison)
    yield "attention", draw_grid(rows, across, names, title, subtitle)


def draw_difference(comparison: "Comparison", options: Options) -> Figures:
    """Yield two maps and the first minus the second, a row an example, of the first seed.

    Raises RequestError where no seed or not the same examples are there for both configurations.
    """
    if len(comparison.configurations) != 2:
        return
    seed = _common_seeds(comparison)[0]
    left, right = _attentions(comparison, seed)
    pairs = zip(maps_of(left, options.view), maps_of(right, options.view), strict=True)
    rows = [[a, b, replace(a, weights=a.weights - b.weights)] for a, b in pairs]
    examples = left.resolve(options.view, EXAMPLES).examples
    yield (
        "difference",
        draw_grid(
            rows,
            [*names_of(comparison), "left \N{MINUS SIGN} right"],
            [""] if len(left.batch["keys"]) == 1 else example_names(examples),
            f"Difference in attention{comparison.scope}",
            subtitle_of(_seen(comparison, seed, options.view), f"seed {seed}", rows),
            signed=2,
        ),
    )


def maps_of(attention: Attention, view: View, most: int = EXAMPLES) -> list[Map]:
    """Return a map an example."""
    resolved = attention.resolve(view, most)
    return [
        attention.map(str(resolved.attention), example, resolved.layer or 0, resolved.head)
        for example in resolved.examples
    ]


def example_names(examples: Sequence[int]) -> list[str]:
    """Return the names of examples, which count from 1."""
    return [f"example {example + 1}" for example in examples]


def subtitle_of(seen: str, more: str, cells: Sequence[Sequence[Map]]) -> str:
    """Return what is seen, more words, and what the outlines mean where there are any."""
    gold = any(one.gold is not None for row in cells for one in row)
    return ", ".join(filter(None, [seen, more, "outlined: gold position" if gold else ""]))


def _row_length(heads: int) -> int:
    """Return how many heads a row holds, the same number in every row."""
    fitting = [size for size in range(3, COLUMNS + 1) if heads % size == 0]
    return heads if heads <= COLUMNS or not fitting else fitting[-1]


def _spread(epochs: list[int]) -> list[int]:
    """Return at most COLUMNS epochs: the first, the last, and others evenly between them."""
    if len(epochs) <= COLUMNS:
        return epochs
    return [epochs[i] for i in np.linspace(0, len(epochs) - 1, COLUMNS).round().astype(int)]


def _common_seeds(comparison: "Comparison") -> tuple[int, ...]:
    if not comparison.seeds:
        raise RequestError(f"the configurations on {comparison.data} have no seed in common")
    return comparison.seeds


def _attentions(comparison: "Comparison", seed: int) -> list[Attention]:
    """Return the attention of every configuration; it must be on the same examples."""
    runs = [one.with_seed(seed) for one in comparison.configurations]
    for run in runs[1:]:
        if not same_examples(runs[0].attention, run.attention):
            raise RequestError(
                f"{runs[0].folder} and {run.folder} were looked at on different examples: "
                "their maps cannot stand side by side"
            )
    return [run.attention for run in runs]


def _seen(comparison: "Comparison", seed: int, view: View) -> str:
    """Return the view in words that hold for all configurations."""
    attentions = [one.with_seed(seed).attention for one in comparison.configurations]
    seen = {attention.words(attention.resolve(view, 1)) for attention in attentions}
    if len(seen) == 1:
        return seen.pop()
    return "attention of the last layer, mean of the heads" if view.head is None else "attention"

"""Pictures of attention: of a run, as it grows, and of configurations compared."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
from matplotlib.figure import Figure

from attnexp.core.errors import RequestError
from attnexp.core.language import (
    Phrase,
    Text,
    capitalized,
    in_language,
    joined,
    numbered,
    said,
    translate,
)
from attnexp.plots.answers import with_answer
from attnexp.plots.base import Figures, Options
from attnexp.plots.heatmap_grid import draw_grid, draw_named
from attnexp.plots.lines import names_of, runs_of
from attnexp.plots.picture_style import Style
from attnexp.plots.style import title_of
from attnexp.runs.attention import Map, StoredAttention, View, kind_text, same_examples
from attnexp.runs.files import file_word
from attnexp.runs.folder import Run
from attnexp.select.configurations import Comparison

EXAMPLES = 3
"""The number of examples in a picture, if none are named."""

COLUMNS = 6
"""The most epochs or seeds in a picture."""

SPACIOUS = 1.5
"""The least inches of a picture for each map in a row."""

BESIDE, ABOVE, NAMED = 1.2, 1.0, 0.25
"""Inches of a picture beside its maps, inches above and below them, and those of a map's name."""

COMPARED = 4
"""The most configurations with several maps each. More configurations have one map each."""


def draw_attention(run: Run, options: Options) -> Figures:
    """Yield a figure for each attention of a run, or for the one that is asked for."""
    if not run.has_attention:
        return
    asked = options.view.attention
    for name in [asked] if asked else run.attention.weights:
        file = "attention" if name == run.attention.main else f"attention_{file_word(name)}"
        asked_for = replace(options, view=replace(options.view, attention=name))
        yield file, _attention_figure(run, asked_for)


def _attention_figure(run: Run, options: Options) -> Figure:
    """Return the maps of a run: heads side by side, and a row for every layer of every example.

    With one layer and one head, the examples are side by side. Otherwise there is one example
    unless more are asked for. If the view names a layer or a head, no others are shown.
    """
    attention, view = run.attention, options.view
    name = str(view.attention)
    attention.resolve(view, 1)
    layers, heads = attention.weights[name].shape[1:3]
    shown_layers = range(layers) if view.layer is None else [view.layer]
    shown_heads = range(heads) if view.head is None else [view.head]
    alone = len(shown_layers) == len(shown_heads) == 1
    resolved = attention.resolve(view, _most(options, EXAMPLES) if alone else options.most or 1)
    examples = resolved.examples
    several = len(attention.batch["keys"]) > 1
    seen = kind_text(name)
    across, down = [translate(numbered(said("head"), head + 1)) for head in shown_heads], [""]
    if alone:
        layer, head = shown_layers[0], shown_heads[0]
        cells = [[_map(run, name, example, layer, head) for example in examples]]
        across = example_names(examples) if several else [""]
        seen = attention.words(replace(resolved, layer=layer, head=head))
    else:
        pairs = [(example, layer) for example in examples for layer in shown_layers]
        cells = [[_map(run, name, i, layer, h) for h in shown_heads] for i, layer in pairs]
        down = [
            "\n".join(
                example_names([i]) * several
                + [translate(numbered(said("layer"), layer + 1))] * (layers > 1)
            )
            for i, layer in pairs
        ]
    subtitle = subtitle_of(seen, run.primary, cells)
    return _grid(cells, across, down, run.title, subtitle, options)


def _grid(
    cells: Sequence[Sequence[Map]],
    across: Sequence[str],
    down: Sequence[str],
    title: str,
    subtitle: str,
    options: Options,
) -> Figure:
    """Return maps in their rows and columns, or in rows of `options.columns` maps if it is set."""
    if options.columns is None:
        return draw_grid(cells, [across], down, title, subtitle)
    names = [
        ", ".join([*row.splitlines(), *column.splitlines()]) for row in down for column in across
    ]
    return draw_named([*chain(*cells)], names, title, subtitle, options.columns)


def _most(options: Options, count: int) -> int:
    """Return how many maps are next to each other.

    That is `options.most`, else `count`, or fewer if the width of the style has no room for so
    many.
    """
    width = options.style.width
    return options.most or (count if width is None else min(count, max(int(width / SPACIOUS), 1)))


def _map(run: Run, name: str, example: int, layer: int, head: int) -> Map:
    return with_answer(run.attention.map(name, example, layer, head), run, example)


def draw_growth(comparison: Comparison, options: Options) -> Figures:
    """Yield the attention of one example after some epochs, with a row for each configuration.

    The runs are those of the typical seed, without configurations that kept no attention while
    training. The epochs are those that all of them kept.

    Raises RequestError if the runs have no epoch in common.
    """
    rows, kept = _growing(comparison)
    if not rows:
        return
    epochs = _spread(kept, _most(options, COLUMNS))
    cells = [[_grown(run, epoch, options.view) for epoch in epochs] for _, run in rows]
    across, down = (
        [translate(numbered(said("epoch"), epoch)) for epoch in epochs],
        [name for name, _ in rows],
    )
    title, subtitle = _of_growth(comparison, rows[0][1], cells, options.view)
    yield "growth", _grid(cells, across, down, title, subtitle, options)


def growth_frames(comparison: Comparison, options: Options) -> Iterator[Figure]:
    """Yield a figure for each epoch of `draw_growth`, with a map for each configuration."""
    rows, epochs = _growing(comparison)
    cells = [[_grown(run, epoch, options.view) for _, run in rows] for epoch in epochs]
    for epoch, maps in zip(epochs, cells, strict=True):
        title, subtitle = _of_growth(comparison, rows[0][1], cells, options.view)
        title += translate(said(", ")) + translate(numbered(said("epoch"), epoch))
        names = [name for name, _ in rows]
        yield draw_named(maps, names, title, subtitle, options.columns, [*chain(*cells)])


def _growing(comparison: Comparison) -> tuple[list[tuple[str, Run]], list[int]]:
    """Return the runs of the typical seed that kept attention in training, and their common epochs.

    Each run comes with the name of its configuration.

    Raises RequestError if the runs have no epoch in common.
    """
    seeds = [comparison.typical_seed] if comparison.seeds else []
    named = zip(names_of(comparison), comparison.configurations, strict=True)
    runs = [(name, one.with_seed(seed)) for name, one in named for seed in seeds]
    rows = [(name, run) for name, run in runs if run.snapshots]
    if not rows:
        return [], []
    kept = [set(run.snapshots) for _, run in rows]
    epochs = sorted(kept[0].intersection(*kept[1:]))
    if not epochs:
        raise RequestError("the runs have no epoch in common whose attention was stored")
    return rows, epochs


def _grown(run: Run, epoch: int, view: View) -> Map:
    return maps_of(run.snapshots[epoch], replace(view, examples=view.examples[:1]), 1)[0]


def _of_growth(
    comparison: Comparison, run: Run, cells: Sequence[Sequence[Map]], view: View
) -> tuple[str, str]:
    """Return the title and the subtitle of the growth of attention. `run` is one that is shown."""
    first = next(iter(run.snapshots.values()))
    resolved = first.resolve(view, 1)
    seen = first.words(resolved)
    if len(first.batch["keys"]) > 1:
        example = numbered(said("example"), resolved.examples[0] + 1)
        seen = joined(said(", "), [seen, example])
    which = "" if comparison.alone else numbered(said("seed"), comparison.typical_seed)
    return title_of(comparison, said("Growth of attention")), subtitle_of(seen, which, cells)


def compare_attention(comparison: Comparison, options: Options) -> Figures:
    """Yield a row of maps for each configuration, of the same examples and of the typical seed.

    If the data are one example, as in regression, the columns are the seeds that all configurations
    have. Each configuration has one map in a grid if there are more than COMPARED configurations,
    or if the data are one example and all configurations have the same score, as with several
    widths; but not if several examples are asked for. Imported runs have no row.

    Raises RequestError if the configurations share no seed, or stored different examples.
    """
    own = tuple(one for one in comparison.configurations if not one.runs[0].summary.imported)
    if not own:
        return
    comparison = replace(comparison, configurations=own)
    if not comparison.seeds:
        raise RequestError(f"the configurations on {comparison.data} have no seed in common")
    one_example = all(len(run.attention.batch["keys"]) == 1 for run in runs_of(comparison))
    many = len(comparison.configurations) > (options.most or COMPARED)
    models = {run.model for run in runs_of(comparison)}
    one_score = one_example and not options.most and len(models) == 1
    many = (many or one_score) and len(options.view.examples) < 2
    seeds = [comparison.typical_seed]
    if one_example and not many:
        seeds = list(comparison.seeds[: _most(options, COLUMNS)])
    by_seed = [[_answered_maps(run, options) for run in _runs(comparison, seed)] for seed in seeds]
    rows = [list(chain(*maps)) for maps in zip(*by_seed, strict=True)]
    first = comparison.configurations[0].with_seed(seeds[0]).attention
    across = example_names(first.resolve(options.view, _most(options, EXAMPLES)).examples)
    if one_example:
        several = len(seeds) > 1
        across = [translate(numbered(said("seed"), seed)) if several else "" for seed in seeds]
    which = "" if len(seeds) > 1 else numbered(said("seed"), seeds[0])
    subtitle = subtitle_of(_seen(comparison, seeds[0], options.view), which, rows)
    title = translate(comparison.titled(capitalized(said("attention"))))
    names = names_of(comparison)
    if many:
        which = "" if one_example else translate(said(", ")) + across[0]
        alone, columns = [row[0] for row in rows], options.columns
        if columns is None and options.style.width is not None:
            columns = _columns(options.style, len(alone))
        yield "attention", draw_named(alone, names, title, subtitle + which, columns)
        return
    yield "attention", _grid(rows, across, names, title, subtitle, options)


def _columns(style: Style, count: int) -> int:
    """Return how many maps next to each other are the largest in a picture of a width."""
    width = float(style.width or 0.0)
    if style.shape is None:
        return min(COLUMNS, max(int(width / SPACIOUS), 1))
    height = width * style.shape

    def side(columns: int) -> float:
        rows = math.ceil(count / columns)
        return min((width - BESIDE) / columns, (height - ABOVE) / rows - NAMED)

    return max(range(1, count + 1), key=side)


def maps_of(attention: StoredAttention, view: View, most: int = EXAMPLES) -> list[Map]:
    """Return the map of each example of a view, at most `most` if the view names none."""
    resolved = attention.resolve(view, most)
    return [
        attention.map(str(resolved.attention), example, resolved.layer or 0, resolved.head)
        for example in resolved.examples
    ]


def _answered_maps(run: Run, options: Options) -> list[Map]:
    """Return a map per example of a run, with its decoded answers."""
    most = _most(options, EXAMPLES)
    resolved = run.attention.resolve(options.view, most)
    maps = zip(maps_of(run.attention, options.view, most), resolved.examples, strict=True)
    return [with_answer(one, run, example) for one, example in maps]


def example_names(examples: Sequence[int]) -> list[str]:
    """Return the names of examples, which count from 1."""
    return [translate(numbered(said("example"), example + 1)) for example in examples]


def subtitle_of(seen: Phrase, more: Phrase, cells: Sequence[Sequence[Map]]) -> str:
    """Return the subtitle of maps: what is `seen`, `more` words, and what their marks mean.

    Marks are cells of points, outlines of gold positions, red symbols, and hatched cells.
    """
    maps = [one for row in cells for one in row]
    rows = maps[0].rows
    order = in_language(rows.name, "en").removeprefix("test ")
    points = said("a cell per point, in order of {x}", x=order) if rows.numbers is not None else ""
    gold = said("outlined: gold position") if any(one.gold is not None for one in maps) else ""
    hidden = any(one.hidden is not None and one.hidden.any() for one in maps)
    hatched = said("hatched: hidden by a mask") if hidden else ""
    answers: Phrase = ""
    if any(one.rows.decoded for one in maps):
        wrong = any(len(one.rows.wrong) for one in maps)
        answers = said("red: target≠decoded") if wrong else said("decoded as the target")
    return translate(joined(said(", "), filter(None, [seen, more, points, gold, answers, hatched])))


def _spread(epochs: list[int], most: int) -> list[int]:
    """Return at most `most` epochs: the first, the last, and others evenly between them."""
    if len(epochs) <= most:
        return epochs
    return [epochs[i] for i in np.linspace(0, len(epochs) - 1, most).round().astype(int)]


def _runs(comparison: Comparison, seed: int) -> list[Run]:
    """Return the run of every configuration with a seed.

    Raises RequestError if they stored attention on different examples.
    """
    runs = [one.with_seed(seed) for one in comparison.configurations]
    for run in runs[1:]:
        if not same_examples(runs[0].attention, run.attention):
            raise RequestError(
                f"{runs[0].folder} and {run.folder} stored attention on different examples: "
                "their maps cannot be compared"
            )
    return runs


def _seen(comparison: Comparison, seed: int, view: View) -> Text:
    attentions = [one.with_seed(seed).attention for one in comparison.configurations]
    seen = {attention.words(attention.resolve(view, 1)) for attention in attentions}
    if len(seen) == 1:
        return seen.pop()
    if view.head is None:
        return joined(said(", "), [said("attention of the last layer"), said("mean of the heads")])
    return said("attention")

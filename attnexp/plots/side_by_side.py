"""Pictures that compare the attention of configurations."""

from dataclasses import replace

from matplotlib.figure import Figure

from attnexp.errors import RequestError
from attnexp.plots.attention import COLUMNS, EXAMPLES, example_names, maps_of, subtitle_of
from attnexp.plots.heatmap_grid import draw_grid
from attnexp.runs.attention_maps import View, same_examples
from attnexp.runs.configurations import Comparison
from attnexp.runs.run import Run


def draw_attention_grid(comparison: Comparison, view: View) -> Figure:
    """A row a configuration: the same examples and the same seed in all rows.

    Where the data are one example, as in regression, the columns are the seeds that all have.

    Raises RequestError where no seed or not the same examples are there for all.
    """
    one_example = all(
        len(run.attention.batch["keys"]) == 1
        for one in comparison.configurations
        for run in one.runs
    )
    seeds = comparison.seeds[: COLUMNS if one_example else 1]
    if not seeds:
        raise RequestError(f"the configurations on {comparison.data} have no seed in common")
    rows = []
    for one in comparison.configurations:
        row = []
        for seed in seeds:
            run = one.with_seed(seed)
            _require_same(comparison.configurations[0].with_seed(seed), run)
            row += maps_of(run.attention, view)
        rows.append(row)
    first = comparison.configurations[0].with_seed(seeds[0]).attention
    resolved = first.resolve(view, EXAMPLES)
    across = example_names(resolved.examples)
    if one_example:
        across = [f"seed {seed}" for seed in seeds] if len(seeds) > 1 else [""]
    which = "" if len(seeds) > 1 else f"seed {seeds[0]}"
    return draw_grid(
        rows,
        across,
        [one.label for one in comparison.configurations],
        f"Attention{comparison.scope}",
        subtitle_of(_seen(comparison, seeds[0], view), which, rows),
    )


def draw_difference(comparison: Comparison, view: View) -> Figure:
    """Two configurations and the first minus the second, a row an example, of the first seed.

    Raises RequestError where no seed or not the same examples are there for both.
    """
    if not comparison.seeds:
        raise RequestError(f"the configurations on {comparison.data} have no seed in common")
    one, other = comparison.configurations
    seed = comparison.seeds[0]
    left, right = one.with_seed(seed), other.with_seed(seed)
    _require_same(left, right)
    rows = []
    for a, b in zip(maps_of(left.attention, view), maps_of(right.attention, view), strict=True):
        rows.append([a, b, replace(a, weights=a.weights - b.weights)])
    examples = left.attention.resolve(view, EXAMPLES).examples
    alone = len(left.attention.batch["keys"]) == 1
    return draw_grid(
        rows,
        [one.label, other.label, "left \N{MINUS SIGN} right"],
        [""] if alone else example_names(examples),
        f"Difference in attention{comparison.scope}",
        subtitle_of(_seen(comparison, seed, view), f"seed {seed}", rows),
        signed=2,
    )


def _seen(comparison: Comparison, seed: int, view: View) -> str:
    """The view in words; what differs between the configurations is in the words of neither."""
    attentions = [one.with_seed(seed).attention for one in comparison.configurations]
    seen = {attention.words(attention.resolve(view, 1)) for attention in attentions}
    if len(seen) == 1:
        return seen.pop()
    return "attention of the last layer, mean of the heads" if view.head is None else "attention"


def _require_same(one: Run, other: Run) -> None:
    if not same_examples(one.attention, other.attention):
        raise RequestError(
            f"{one.folder} and {other.folder} were looked at on different examples: "
            "their maps cannot stand side by side"
        )

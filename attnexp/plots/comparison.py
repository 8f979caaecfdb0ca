"""Which pictures there are of configurations on the same data."""

from collections.abc import Iterator
from functools import partial

from attnexp.plots.attention import draw_growth
from attnexp.plots.catalogue import Picture, file_word
from attnexp.plots.columns import asked_columns
from attnexp.plots.curves import draw_curves
from attnexp.plots.fitted import has_fit
from attnexp.plots.overlays import draw_fits
from attnexp.plots.side_by_side import draw_attention_grid, draw_difference
from attnexp.runs.attention_maps import View
from attnexp.runs.configurations import Comparison


def comparison_pictures(
    comparison: Comparison, view: View, metric: str | None
) -> Iterator[Picture]:
    """What there is to draw of configurations on the same data."""
    configurations = comparison.configurations
    runs = [run for one in configurations for run in one.runs]
    if all(has_fit(run) for run in runs):
        yield Picture("fit", "fit", partial(draw_fits, comparison))
    yield Picture("attention", "attention", partial(draw_attention_grid, comparison, view))
    columns = asked_columns(runs, metric)
    if columns:
        name = file_word(metric or "loss")
        yield Picture("loss", name, partial(draw_curves, comparison, columns))
    if comparison.seeds:
        seed = comparison.seeds[0]
        rows = [(one.label, one.with_seed(seed)) for one in configurations]
        rows = [(label, run) for label, run in rows if run.snapshots]
        if rows:
            title = f"Growth of attention{comparison.scope}, seed {seed}"
            yield Picture("growth", "growth", partial(draw_growth, rows, view, title))
    if len(configurations) == 2:
        yield Picture("difference", "difference", partial(draw_difference, comparison, view))
